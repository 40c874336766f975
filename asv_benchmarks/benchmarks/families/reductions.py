"""Many values to one, and normalisation by them."""
from .base import _Family


class Rows(_Family):
    """Normalisation over the rows of a 1024 x 1024 matrix."""
    prepare = "x = torch.randn(1024, 1024)\nlayer_norm = torch.nn.functional.layer_norm"
    cases = {"softmax": "torch.softmax(x, 1)", "layer_norm": "layer_norm(x, (1024,))"}


class Reductions(_Family):
    """Rows and columns of a matrix of 4096 x 1024, vectors of a million."""
    prepare = """
matrix, x = torch.randn(4096, 1024), torch.randn(1_000_000)
wide, whole, bytes_, flags = x.double(), torch.randint(0, 100, (1_000_000,)), torch.randint(0, 100, (1_000_000,), dtype=torch.uint8), x > -10
half, narrow = x.half(), x.bfloat16()
"""
    cases = {
        "sum of rows": "matrix.sum(1)", "sum of columns": "matrix.sum(0)", "mean of all": "matrix.mean()", "var of rows": "matrix.var(1)",
        "var of columns": "matrix.var(0)", "var of all": "matrix.var()", "std_mean of rows": "torch.std_mean(matrix, 1)",
        "argmax of rows": "matrix.argmax(1)", "argmax of columns": "matrix.argmax(0)", "argmax of all": "matrix.argmax()",
        "max of rows": "matrix.max(1)", "amax of rows": "matrix.amax(1)", "max of all": "matrix.max()", "aminmax": "matrix.aminmax()",
        "norm of rows": "torch.linalg.vector_norm(matrix, 2, 1)", "norm of all": "matrix.norm()", "logsumexp of rows": "matrix.logsumexp(1)",
        "prod 1M": "x.prod()", "any 1M": "flags.any()", "all 1M": "flags.all()", "count_nonzero 1M": "x.count_nonzero()",
        "sum 1M double": "wide.sum()", "sum 1M int64": "whole.sum()", "sum 1M uint8": "bytes_.sum()", "sum 1M bool": "flags.sum()",
        "sum 1M half": "half.sum()", "sum 1M bfloat16": "narrow.sum()", "nansum 1M": "x.nansum()",
    }
    numpy_prepare = """
matrix, x = np.random.randn(4096, 1024).astype(np.float32), np.random.randn(1_000_000).astype(np.float32)
whole = np.random.randint(0, 100, 1_000_000)
"""
    numpy_cases = {
        "sum of rows": "matrix.sum(1)", "sum of columns": "matrix.sum(0)", "var of rows": "matrix.var(1)", "argmax of rows": "matrix.argmax(1)",
        "amax of rows": "matrix.max(1)", "sum 1M int64": "whole.sum()",
    }


class Scans(_Family):
    """Running sums and their like: rows, columns, a million elements."""
    prepare = "matrix, x = torch.randn(1024, 1024), torch.randn(1_000_000)\nwhole = torch.randint(0, 100, (1_000_000,))"
    cases = {
        "cumsum of rows": "matrix.cumsum(1)", "cumsum of columns": "matrix.cumsum(0)", "cumsum 1M": "x.cumsum(0)", "cumsum 1M int64": "whole.cumsum(0)",
        "cumprod of rows": "matrix.cumprod(1)", "cummax of rows": "matrix.cummax(1)", "cummax of columns": "matrix.cummax(0)",
        "logcumsumexp of rows": "matrix.logcumsumexp(1)", "diff 1M": "x.diff()",
    }
    numpy_prepare = "matrix, x = np.random.randn(1024, 1024).astype(np.float32), np.random.randn(1_000_000).astype(np.float32)"
    numpy_cases = {"cumsum of rows": "matrix.cumsum(1)", "cumsum of columns": "matrix.cumsum(0)", "cumsum 1M": "x.cumsum(0)", "diff 1M": "np.diff(x)"}
