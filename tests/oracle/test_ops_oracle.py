"""The same samples as tests/test_ops.py through PyTorch: values, dtypes, and whether a dtype is refused."""
import warnings

import numpy as np
import pytest

import pyx_tensor
from op_samples import EARLY, RANDOM, Maker, S, calls

torch = pytest.importorskip("torch")
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64")
TOLERANCE = dict(float16=5e-3, bfloat16=2e-2, float32=1e-5, complex64=1e-5)


def outcome(lib, name, c):
    function = getattr(lib, name, None) or (lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*c.args, **c.kwargs)
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as error:
        return error


def flat(result):
    return [t for item in result for t in flat(item)] if isinstance(result, (tuple, list)) else [result]


def array(t):
    return (t.float() if str(t.dtype) == "torch.bfloat16" else t).detach().resolve_conj().numpy()


def compare(mine, theirs, tolerance):
    assert len(mine) == len(theirs)
    for m, t in zip(mine, theirs):
        if not isinstance(t, torch.Tensor):
            assert m == t
            continue
        assert str(m.dtype) == str(t.dtype) and tuple(m.shape) == tuple(t.shape)
        np.testing.assert_allclose(array(m), array(t), rtol=tolerance, atol=tolerance, equal_nan=True)


# What PyTorch refuses on principle and is taken here, or has and is missing here.
KNOWN = {
    *[(name, "bool") for name in ("argmax", "argmin", "relu")],                              # kernels that take bool
    *[(name, dtype) for name in ("complex", "polar") for dtype in ("float16", "bfloat16")],      # complex64 instead of complex32
    *[(name, "float16") for name in ("imag", "view_as_real", "view_as_complex")], ("imag", "bfloat16"), ("view_as_real", "bfloat16"),
    ("logcumsumexp", "complex64"),                                                           # another multiple of 2πi
    ("histc", "uint8"),                                                                      # a lower bound that uint8 can't hold
    ("matrix_exp", "float16"), ("matrix_exp", "bfloat16"),                                   # PyTorch's are NaN
    ("cholesky_inverse", "complex64"),                                                       # a diagonal that isn't real
    ("histc", "bfloat16"),                                                                   # bins of rounded numbers
    *[(name, dtype) for name in ("stft", "istft") for dtype in ("float16", "bfloat16")],     # computed in float32
    ("grid_sampler", "bfloat16"), ("grid_sampler_2d", "bfloat16"),                           # computed in float32, rounded once (test_images.py)
    *[("gru_cell", dtype) for dtype in ("uint8", "int8", "int16", "int32", "int64")],       # computed in float32
    *[("max_pool1d_with_indices", dtype) for dtype in ("uint8", "int8", "int16", "int32", "int64")], ("avg_pool1d", "int64"),      # floats only
}


CASES = sorted({(name, dtype) for name in set(S) - RANDOM - EARLY - {"index", "svd"} for dtype in DTYPES} - KNOWN)


@pytest.mark.parametrize("name, dtype", CASES)
def test_as_pytorch(name, dtype):
    try:
        expected_calls = calls(name, Maker(torch, dtype))
    except (RuntimeError, TypeError):        # what makes the sample isn't defined for this dtype
        with pytest.raises((RuntimeError, TypeError)):
            calls(name, Maker(pyx_tensor, dtype))
        return
    for c, e in zip(calls(name, Maker(pyx_tensor, dtype)), expected_calls):
        theirs, mine = outcome(torch, name, e), outcome(pyx_tensor, name, c)
        if isinstance(theirs, NotImplementedError):      # PyTorch lacks a kernel; more is welcome
            continue
        if isinstance(theirs, Exception):
            assert isinstance(mine, Exception), f"accepted, PyTorch raises {theirs!r}"
            continue
        assert not isinstance(mine, Exception), repr(mine)
        compare(flat(mine), flat(theirs), TOLERANCE.get(dtype, 1e-6))
