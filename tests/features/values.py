"""What the tests of this folder share: comparing values, and `out=`."""
import warnings

import numpy as np

import pyx_tensor as torch


def close(result, expected, tolerance=1e-6, dtype=None):
    """Same shape, same dtype where one is named, values within `tolerance` (relative and absolute)."""
    expected = np.asarray(expected)
    assert tuple(result.shape) == expected.shape, f"shape {tuple(result.shape)}, expected {expected.shape}"
    assert dtype is None or result.dtype is dtype, f"{result.dtype}, expected {dtype}"
    np.testing.assert_allclose(result.detach().numpy(), expected, tolerance, tolerance)


def check_out(call, expected, tolerance=1e-6):
    """`call()` gives `expected`; `call(out=o)` resizes o, fills it and returns it. Of several results, o is a tuple."""
    results = call()
    several = isinstance(results, tuple)
    expected, results = (expected, tuple(results)) if several else ((expected,), (results,))
    assert len(results) == len(expected)
    outs = tuple(torch.zeros(7, dtype=r.dtype) for r in results)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")        # that an out= with elements was resized
        returned = call(out=outs if several else outs[0])
    for result, value, out, back in zip(results, expected, outs, tuple(returned) if several else (returned,)):
        close(result, value, tolerance)
        close(out, value, tolerance)
        assert back.data_ptr() == out.data_ptr()
    assert several or returned is outs[0]
