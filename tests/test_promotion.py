"""The dtype of results: by category first, then by dimension, then by size."""
import pytest

import pyx_tensor as torch

CATEGORY_ORDER = ["bool", "int16", "float16", "complex64"]


def made(dtype, dims):
    return torch.ones((2,) * dims, dtype=getattr(torch, dtype))


@pytest.mark.parametrize("low,high", [(a, b) for i, a in enumerate(CATEGORY_ORDER) for b in CATEGORY_ORDER[i + 1:]])
def test_the_higher_category_wins_whatever_the_dims(low, high):
    for low_dims, high_dims in ((1, 1), (0, 1), (0, 0)):
        assert (made(low, low_dims) + made(high, high_dims)).dtype is getattr(torch, high)


@pytest.mark.parametrize("tensor,zero_dim,expected", [
    ("float32", "float64", "float32"), ("float16", "float32", "float16"), ("int8", "int64", "int8"), ("uint8", "int8", "uint8"),
    ("int8", "float64", "float64"), ("complex64", "complex128", "complex64"), ("bool", "int8", "int8")])
def test_a_0_dim_tensor_counts_only_by_its_category(tensor, zero_dim, expected):
    assert (made(tensor, 1) * made(zero_dim, 0)).dtype is getattr(torch, expected)


@pytest.mark.parametrize("a,b,expected", [
    ("float16", "bfloat16", "float32"), ("uint8", "int8", "int16"), ("int64", "float16", "float16"), ("int32", "uint8", "int32"),
    ("float64", "complex64", "complex128"), ("bfloat16", "float32", "float32"), ("bool", "bool", "bool")])
def test_dtypes_of_one_rank(a, b, expected):
    assert torch.promote_types(getattr(torch, a), getattr(torch, b)) is getattr(torch, expected)
    assert torch.result_type(made(a, 1), made(b, 1)) is getattr(torch, expected)
    assert (made(a, 1) + made(b, 1)).dtype is getattr(torch, expected)


@pytest.mark.parametrize("dtype,number,expected", [
    ("int8", 3, "int8"), ("int8", 3.0, "float32"), ("float16", 3.0, "float16"), ("bool", 3, "int64"), ("bool", True, "bool"),
    ("int64", 1j, "complex64"), ("float64", 1j, "complex128"), ("bfloat16", 2, "bfloat16")])
def test_python_numbers(dtype, number, expected):
    for dims in (0, 1):
        assert torch.result_type(made(dtype, dims), number) is getattr(torch, expected)
        assert (made(dtype, dims) * number).dtype is getattr(torch, expected)


def test_the_default_dtype_decides_for_integers_and_floats():
    torch.set_default_dtype(torch.float64)
    try:
        assert (made("int32", 1) / 2).dtype is torch.float64 and (made("int32", 1) * 2.0).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert (made("int32", 1) / 2).dtype is torch.float32


def test_numbers_wrap_in_integer_tensors():
    assert (torch.zeros(1, dtype=torch.uint8) + 300).item() == 44
    assert (torch.zeros(1, dtype=torch.int8) - 129).item() == 127


@pytest.mark.parametrize("target,other", [("int64", "float32"), ("float32", "complex64"), ("bool", "int64")])
def test_in_place_never_raises_the_category(target, other):
    x, before = made(target, 1), made(target, 1)
    with pytest.raises(RuntimeError, match="can't be cast"):
        x += made(other, 1)
    assert torch.equal(x, before)


def test_in_place_keeps_the_dtype():
    x = made("float16", 1)
    x += made("float64", 1)
    assert x.dtype is torch.float16 and x.tolist() == [2, 2]


@pytest.mark.parametrize("name,dtype,expected", [
    ("sum", "int8", "int64"), ("sum", "bool", "int64"), ("prod", "uint8", "int64"), ("cumsum", "int16", "int64"), ("sum", "float16", "float16"),
    ("exp", "int8", "float32"), ("sqrt", "bool", "float32"), ("eq", "float64", "bool"), ("abs", "complex64", "float32"), ("argmax", "float32", "int64")])
def test_results_of_other_dtypes(name, dtype, expected):
    x = made(dtype, 1)
    args = (x,) if name == "eq" else (0,) if name == "cumsum" else ()
    assert getattr(x, name)(*args).dtype is getattr(torch, expected)


def test_mean_of_integers_is_refused():
    with pytest.raises(RuntimeError, match="floating point or complex"):
        made("int64", 1).mean()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int64", "uint8"])
def test_numbers_among_the_operands_keep_a_tensors_dtype(dtype):
    x = torch.tensor([0, 1, 5], dtype=getattr(torch, dtype))
    assert x.clamp(1, 3).dtype is x.dtype and x.clamp(1, 3).tolist() == [1, 1, 3] and torch.where(x > 0, x, 2).tolist() == [2, 1, 5]
    assert (x.clamp(0.5, 3).dtype is x.dtype) is x.is_floating_point() and torch.where(x > 0, 0.5, x).is_floating_point()
    before = x._version
    assert x.clamp_(1, 3) is x and x.tolist() == [1, 1, 3] and x._version == before + 1
    assert x.mul_(2) is x and x.add_(1).tolist() == [3, 3, 7] and x._version == before + 3 and x.dtype is getattr(torch, dtype)


def test_numbers_written_over_a_tensor_are_checked():
    x = torch.ones(2, requires_grad=True)
    for write in (lambda: x.clamp_(0, 1), lambda: x.mul_(2), lambda: x.relu_()):
        with pytest.raises(RuntimeError, match="leaf"):
            write()
    y = torch.ones(3)
    product = (y * x[:1]).sum()
    y.mul_(3.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()
    with pytest.raises(RuntimeError):
        torch.ones(2, dtype=torch.int64).mul_(0.5)
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.ones(1).expand(3).mul_(2.0)
    view = torch.zeros(2, 3).t()
    assert view.add_(1.0).tolist() == [[1, 1]] * 3 and view.is_contiguous() is False
