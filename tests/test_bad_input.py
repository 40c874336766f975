"""What users pass by mistake: each is refused with PyTorch's exception, names the argument, and leaves tensors whole."""
import copy
import pickle

import numpy as np
import pytest

import pyx_tensor as torch

T = torch.tensor


def ones(*shape):
    return torch.ones(*shape)


# (exception, a word of its message, call)
REFUSED = [
    # memory outside of the storage, sizes beyond 64 bits
    (RuntimeError, "overflow", lambda: ones(3).as_strided((2**33,), (2**31,))),
    (RuntimeError, "overflow", lambda: ones(3).as_strided((2**62,), (2**62,))),
    (RuntimeError, "overflow", lambda: ones(3).as_strided((2, 2**62), (2**62, 4))),
    (RuntimeError, "out of bounds", lambda: ones(3).as_strided((2,), (1,), 2)),
    (RuntimeError, "overflow", lambda: ones(1).expand(2**62, 2**62)),
    (RuntimeError, "resize|overflow", lambda: ones(2).resize_(2**62)),
    # numbers that don't fit, or aren't numbers
    (TypeError, "fill_value.*NoneType", lambda: torch.full((2,), None)),
    (TypeError, "fill_value.*str", lambda: torch.full_like(ones(2), "a")),
    (TypeError, "value.*NoneType", lambda: ones(2).fill_(None)),
    (RuntimeError, "uint8 without overflow", lambda: torch.full((2,), 300, dtype=torch.uint8)),
    (RuntimeError, "int64 without overflow", lambda: torch.full((2,), 2**63)),
    (RuntimeError, "int64 without overflow", lambda: torch.full((2,), float("nan"), dtype=torch.int64)),
    (RuntimeError, "float32 without overflow", lambda: ones(2).fill_(1e300)),
    (RuntimeError, "float32 without overflow", lambda: ones(2).fill_(1j)),
    (RuntimeError, "uint8 without overflow", lambda: T([300], dtype=torch.uint8)),
    (RuntimeError, "int64 without overflow", lambda: T([float("inf")], dtype=torch.int64)),
    (TypeError, "complex", lambda: T(1j, dtype=torch.float32)),
    (RuntimeError, "unsupported range", lambda: torch.arange(float("nan"))),
    (RuntimeError, "unsupported range", lambda: torch.arange(2**63)),
    (RuntimeError, "invalid size", lambda: torch.arange(0, 1, 1e-30)),
    # arguments of other types
    (TypeError, "keyword argument 'foo'", lambda: torch.zeros(3, foo=1)),
    (TypeError, "keyword argument 'foo'", lambda: ones(3).new_zeros(3, foo=1)),
    (TypeError, "'input'.*Tensor, not int", lambda: torch.zeros_like(3)),
    (TypeError, "'input'.*Tensor, not NoneType", lambda: torch.std(None)),
    (TypeError, "'other'.*Tensor, not NoneType", lambda: torch.logaddexp(ones(2), None)),
    (TypeError, "'other'.*Tensor, not int", lambda: torch.inner(ones(2), 1)),
    (TypeError, "'out'.*NoneType", lambda: torch.kthvalue(ones(3), 1, out=[ones(1), None])),
    (TypeError, "'out'.*int", lambda: torch.add(ones(2), 1, out=5)),
    (TypeError, "'source'.*int", lambda: ones(2).set_(5)),
    (TypeError, "dim", lambda: torch.Tensor.dim(5)),
    (TypeError, "stride", lambda: torch.Tensor.stride("")),
    (TypeError, "name", lambda: type(T(1., requires_grad=True).exp().grad_fn).name(3)),
    (TypeError, "'inputs'.*int", lambda: torch.autograd.grad(T([1.], requires_grad=True) * 2, 5)),
    (RuntimeError, "'inputs'.*empty", lambda: torch.autograd.grad(T([1.], requires_grad=True) * 2, [])),
    (TypeError, "'tensors'.*int", lambda: torch.autograd.backward(5)),
    (ValueError, "one element", lambda: float(ones(2))),
    # operations that the dtype doesn't have
    (RuntimeError, "two bool tensors", lambda: T([True]) - T([True])),
    (RuntimeError, "bool tensor", lambda: -T([True])),
    (NotImplementedError, "Float", lambda: T([1.]) << 1),
    (NotImplementedError, "Float", lambda: ~T([1.])),
    (RuntimeError, "negative integer powers", lambda: T([2]) ** -1),
    (RuntimeError, "negative integer powers", lambda: T([2]).pow_(-1)),
    # dims
    (RuntimeError, "multiple times", lambda: ones(2, 1, 1).squeeze((1, 1))),
    (RuntimeError, "rotation dims", lambda: torch.rot90(ones(2, 2), 1, (0, 0))),
    (IndexError, "Dimension out of range", lambda: ones(2, 2).repeat_interleave(2, dim=3)),
    (RuntimeError, "output_size", lambda: ones(2).repeat_interleave(T([1, 2]), output_size=5)),
    (RuntimeError, "more than a tensor", lambda: ones(2).repeat_interleave(2**62)),
    (RuntimeError, "equal length", lambda: ones(2, 3, 4).fill_diagonal_(1)),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_refused(case):
    exception, word, call = REFUSED[case]
    with pytest.raises(exception, match=f"(?s){word}"):
        call()


@pytest.mark.parametrize("call", [
    lambda x: x.fill_(None), lambda x: x.fill_(1j), lambda x: x.scatter_(0, T([0, 1, 5]), 1.), lambda x: x.index_add_(0, T([0, 1, 5]), ones(3)),
    lambda x: x.index_copy_(0, T([0, 1, 5]), ones(3)), lambda x: x.put_(T([0, 5, 1]), ones(3)), lambda x: x.__setitem__([0, 5], 1.),
    lambda x: x.masked_scatter_(T([True, True, True]), ones(2)), lambda x: x.copy_(ones(2)), lambda x: x.add_(ones(2)), lambda x: x.add_(ones(2, 3)),
    lambda x: torch.add(ones(2), ones(4), out=x), lambda x: x.bitwise_and_(x), lambda x: x.set_(5), lambda x: x.resize_(-1)])
def test_a_refused_write_leaves_the_tensor_whole(call):
    x = torch.zeros(3)
    with pytest.raises((RuntimeError, IndexError, TypeError)):
        call(x)
    assert x.tolist() == [0, 0, 0] and x.dtype is torch.float32


def test_a_backward_kernel_refuses_arrays_without_rows():
    from pyx_tensor_cpu import linear
    with pytest.raises(ValueError, match="linear_backward"):
        linear.linear_backward(np.array(1.), np.array(1.), (True, True))


def test_integer_division_by_zero_writes_nothing():
    x = T([4, 6, 8])
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        x.floor_divide_(T([2, 0, 2]))
    assert x.tolist() == [4, 6, 8]


def test_numbers_at_the_ends_of_their_dtypes_are_taken():
    assert torch.full((1,), 2**63 - 1).item() == 2**63 - 1
    assert torch.full((1,), -2**63).item() == -2**63
    assert T([255], dtype=torch.uint8).item() == 255
    assert T([-128], dtype=torch.int8).item() == -128
    assert torch.full((1,), float("inf")).item() == float("inf")
    assert ones(1).to(torch.float16).fill_(65504.).item() == 65504


def test_slices_with_huge_steps():
    for step in (2**62, 2**63 - 1, 2**70):
        assert T([1, 2, 3])[::step].tolist() == [1]
        assert T([1, 2, 3])[3::step].tolist() == []


def test_sum_takes_the_dtype_it_is_given():
    assert T([1, 2]).sum(dtype=torch.bool).dtype is torch.bool
    total = T([100, 100, 100], dtype=torch.uint8).sum(dtype=torch.uint8)
    assert total.dtype is torch.uint8 and total.item() == 300 - 256
    assert T([True, True]).sum().dtype is torch.int64


def test_a_device_with_an_index():
    assert torch.zeros(2, device=torch.device("cpu", 0)).tolist() == [0, 0]
    for wrong in ("foo", "cpu:", "", "cpu:-1", "cpu:1", "reference:99"):
        with pytest.raises(RuntimeError):
            torch.zeros(2, device=wrong)


def test_differences_and_repeats_of_any_count_end():
    assert torch.diff(torch.arange(3), n=2**62).tolist() == []
    assert torch.zeros(2).repeat_interleave(T([2, 1])).tolist() == [0, 0, 0]


@pytest.mark.parametrize("array", [
    np.zeros(2, ">i4"), np.array([1, 2], object), np.zeros(2, [("a", "i4"), ("b", "f8")]), np.arange(4)[::-1], np.zeros(2, "U3"), np.zeros(2, "M8[s]"),
    np.zeros(2, [("a", "i1"), ("b", "f8")])["b"]], ids=lambda a: str(a.dtype))
def test_arrays_that_tensors_cannot_stand_on(array):
    with pytest.raises((TypeError, ValueError)):
        torch.from_numpy(array)


def test_a_read_only_array_is_never_written():
    array = np.zeros(3)
    array.flags.writeable = False
    x = torch.from_numpy(array)
    for write in (lambda: x.add_(1), lambda: x.fill_(1), lambda: torch.add(ones(3).double(), 1, out=x), lambda: x.__setitem__(0, 1)):
        with pytest.raises(RuntimeError, match="read-only"):
            write()
    assert array.tolist() == [0, 0, 0]


# --- subclasses ---------------------------------------------------------------------------------------------------
class Marked(torch.Tensor):
    pass


def test_results_have_the_type_of_the_subclass():
    x = ones(2, 3).as_subclass(Marked)
    for result in (x + 1, 1 - x, torch.add(ones(2, 3), x), x.sum(), x.t(), x.view(-1), x.clone(), *x.max(0), torch.cat([x, ones(1, 3)])):
        assert type(result) is Marked
    assert type(ones(2) + 1) is torch.Tensor


def test_a_subclass_made_by_new():
    class Made(torch.Tensor):
        @staticmethod
        def __new__(cls, data):
            return torch.Tensor._make_subclass(cls, data)

        def __init__(self, data):
            self.extra = 5
    x = Made(ones(2))
    assert type(x) is Made and x.tolist() == [1, 1] and x.extra == 5 and type(x + 1) is Made


def test_gradients_flow_through_a_subclass():
    leaf = T([1., 2.], requires_grad=True)
    (leaf.as_subclass(Marked) * 3).sum().backward()
    assert leaf.grad.tolist() == [3, 3] and type(leaf.grad) is torch.Tensor


def test_torch_function_sees_operations_in_order_of_class():
    seen = []

    class Logged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((cls.__name__, func.__name__))
            return super().__torch_function__(func, types, args, kwargs or {})

    class Deeper(Logged):
        pass

    result = ones(2).as_subclass(Logged) + ones(2).as_subclass(Deeper)
    assert seen == [("Deeper", "add")] and type(result) is Deeper


def test_torch_function_that_declines():
    class Stranger:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented
    with pytest.raises(TypeError, match="no implementation found for 'add'.*Stranger"):
        torch.add(ones(1), Stranger())


def test_parameters_give_plain_tensors():
    assert type(torch.nn.Parameter(ones(2)) * 2) is torch.Tensor


def test_a_subclass_is_copied_and_pickled_as_itself():
    x = ones(2).as_subclass(Marked)
    assert type(copy.deepcopy(x)) is Marked and type(pickle.loads(pickle.dumps(x))) is Marked


def test_memory_of_our_own_can_grow():
    for x in (T([1.0, 2.0]), torch.arange(1, 3), torch.ones(2)):
        x.resize_(5)
        assert x.shape == (5,)


def test_an_error_while_recording_is_not_taken_for_a_kernels():
    calls = []

    def pack(t):
        calls.append(t)
        raise TypeError("pack says no")
    x = ones(2).requires_grad_()
    with pytest.raises(TypeError, match="pack says no"), torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        x.sin()
    assert len(calls) == 1


@pytest.mark.parametrize("make", [
    lambda: torch.arange(10**13), lambda: torch.eye(2**40), lambda: torch.linspace(0, 1, 2**50), lambda: torch.randperm(2**62),
    lambda: torch.combinations(torch.arange(2000), 5), lambda: torch.zeros(10**13)])
def test_too_much_memory_is_a_runtime_error(make):
    with pytest.raises(RuntimeError) as raised:
        make()
    assert isinstance(raised.value, MemoryError)
