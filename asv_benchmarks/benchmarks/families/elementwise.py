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


class Types(_Family):
    """A million elements of other types: double, the half types, integers, complex numbers."""
    prepare = """
x, y = torch.randn(1_000_000, dtype=torch.float64), torch.rand(1_000_000, dtype=torch.float64)
half, narrow = torch.randn(1_000_000).half(), torch.randn(1_000_000).bfloat16()
whole, other, small = torch.randint(1, 1000, (1_000_000,)), torch.randint(1, 1000, (1_000_000,)), torch.randint(1, 100, (1_000_000,), dtype=torch.int32)
pair = torch.randn(1_000_000, dtype=torch.complex64)
"""
    cases = {
        "double add": "x + y", **{f"double {name}": f"{value}.{name}()" for name, value in (
            ("exp", "x"), ("log", "y"), ("sin", "x"), ("cos", "x"), ("tanh", "x"), ("sqrt", "y"), ("erf", "x"), ("sigmoid", "x"), ("log1p", "y"),
            ("expm1", "x"), ("atan", "x"), ("lgamma", "y"))},
        "double pow": "y ** x", "half add": "half + half", "half exp": "half.exp()", "bfloat16 add": "narrow + narrow", "bfloat16 exp": "narrow.exp()",
        "int64 add": "whole + other", "int64 multiply": "whole * other", "int64 floor divide": "whole // other", "int64 remainder": "whole % other",
        "int32 floor divide": "small // 7", "int64 compare": "whole < other", "complex multiply": "pair * pair", "complex abs": "pair.abs()",
        "complex exp": "pair.exp()",
    }
    numpy_prepare = "x, y = np.random.rand(2, 1_000_000)"
    numpy_cases = {"double add": "x + y", "double exp": "np.exp(x)", "double log": "np.log(y)", "double sin": "np.sin(x)", "double cos": "np.cos(x)"}


class Functions(_Family):
    """A million float32 elements through the rest of the common functions."""
    prepare = "x, y, z = torch.randn(1_000_000), torch.rand(1_000_000), torch.randn(1_000_000)\nfunctional = torch.nn.functional"
    cases = {
        **{name: f"{value}.{name}()" for name, value in (
            ("log", "y"), ("log1p", "y"), ("log2", "y"), ("sin", "x"), ("cos", "x"), ("tan", "x"), ("sqrt", "y"), ("rsqrt", "y"), ("erf", "x"), ("erfinv", "y"),
            ("relu", "x"), ("abs", "x"), ("neg", "x"), ("sign", "x"), ("round", "x"), ("floor", "x"), ("reciprocal", "y"), ("atan", "x"),
            ("asin", "y"), ("sinh", "x"), ("lgamma", "y"), ("digamma", "y"), ("isnan", "x"))},
        "pow": "y ** x", "square": "x ** 2", "cube": "x ** 3", "divide": "x / y", "atan2": "x.atan2(z)", "maximum": "torch.maximum(x, z)", "clamp": "x.clamp(-1, 1)",
        "lerp": "x.lerp(z, 0.3)", "addcmul": "x.addcmul(y, z)", "compare": "x < z", "compare with a number": "x < 0", "remainder": "x % 0.3",
        "fmod": "x.fmod(y)", "floor divide": "x // y", "silu": "functional.silu(x)", "softplus": "functional.softplus(x)",
        "leaky_relu": "functional.leaky_relu(x)", "elu": "functional.elu(x)", "hardswish": "functional.hardswish(x)", "add in place": "x.add_(z, alpha=1e-6)",
    }


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
