"""Dtypes and values of two operands of any dtype and dims, by hypothesis, against PyTorch."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyx_tensor

torch = pytest.importorskip("torch")
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")
OPERATIONS = ("add", "sub", "mul", "true_divide", "floor_divide", "remainder", "pow", "maximum", "eq", "lt", "bitwise_and", "atan2", "logical_or", "fmod", "where")

numbers = st.one_of(st.booleans(), st.integers(1, 5), st.sampled_from([0.5, 2.0, 3.0]), st.just(1j + 1))
tensors = st.tuples(st.sampled_from(DTYPES), st.integers(0, 2), st.integers(1, 4))


def made(lib, operand):
    if not isinstance(operand, tuple):
        return operand
    dtype, dims, value = operand
    return lib.full((2,) * dims, value).to(getattr(lib, dtype))


def has_half_complex(*operands):
    """Half precision with complex numbers gives PyTorch's complex32, which isn't available here."""
    kinds = [o[0] if isinstance(o, tuple) else type(o).__name__ for o in operands]
    return "float16" in kinds and any(k.startswith("complex") for k in kinds)


def subtracts_a_bool(name, *operands):
    """PyTorch refuses any bool operand of a difference, pyx_tensor two of them."""
    return name in ("sub", "sub_") and any(o is True or o is False or isinstance(o, tuple) and o[0] == "bool" for o in operands)


def raises_bools_to_a_bool(name, *operands):
    """PyTorch takes a bool tensor to the power of a Python bool, but not of a bool tensor; pyx_tensor takes neither."""
    return name == "pow" and all(o is True or o is False or isinstance(o, tuple) and o[0] == "bool" for o in operands)


def outcome(lib, name, operands):
    a, b = (made(lib, o) for o in operands)
    try:
        return lib.where(lib.tensor([True, False]), a, b) if name == "where" else getattr(lib, name)(a, b)
    except (RuntimeError, TypeError, NotImplementedError) as error:
        return error


def values(t):
    return (t.float() if str(t.dtype) == "torch.bfloat16" else t).numpy()


@settings(max_examples=1500, deadline=None)
@given(st.sampled_from(OPERATIONS), st.one_of(tensors, numbers), st.one_of(tensors, numbers))
def test_two_operands(name, a, b):
    if has_half_complex(a, b) or subtracts_a_bool(name, a, b) or raises_bools_to_a_bool(name, a, b) or not isinstance(a, tuple) and not isinstance(b, tuple):
        return
    theirs, mine = outcome(torch, name, (a, b)), outcome(pyx_tensor, name, (a, b))
    if isinstance(theirs, NotImplementedError):
        return
    if isinstance(theirs, Exception):
        assert isinstance(mine, Exception), f"accepted, PyTorch raises {theirs!r}"
        return
    assert not isinstance(mine, Exception), repr(mine)
    assert str(mine.dtype) == str(theirs.dtype) and tuple(mine.shape) == tuple(theirs.shape)
    tolerance = 2e-2 if "16" in str(theirs.dtype) else 1e-5
    np.testing.assert_allclose(values(mine), values(theirs), rtol=tolerance, atol=tolerance)


@settings(max_examples=500, deadline=None)
@given(st.one_of(tensors, numbers), st.one_of(tensors, numbers))
def test_result_type(a, b):
    if has_half_complex(a, b):
        return
    assert str(pyx_tensor.result_type(made(pyx_tensor, a), made(pyx_tensor, b))) == str(torch.result_type(made(torch, a), made(torch, b)))


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(("add_", "mul_", "sub_")), tensors, st.one_of(tensors, numbers))
def test_in_place(name, target, operand):
    if isinstance(operand, tuple) and operand[1] > target[1] or subtracts_a_bool(name, target, operand):
        return
    results = []
    for lib in (torch, pyx_tensor):
        x = made(lib, target)
        try:
            getattr(x, name)(made(lib, operand))
            results.append((str(x.dtype), values(x).tolist()))
        except RuntimeError:
            results.append("refused")
    assert results[0] == results[1] or results[0] != "refused" != results[1] and np.allclose(results[0][1], results[1][1], rtol=2e-2)
