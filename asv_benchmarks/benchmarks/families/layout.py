"""Elements moved: copies of other layouts and types, joins, and places told by an index or a mask."""
from .base import _Family


class Copies(_Family):
    """Strided operands, casts and joins of a few million elements."""
    prepare = """
square, other = torch.randn(2048, 2048), torch.randn(2048, 2048)
turned, every_second = square.t(), torch.randn(2048, 4096)[:, ::2]
coloured = torch.randn(32, 3, 224, 224)
images, whole, long = torch.randn(32, 64, 56, 56), torch.randint(-1000, 1000, (4_000_000,), dtype=torch.int32), torch.randn(4_000_000)
wide, half, narrow = long.double(), long.half(), long.bfloat16()
ten, hundred = [torch.randn(100, 1000) for _ in range(10)], [torch.randn(10_000) for _ in range(100)]
condition, x, y = torch.randn(1_000_000) > 0, torch.randn(1_000_000), torch.randn(1_000_000)
"""
    cases = {
        "add transposed 2048^2": "other + turned", "add every second column": "other + every_second",
        "add a row": "square + square[0]", "add a column": "square + square[:, :1]",
        "transposed copy 2048^2": "turned.contiguous()", "channels last": "images.permute(0, 2, 3, 1).contiguous()", "3 channels last": "coloured.permute(0, 2, 3, 1).contiguous()",
        "pixel_shuffle": "torch.pixel_shuffle(images, 4)",
        "flip columns": "square.flip(1)", "flip rows": "square.flip(0)", "roll": "square.roll(100, 1)",
        "float to double 4M": "long.double()", "double to float 4M": "wide.float()", "int32 to float 4M": "whole.float()",
        "float to int64 4M": "long.long()", "float to half 4M": "long.half()", "half to float 4M": "half.float()",
        "float to bfloat16 4M": "long.bfloat16()", "bfloat16 to float 4M": "narrow.float()", "float to bool 4M": "long.bool()",
        "cat 10 of 100 x 1000": "torch.cat(ten)", "cat columns": "torch.cat(ten, 1)", "stack 100 of 10 000": "torch.stack(hundred)",
        "stack columns": "torch.stack(hundred, 1)", "where 1M": "torch.where(condition, x, y)",
        "where with a number": "torch.where(condition, x, 0.0)", "tril 2048^2": "square.tril()", "clone 4M": "long.clone()",
    }
    numpy_prepare = """
square, other = np.random.randn(2, 2048, 2048).astype(np.float32)
turned, every_second = square.T, np.random.randn(2048, 4096).astype(np.float32)[:, ::2]
long = np.random.randn(4_000_000).astype(np.float32)
condition, (x, y) = np.random.randn(1_000_000) > 0, np.random.randn(2, 1_000_000).astype(np.float32)
"""
    numpy_cases = {
        "add transposed 2048^2": "other + turned", "add every second column": "other + every_second",
        "transposed copy 2048^2": "np.ascontiguousarray(turned)", "float to double 4M": "long.astype(np.float64)",
        "where 1M": "np.where(condition, x, y)",
    }


class Indexing(_Family):
    """Reads and writes at places told by an index or a mask."""
    prepare = """
x, mask, places = torch.randn(1_000_000), torch.randn(1_000_000) > 0, torch.randint(0, 1_000_000, (1_000_000,))
table, words, rows = torch.randn(50_000, 128), torch.randint(0, 50_000, (8192,)), torch.randn(8192, 128)
matrix, columns = torch.randn(1024, 1024), torch.randint(0, 1024, (1024, 1024))
sums, rare, zero = torch.zeros(50_000, 128), torch.rand(1_000_000) < 0.01, torch.tensor(0.0)
"""
    cases = {
        "masked_select 1M": "torch.masked_select(x, mask)", "x[mask]": "x[mask]", "masked_fill 1M": "x.masked_fill(mask, 0.0)",
        "x[mask] = 0": "x[rare] = 0.0", "nonzero 1M": "mask.nonzero()", "nonzero of matrix": "(matrix > 0).nonzero()",
        "take 1M": "x[places]", "gather rows": "matrix.gather(1, columns)", "gather columns": "matrix.gather(0, columns)",
        "index_select 8192 rows": "table.index_select(0, words)", "index_select columns": "matrix.index_select(1, words[:512] % 1024)",
        "index_add 8192 rows": "sums.index_add_(0, words, rows)", "scatter_add rows": "matrix.scatter_add(1, columns, matrix)",
        "scatter_add columns": "matrix.scatter_add(0, columns, matrix)", "scatter_add 1M": "x.scatter_add(0, places, x)",
        "scatter rows": "matrix.scatter(1, columns, matrix)", "scatter_reduce amax": "matrix.scatter_reduce(1, columns, matrix, 'amax')",
        "index_put accumulate": "sums.index_put_((words,), rows, accumulate=True)", "index_copy": "sums.index_copy_(0, words, rows)",
    }
    numpy_prepare = """
x, mask, places = np.random.randn(1_000_000).astype(np.float32), np.random.randn(1_000_000) > 0, np.random.randint(0, 1_000_000, 1_000_000)
table, words = np.random.randn(50_000, 128).astype(np.float32), np.random.randint(0, 50_000, 8192)
"""
    numpy_cases = {"masked_select 1M": "x[mask]", "nonzero 1M": "mask.nonzero()", "take 1M": "x[places]", "index_select 8192 rows": "table[words]"}
