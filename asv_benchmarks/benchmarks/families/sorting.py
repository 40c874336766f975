"""Order: sorting, selection, searching and counting."""
from .base import _Family


class Sorting(_Family):
    """Rows of 4096 and vectors of a million."""
    prepare = """
rows, x, whole = torch.randn(256, 4096), torch.randn(1_000_000), torch.randint(0, 1_000_000, (1_000_000,))
few, bounds = torch.randint(0, 1000, (1_000_000,)), torch.randn(1000).sort().values
logits = torch.randn(64, 50_000)
"""
    cases = {
        "sort 256 x 4096": "rows.sort()", "sort columns": "rows.sort(0)", "argsort 256 x 4096": "rows.argsort()",
        "sort 1M": "x.sort()", "sort 1M int64": "whole.sort()", "sort 1M double": "x.double().sort()",
        "topk 10 of 1M": "x.topk(10)", "topk 10 of 256 x 4096": "rows.topk(10)", "topk 50 of 64 x 50 000": "logits.topk(50)",
        "topk 1000 of 256 x 4096": "rows.topk(1000)", "median 1M": "x.median()", "median of rows": "rows.median(1)",
        "kthvalue 1M": "x.kthvalue(1000)", "kthvalue of rows": "rows.kthvalue(100)", "quantile 1M": "x.quantile(0.3)", "mode of rows": "rows.mode(1)",
        "unique 1M": "torch.unique(whole)", "unique of few": "torch.unique(few)", "unique, inverse, counts": "torch.unique(few, return_inverse=True, return_counts=True)",
        "unique_consecutive": "torch.unique_consecutive(few)", "histc 1M": "x.histc(100)", "bincount 1M": "few.bincount()",
        "searchsorted 1M in 1000": "torch.searchsorted(bounds, x)", "isin": "torch.isin(few, few[:100])",
    }
    numpy_prepare = """
rows, x, whole = np.random.randn(256, 4096).astype(np.float32), np.random.randn(1_000_000).astype(np.float32), np.random.randint(0, 1_000_000, 1_000_000)
few, bounds = np.random.randint(0, 1000, 1_000_000), np.sort(np.random.randn(1000).astype(np.float32))
"""
    numpy_cases = {
        "sort 256 x 4096": "np.sort(rows)", "argsort 256 x 4096": "np.argsort(rows)", "sort 1M": "np.sort(x)", "sort 1M int64": "np.sort(whole)",
        "median 1M": "np.median(x)", "unique 1M": "np.unique(whole)", "bincount 1M": "np.bincount(few)",
        "searchsorted 1M in 1000": "np.searchsorted(bounds, x)",
    }
