"""Matrix products, factorisations, Fourier transforms and sparse matrices."""
from .base import _Family


class Sgemm(_Family):
    """Square float32 matrix products."""
    sizes = (64, 128, 256, 512, 1024, 2048)
    prepare = f"a = {{n: torch.randn(n, n) for n in {sizes}}}"
    numpy_prepare = f"a = {{n: np.random.randn(n, n).astype(np.float32) for n in {sizes}}}"
    cases = {f"{n} x {n}": f"a[{n}] @ a[{n}]" for n in sizes}
    numpy_cases = cases


class Batched(_Family):
    """Batches of products, products of odd shapes, einsum and distances."""
    prepare = """
small, middle = torch.randn(64, 64, 64), torch.randn(16, 128, 128)
tiny, vectors = torch.randn(10_000, 4, 4), torch.randn(1000, 3)
q, k, v = torch.randn(8, 8, 128, 64), torch.randn(8, 8, 128, 64), torch.randn(8, 8, 128, 64)
scores, square, x, points = torch.randn(8, 8, 128, 128), torch.randn(1024, 1024), torch.randn(1024), torch.randn(1000, 64)
doubles, tall, images = torch.randn(512, 512, dtype=torch.float64), torch.randn(4096, 64), torch.randn(32, 128, 768)
weight, many = torch.randn(768, 768), torch.randn(2000, 3)
whole, narrow = torch.randint(0, 10, (256, 256)), torch.randn(512, 512).bfloat16()
"""
    cases = {
        "64 of 64 x 64": "small @ small", "16 of 128 x 128": "middle @ middle", "16 of 128 x 128, transposed": "middle @ middle.mT",
        "10 000 of 4 x 4": "tiny @ tiny", "einsum of attention": "torch.einsum('bhid,bhjd->bhij', q, k)",
        "einsum of values": "torch.einsum('bhij,bhjd->bhid', scores, v)", "einsum of heads": "torch.einsum('bihd,bjhd->bhij', q.transpose(1, 2), k.transpose(1, 2))",
        "einsum, a trace": "torch.einsum('ii', square)", "einsum, outer": "torch.einsum('i,j->ij', x, x)", "einsum bilinear": "torch.einsum('i,ij,j', x, square, x)",
        "matrix times vector": "square @ x", "vector times matrix": "x @ square", "dot": "x @ x", "outer": "torch.outer(x, x)",
        "512 x 512 double": "doubles @ doubles", "tall.T @ tall": "tall.t() @ tall", "batch times matrix": "images @ weight",
        "addmm": "torch.addmm(square, square, square)", "cdist 1000 x 64": "torch.cdist(points, points)", "cdist 2000 x 3": "torch.cdist(many, many)",
        "cdist, p = 1": "torch.cdist(points, points, p=1.0)", "256 x 256 int64": "whole @ whole", "512 x 512 bfloat16": "narrow @ narrow", "kron": "torch.kron(small[0], small[0])",
        "cross": "torch.linalg.cross(vectors, vectors)",
    }
    numpy_prepare = "small, middle = np.random.randn(64, 64, 64).astype(np.float32), np.random.randn(16, 128, 128).astype(np.float32)"
    numpy_cases = {"64 of 64 x 64": "small @ small", "16 of 128 x 128": "middle @ middle"}


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
