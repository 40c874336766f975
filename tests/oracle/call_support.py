"""The same call, as a text, in both libraries: what comes of it, and whether that is alike."""
import math

import numpy as np


def calls(*texts):
    """The calls in the texts, which stand at least four blanks apart."""
    return [call.strip() for text in texts for line in text.split("\n") for call in line.split("    ") if call.strip()]


def outcome(lib, call):
    """What a call gives in a library `T`, in tuples: (dtype, shape, values) for a tensor; the error's class for an error."""
    try:
        result = eval(call, {"T": lib, "np": np, "math": math})
    except Exception as error:
        return type(error).__name__
    return _described(lib, result)


def _described(lib, result):
    if isinstance(result, dict):
        return tuple((key, _described(lib, value)) for key, value in result.items())
    if isinstance(result, (tuple, list)):
        return tuple(_described(lib, item) for item in result)
    if not isinstance(result, lib.Tensor):
        return result
    dtype = str(result.dtype).rpartition(".")[2]
    return dtype, tuple(result.shape), (result.float() if dtype == "bfloat16" else result).detach().numpy()


def assert_alike(mine, theirs, rtol=2e-7):
    """Outcomes are equal, values of floats nearly."""
    if isinstance(theirs, np.ndarray):
        np.testing.assert_allclose(mine, theirs, rtol=rtol if theirs.dtype.kind in "fc" else 0)
    elif isinstance(theirs, tuple):
        assert isinstance(mine, tuple) and len(mine) == len(theirs)
        for a, b in zip(mine, theirs):
            assert_alike(a, b, rtol)
    else:
        assert mine == theirs


def is_error(found):
    return isinstance(found, str)
