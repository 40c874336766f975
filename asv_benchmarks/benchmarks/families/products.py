"""Matrix products, factorisations, Fourier transforms and sparse matrices."""
from .base import _Family


class Sgemm(_Family):
    """Square float32 matrix products."""
    sizes = (64, 128, 256, 512, 1024, 2048)
    prepare = f"a = {{n: torch.randn(n, n) for n in {sizes}}}"
    numpy_prepare = f"a = {{n: np.random.randn(n, n).astype(np.float32) for n in {sizes}}}"
    cases = {f"{n} x {n}": f"a[{n}] @ a[{n}]" for n in sizes}
    numpy_cases = cases


class Factors(_Family):
    """Square float32 matrices: one of 64 or 512 rows, and 1000 of four rows."""
    prepare = """
matrices = [torch.randn(*shape) for shape in ((64, 64), (512, 512), (1000, 4, 4))]
middle, large, many = [m @ m.mT + m.shape[-1] * torch.eye(m.shape[-1]) for m in matrices]
linalg = torch.linalg
"""
    cases = {f"{case} of {size}": f"linalg.{case}({name})" for name, size in (("middle", "64"), ("large", "512"), ("many", "1000 times 4"))
             for case in ("inv", "cholesky", "qr", "eigh", "svd")}
    numpy_prepare = """
matrices = [np.random.randn(*shape).astype(np.float32) for shape in ((64, 64), (512, 512), (1000, 4, 4))]
middle, large, many = [m @ m.swapaxes(-1, -2) + m.shape[-1] * np.eye(m.shape[-1], dtype=np.float32) for m in matrices]
linalg = np.linalg
"""
    numpy_cases = cases


class Fourier(_Family):
    """Fourier transforms of float32 and complex64: rows, an image, a signal of a million values, one second of speech in frames."""
    prepare = """
rows, image, signal = torch.randn(64, 1024), torch.randn(256, 256), torch.randn(1 << 20)
spectra, speech, window = torch.fft.rfft(rows), torch.randn(4, 48000), torch.hann_window(400)
"""
    cases = {
        "rfft 64 x 1024": "torch.fft.rfft(rows)", "irfft 64 x 1024": "torch.fft.irfft(spectra)", "fft2 256 x 256": "torch.fft.fft2(image)",
        "rfft 1M": "torch.fft.rfft(signal)", "stft 4 x 48000": "torch.stft(speech, 400, 160, window=window, return_complex=True)",
    }
    numpy_prepare = "rows, image, signal = (np.random.randn(*n).astype(np.float32) for n in ((64, 1024), (256, 256), (1 << 20,)))"
    numpy_cases = {"rfft 64 x 1024": "np.fft.rfft(rows)", "fft2 256 x 256": "np.fft.fft2(image)", "rfft 1M": "np.fft.rfft(signal)"}


class Sparse(_Family):
    """A sparse matrix of 5000 x 5000 with 50 000 values: made, multiplied, added; and the gradient of an embedding."""
    prepare = """
places, values, right = torch.randint(0, 5000, (2, 50_000)), torch.randn(50_000), torch.randn(5000, 64)
made = torch.sparse_coo_tensor(places, values, (5000, 5000))
sparse, dense = made.coalesce(), torch.zeros(5000, 5000)
table, words = torch.nn.Embedding(100_000, 64, sparse=True), torch.randint(0, 100_000, (32, 64))
"""
    cases = {"coalesce": "made.coalesce()", "times 5000 x 64": "torch.sparse.mm(sparse, right)", "added to a dense matrix": "dense.add_(sparse)",
             "embedding and its gradient": "table.weight.grad = None; table(words).sum().backward()"}
