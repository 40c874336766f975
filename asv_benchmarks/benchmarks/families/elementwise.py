"""One value in, one value out."""
from .base import _Family


class Million(_Family):
    """One million float32 elements: the kernels."""
    prepare = "x, y = torch.randn(1_000_000), torch.randn(1_000_000)\ngelu = torch.nn.functional.gelu"
    cases = {
        "add": "x + y", "sum": "x.sum()", "sigmoid": "x.sigmoid()", "gelu": "gelu(x)", "exp": "x.exp()", "tanh": "x.tanh()",
    }
    numpy_prepare = "x, y = np.random.randn(2, 1_000_000).astype(np.float32)"
    numpy_cases = {"add": "x + y", "sum": "x.sum()", "exp": "np.exp(x)", "tanh": "np.tanh(x)"}


class Large(_Family):
    """Sixteen million float32 elements: the memory."""
    prepare = "x, y = torch.randn(16_000_000), torch.randn(16_000_000)"
    cases = {"add": "x + y"}
    numpy_prepare = "x, y = np.random.rand(2, 16_000_000).astype(np.float32)"
    numpy_cases = cases


class Special(_Family):
    """Special functions of a million float32 values."""
    prepare = "x, p = torch.randn(1_000_000), torch.rand(1_000_000)"
    cases = {"i0": "torch.i0(x)", "erfcx": "torch.special.erfcx(x)", "log_ndtr": "torch.special.log_ndtr(x)", "ndtri": "torch.special.ndtri(p)",
             "igamma": "torch.igamma(p, p)"}
