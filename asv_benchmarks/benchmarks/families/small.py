"""Small calls: what a call costs, whatever it computes."""
from .base import _Family


class Small(_Family):
    """Ten float32 elements: the cost of a call."""
    prepare = """
x, y, square = torch.randn(10), torch.randn(10), torch.randn(8, 8)
batch, weight, bias = torch.randn(4, 8), torch.randn(8, 8), torch.randn(8)
linear = torch.nn.functional.linear
"""
    cases = {
        "add": "x + y", "multiply by a scalar": "x * 2.0", "exp": "x.exp()", "sum": "x.sum()",
        "view": "x.view(2, 5)", "slice": "x[2:7]", "select": "x[3]",
        "8x8 matmul": "square @ square", "linear": "linear(batch, weight, bias)",
    }
    numpy_prepare = """
x, y = np.random.randn(2, 10).astype(np.float32)
square = np.random.randn(8, 8).astype(np.float32)
"""
    numpy_cases = {
        "add": "x + y", "multiply by a scalar": "x * 2.0", "exp": "np.exp(x)", "sum": "x.sum()",
        "view": "x.reshape(2, 5)", "slice": "x[2:7]", "select": "x[3]", "8x8 matmul": "square @ square",
    }


class Backward(_Family):
    """A graph of three nodes over ten elements, recorded and walked."""
    prepare = "g = torch.randn(10)\nb = torch.randn(10, requires_grad=True)"
    cases = {"(g * b).sum().backward()": "(g * b).sum().backward()"}


class Import(_Family):
    """A fresh interpreter that imports the library."""
    prepare = "import subprocess, sys"
    cases = {"import": "subprocess.run([sys.executable, '-c', 'import ' + torch.__name__], check=True)"}
    numpy_prepare = prepare
    numpy_cases = {"import": "subprocess.run([sys.executable, '-c', 'import numpy'], check=True)"}
