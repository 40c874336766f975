"""Making tensors: what data is taken, whose memory is shared, what is refused."""
import array

import numpy as np
import pytest

import pyx_tensor as torch


@pytest.mark.parametrize("data,dtype,shape", [
    (1, "int64", ()), (1.5, "float32", ()), (True, "bool", ()), (1j, "complex64", ()), ([], "float32", (0,)), ([[], []], "float32", (2, 0)),
    ([1, 2.5], "float32", (2,)), ([True, 2], "int64", (2,)), ([[1], [2]], "int64", (2, 1)), (np.float64(2), "float64", ()), (np.int8(2), "int8", ()),
    (np.zeros(2, np.float16), "float16", (2,)), ((1, 2), "int64", (2,)), (range(3), "int64", (3,)), ([1j, 2], "complex64", (2,))])
def test_tensor_reads(data, dtype, shape):
    x = torch.tensor(data)
    assert x.dtype is getattr(torch, dtype) and tuple(x.shape) == shape
    assert torch.tensor(data, dtype=torch.complex128).dtype is torch.complex128


@pytest.mark.parametrize("data,error", [
    ([[1], [2, 3]], ValueError), ([1, [2]], (TypeError, ValueError)), ("text", TypeError), ([None], (RuntimeError, TypeError)), (2**64, ValueError),
    (np.array(["a"]), TypeError), (np.array([object()]), TypeError), (object(), RuntimeError), ({}, RuntimeError)])
def test_tensor_refuses(data, error):
    with pytest.raises(error):
        torch.tensor(data)


def test_tensor_copies_and_as_tensor_shares():
    a = np.zeros(3, np.float32)
    copied, shared = torch.tensor(a), torch.as_tensor(a)
    a[0] = 1
    assert copied[0] == 0 and shared[0] == 1
    t = torch.ones(2)
    assert torch.as_tensor(t) is t and torch.as_tensor(t, dtype=torch.float64).dtype is torch.float64
    assert torch.asarray(a).data_ptr() == shared.data_ptr() and torch.asarray(a, copy=True).data_ptr() != shared.data_ptr()
    with pytest.raises(ValueError):
        torch.asarray([1, 2], copy=False)


def test_from_numpy_shares_whatever_the_strides():
    a = np.arange(12.0).reshape(3, 4)
    t = torch.from_numpy(a[::2, 1:].T)
    assert t.stride() == (1, 8)
    t[0, 0] = -1
    assert a[0, 1] == -1
    assert torch.from_numpy(np.zeros((2, 0, 3))).shape == (2, 0, 3)


@pytest.mark.parametrize("make,error", [
    (lambda: [1, 2], TypeError), (lambda: np.zeros(2, ">f4"), ValueError), (lambda: np.zeros(3)[::-1], ValueError), (lambda: np.array(["a"]), TypeError),
    (lambda: np.array([None]), TypeError), (lambda: np.zeros(2, "m8[s]"), TypeError), (lambda: np.zeros(2, [("x", "f4"), ("y", "u1")])["x"], ValueError)])
def test_from_numpy_refuses(make, error):
    with pytest.raises(error):
        torch.from_numpy(make())


def test_read_only_memory_is_never_written():
    a = np.zeros(3)
    a.flags.writeable = False
    t = torch.from_numpy(a)
    for write in (lambda: t.add_(1), lambda: t.fill_(1), lambda: t.__setitem__(0, 1.0), lambda: torch.add(t, 1, out=t)):
        with pytest.raises(RuntimeError, match="read-only"):
            write()
    assert not a.any()
    assert (t + 1).sum() == 3


def test_dlpack_both_ways():
    t = torch.arange(3.0)
    a = np.from_dlpack(t)
    assert a.tolist() == [0, 1, 2]
    back = torch.from_dlpack(np.arange(4.0))
    assert back.dtype is torch.float64 and back.tolist() == [0, 1, 2, 3]
    with pytest.raises(BufferError):
        torch.ones(2, requires_grad=True).__dlpack__()


def test_frombuffer():
    data = array.array("f", [1, 2, 3, 4])
    t = torch.frombuffer(data, dtype=torch.float32, offset=4, count=2)
    assert t.tolist() == [2, 3]
    t[0] = 9
    assert data[1] == 9
    for bad in (dict(offset=16), dict(count=5), dict(count=0), dict(offset=1)):
        with pytest.raises(ValueError):
            torch.frombuffer(data, dtype=torch.float32, **bad)


def test_numpys_protocols():
    t = torch.arange(3.0)
    assert np.asarray(t).tolist() == [0, 1, 2] and np.shares_memory(np.asarray(t), t.numpy())
    assert np.array(t, dtype=np.int64).dtype == np.int64
    assert isinstance(np.sin(t), torch.Tensor)
    with pytest.raises(RuntimeError, match="requires grad"):
        np.asarray(t.clone().requires_grad_())


@pytest.mark.parametrize("swap", [False, True])
def test_operators_with_arrays_keep_the_graph(swap):
    t, a = torch.ones(3, requires_grad=True), np.array([1, 2, 3], np.float32)
    result = a * t if swap else t * a
    assert isinstance(result, torch.Tensor)
    result.sum().backward()
    assert t.grad.tolist() == [1, 2, 3]


def test_ranges():
    assert torch.arange(3).dtype is torch.int64 and torch.arange(0, 1, 0.25).tolist() == [0, 0.25, 0.5, 0.75]
    assert torch.arange(5, 0, -2).tolist() == [5, 3, 1] and torch.linspace(0, 1, 5).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert torch.linspace(0, 1, 1).tolist() == [0] and torch.logspace(0, 2, 3).tolist() == [1, 10, 100]
    for bad in (lambda: torch.arange(0, 3, 0), lambda: torch.arange(0, 3, -1), lambda: torch.linspace(0, 1, -1)):
        with pytest.raises(RuntimeError):
            bad()


def test_ranges_of_half_types_count_in_single_precision():
    for bounds, single, double in (((-0.7, 0.5, 0.1), 13, 12), ((-3, 0.3, 0.3), 11, 12), ((0.1, 0.9, 0.2), 5, 5)):
        start, end, step = np.array(bounds, np.float32)
        assert int((end - start) / step + np.float32(1)) == single
        for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            assert torch.range(*bounds, dtype=dtype).shape == (single if dtype.itemsize == 2 else double,)


def test_shapes_and_fills():
    assert torch.zeros(2, 3).shape == torch.zeros((2, 3)).shape == torch.zeros(size=(2, 3)).shape
    assert torch.full((2,), 3).dtype is torch.int64 and torch.full((2,), 3.0).dtype is torch.float32 and torch.full((), True).dtype is torch.bool
    x = torch.ones(2, dtype=torch.float64)
    assert torch.zeros_like(x).dtype is x.new_zeros(3).dtype is x.new_tensor([1]).dtype is torch.float64
    assert torch.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]] and torch.empty(0).numel() == 0
    for bad, error in ((lambda: torch.zeros(-1), RuntimeError), (lambda: torch.zeros(2.5), TypeError), (lambda: torch.ones(2, dtype="float32"), TypeError)):
        with pytest.raises(error):
            bad()


@pytest.mark.parametrize("number, dtype", [(float, torch.float64), (int, torch.int64), (bool, torch.bool), (complex, torch.complex128)])
def test_types_of_numbers_are_dtypes(number, dtype):
    one = torch.ones(2)
    made = [torch.zeros(2, dtype=number), torch.full((1,), 1, dtype=number), torch.tensor([1], dtype=number), torch.as_tensor([1], dtype=number),
            torch.zeros_like(one, dtype=number), torch.full_like(one, 1, dtype=number), torch.eye(2, dtype=number),
            one.new_zeros(2, dtype=number), one.new_full((1,), 1, dtype=number), one.to(number), one.to("cpu", number),
            one.to(dtype=number), torch.sum(one, dtype=number), torch.cumsum(one, 0, dtype=number)]
    made += [torch.arange(2, dtype=number)] if number in (float, int) else []
    made += [torch.linspace(0, 1, 2, dtype=number)] if number is not bool else []
    assert all(x.dtype is dtype for x in made)
    for make in (torch.arange, torch.range, lambda n, dtype: torch.linspace(0, n, 2, dtype=dtype))[:2 if number is complex else 3 if number is bool else 0]:
        with pytest.raises(NotImplementedError):
            make(2, dtype=number)


def test_other_types_are_no_dtypes():
    for make in (lambda d: torch.zeros(2, dtype=d), lambda d: torch.tensor(1, dtype=d), lambda d: torch.ones(2).to(d), lambda d: torch.ones(2).sum(dtype=d)):
        with pytest.raises(TypeError, match="must be torch.dtype, not type"):
            make(str)
    assert torch.nn.Linear(1, 1).to(float).weight.dtype is torch.float64 and torch.randn(2, dtype=float).dtype is torch.float64


def test_tensors_in_sequences_are_numbers():
    x = torch.tensor([torch.tensor([1]), torch.tensor(2.5), 3])
    assert x.shape == (3,) and x.tolist() == [1, 2.5, 3] and x.dtype is torch.float32
    assert torch.tensor([torch.ones(1, requires_grad=True) * 2, 1]).tolist() == [2, 1]
    with pytest.raises(ValueError, match="only one element.*\\[2\\]"):
        torch.tensor([torch.ones(2), torch.ones(2)])


def test_ints_of_more_than_64_bits():
    assert torch.tensor([2**64, 1.5]).tolist() == [2.0**64, 1.5] and torch.tensor(2**64, dtype=torch.float64).item() == 2.0**64
    for data in (2**64, [2**63], [2**70, 1]):
        with pytest.raises(ValueError, match="Overflow when unpacking long long"):
            torch.tensor(data)


@pytest.mark.parametrize("data, dtype", [
    ([1, 2.5], "float32"), ([[True, False], [False, True]], "bool"), (((1,), [2]), "int64"), ([True, 2, 0.5], "float32"), ([2**53 + 1], "int64"),
    ([1e-50, -0.0, float("inf"), float("nan")], "float32"), (-2**63, "int64"), ([[[]]], "float32")])
@pytest.mark.parametrize("wanted", [None, "float32", "float64"])
def test_numbers_are_read_as_numpy_reads_them(data, dtype, wanted):
    x = torch.tensor(data, dtype=None if wanted is None else getattr(torch, wanted))
    assert x.dtype is getattr(torch, wanted or dtype) and x.is_contiguous()
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(x.numpy(), np.array(data).astype(wanted or dtype))


def test_numbers_have_the_default_dtype():
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.tensor([0.1]).item() == 0.1 and torch.full((1,), 0.1).item() == 0.1 and torch.eye(2).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.tensor([0.1]).item() != 0.1


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64", "bfloat16"])
def test_eye_of_all_shapes(dtype):
    for n, m in ((3, 3), (2, 4), (4, 2), (0, 3), (3, 0), (1, 1)):
        made = torch.eye(n, m, dtype=getattr(torch, dtype))
        assert tuple(made.shape) == (n, m) and (made.to(torch.complex64).numpy() == np.eye(n, m)).all()


def test_new_tensors_by_example_keep_what_is_not_given():
    like = torch.zeros(2, 3, dtype=torch.int16)
    assert like.new_zeros(2).dtype is torch.int16 and like.new_ones((2, 1)).tolist() == [[1], [1]] and tuple(like.new_empty([0]).shape) == (0,)
    assert like.new_zeros(2, dtype=torch.float64, requires_grad=True).requires_grad and like.new_zeros(size=(4,)).tolist() == [0] * 4
    assert torch.full((2,), 300, dtype=torch.int16).tolist() == [300, 300] and torch.full([2], True).dtype is torch.bool
    with pytest.raises(RuntimeError, match="overflow"):
        torch.full((2,), 300, dtype=torch.int8)
    with pytest.raises(RuntimeError, match="negative dimension"):
        like.new_zeros(-1)
    assert torch.zeros_like(torch.zeros(2, 3).t()).stride() == (1, 3)


@pytest.mark.parametrize("arguments", [(0, 1, 0.1), (2.5,), (5, 0, -0.5), (0.0, 0.0), (-1.5, 3), (0, 1e-3, 1e-4), (10, 0, -3), (3, 3, 1.0), (0.5, 2**40 * 1e-6, 1e4)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ranges_of_floats(arguments, dtype):
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        made = torch.arange(*arguments)
    finally:
        torch.set_default_dtype(torch.float32)
    start, end, step = (0, *arguments, 1) if len(arguments) == 1 else (*arguments, 1)[:3]
    expected = start + np.arange(int(np.ceil((end - start) / step)), dtype=np.float64) * step
    assert made.dtype is (torch.int64 if set(map(type, arguments)) == {int} else getattr(torch, dtype))
    np.testing.assert_array_equal(made.numpy(), expected.astype(made.dtype.name if hasattr(made.dtype, "name") else dtype))


@pytest.mark.parametrize("arguments, message", [((0, 1, -0.5), "inconsistent"), ((0.0, 1, 0.0), "nonzero"), ((0, float("inf"), 1.0), "unsupported range"),
                                                ((float("nan"), 1), "unsupported range"), ((0.0, 2**70), "unsupported range")])
def test_ranges_of_floats_that_cannot_be(arguments, message):
    with pytest.raises(RuntimeError, match=message):
        torch.arange(*arguments)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "float16", "float64", "complex64"])
def test_bools_are_numbers_of_every_dtype(dtype):
    dtype = getattr(torch, dtype)
    assert torch.tensor(True, dtype=dtype).item() == 1 and torch.tensor([[True, False]], dtype=dtype).tolist() == [[1, 0]]
    assert torch.tensor([True, 2], dtype=dtype).tolist() == [1, 2] and torch.ones(1).new_tensor(True, dtype=dtype).dtype is dtype


def test_lists_that_hold_themselves_are_refused():
    data = [1]
    data.append(data)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    for bad in (data, data[1:], deep):
        with pytest.raises((RecursionError, ValueError, TypeError)):
            torch.tensor(bad)
