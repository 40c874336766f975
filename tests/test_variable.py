"""`Variable` of PyTorch's early days."""
import pytest

import pyx_tensor as torch
from pyx_tensor.autograd import Variable


@pytest.mark.rows("S065")
def test_a_variable_is_a_tensor_on_the_same_memory():
    data = torch.ones(2)
    v = Variable(data, requires_grad=True)
    assert type(v) is torch.Tensor and v.requires_grad and not data.requires_grad and v.data_ptr() == data.data_ptr()
    assert isinstance(v, Variable) and isinstance(data, Variable) and not isinstance(1, Variable) and not Variable(data).requires_grad
    data[0] = 5
    assert v.tolist() == [5, 1]


@pytest.mark.rows("S069")
def test_creator_is_the_grad_fn():
    v = Variable(torch.ones(2), requires_grad=True)
    y = v * 2
    assert v.creator is None and y.creator is y.grad_fn


@pytest.mark.rows("S082")
def test_volatile_has_no_effect_but_a_warning():
    with pytest.warns(UserWarning, match="volatile was removed"):
        v = Variable(torch.ones(2), requires_grad=True, volatile=True)
    assert (v * 2).requires_grad
    with pytest.warns(UserWarning, match="volatile was removed"):
        assert v.volatile is False


def test_variables_are_made_of_tensors():
    with pytest.raises(TypeError, match="has to be a tensor, but got list"):
        Variable([1.0])
    assert Variable().numel() == 0
