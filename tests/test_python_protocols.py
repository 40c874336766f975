"""Tensors under Python's and NumPy's own functions and operators."""
import copy

import numpy as np
import pytest

import pyx_tensor as torch

T = torch.tensor


def test_reversed_turns_the_first_dim():
    assert [row.tolist() for row in reversed(T([[1, 2], [3, 4]]))] == [[3, 4], [1, 2]]
    assert reversed(T(1)).item() == 1


def test_complex_numbers_without_an_imaginary_part_are_real():
    assert float(T(2 + 0j)) == 2 and int(T([3 + 0j])) == 3
    for convert in (int, float):
        with pytest.raises(RuntimeError, match="without overflow"):
            convert(T(1j))


def test_elements_cannot_be_deleted():
    x = T([1, 2])
    with pytest.raises(TypeError, match="deleting"):
        del x[0]


def test_plus_of_bool_is_refused():
    assert (+T([1])).tolist() == [1]
    with pytest.raises(RuntimeError, match="bool"):
        +T([True])


@pytest.mark.parametrize("number, dtype", [(np.float64(2), torch.float32), (np.float32(2), torch.float32), (np.int64(2), torch.float32),
                                           (np.complex128(2), torch.complex64)])
def test_a_number_of_numpy_beside_a_tensor_is_a_number(number, dtype):
    x = T([3.], requires_grad=True)
    for result in (number * x, x * number):
        assert type(result) is torch.Tensor and result.dtype is dtype and result.requires_grad and result.tolist() == [6]
    assert (number > x.detach()).tolist() == [False] if dtype is torch.float32 else True
    assert (np.int64(2) - T([1], dtype=torch.int8)).dtype is torch.int8


def test_a_ufunc_gives_back_its_out():
    out = np.zeros(2, np.float32)
    assert np.exp(T([0., 0.]), out=out) is out and out.tolist() == [1, 1]
    out = torch.zeros(2)
    assert np.exp(T([0., 0.]), out=out) is out and out.tolist() == [1, 1]


def test_array_without_a_copy():
    x = T([1, 2])
    assert np.shares_memory(np.array(x, copy=False), x.numpy())
    with pytest.raises(ValueError, match="without a copy"):
        x.__array__(np.float64, copy=False)


def test_requires_grad_is_a_bool():
    x = T([1.])
    for wrong in (1, "yes", None):
        with pytest.raises(RuntimeError, match="must be a bool"):
            x.requires_grad = wrong
    assert not x.requires_grad


def test_data_of_a_leaf_stays_floating():
    x = T([1.], requires_grad=True)
    with pytest.raises(RuntimeError, match="floating point"):
        x.data = T([1])
    assert x.tolist() == [1.]
    x.data = T([2., 3.])
    assert x.tolist() == [2, 3] and x.requires_grad


def test_dlpack_capsules():
    x = T([1., 2.])
    capsule = torch.utils.dlpack.to_dlpack(x)
    y = torch.from_dlpack(capsule)
    y[0] = 5
    assert x.tolist() == [5, 2]
    with pytest.raises(RuntimeError, match="only once"):
        torch.from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="ext_tensor.*int"):
        torch.from_dlpack(3)


def test_dlpack_never_drops_a_graph():
    with pytest.raises(BufferError, match="detach"):
        torch.from_dlpack(T([1.], requires_grad=True))


def test_a_detached_parameter_is_a_plain_tensor():
    class Own(torch.nn.Parameter):
        pass
    for parameter in (torch.nn.Parameter(T([1.])), Own(T([1.]))):
        assert type(parameter.detach()) is torch.Tensor and type(copy.deepcopy(parameter)) is type(parameter)
    module = torch.nn.Linear(1, 1)
    module.start = module.weight.detach()
    assert [name for name, _ in module.named_parameters()] == ["weight", "bias"]


def test_containers_make_trainable_parameters():
    entries = torch.nn.ParameterList([T([1.]), torch.nn.Parameter(T([2.]), requires_grad=False)])
    assert [p.requires_grad for p in entries] == [True, False]
    assert torch.nn.ParameterDict({"a": T([1.])})["a"].requires_grad
