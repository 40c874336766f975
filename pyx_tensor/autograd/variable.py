"""`Variable`, which tensors were wrapped in before PyTorch 0.4; here, as there since, it makes a Tensor."""
import warnings

from ..core.frontend import Tensor
from ..core.record import namespace as B
from ..core.tensor import TensorBase
from .function import Function


class _VariableMeta(type):
    def __instancecheck__(cls, instance):
        return isinstance(instance, TensorBase)


class Variable(metaclass=_VariableMeta):
    """`Variable(x, requires_grad=False)`: a tensor on the memory of x, outside of x's graph. Any tensor is an instance.

    Args:
        data: a tensor.
        requires_grad: are gradients computed for it?
        volatile: of early PyTorch; has no effect but a warning. Use `no_grad`.
    """

    def __new__(cls, data=None, requires_grad=False, volatile=None):
        if volatile is not None:
            warnings.warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.", stacklevel=2)
        if data is None:
            data = Tensor()
        if not isinstance(data, TensorBase):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)


def variable(data, requires_grad=False):
    """Early PyTorch's name of `torch.tensor`: a leaf with the data of a tensor or array, whose memory it shares, or of nested sequences.

    >>> import pyx_tensor as torch
    >>> torch.autograd.variable(torch.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """
    return Variable(B.as_tensor(data), requires_grad)


def _creator(self):
    """Early PyTorch's name of `grad_fn`; for a Function of the early instance style, the instance that was called."""
    node = self.grad_fn
    called = getattr(node, "ctx", None)
    return called if isinstance(called, Function) else node


def _volatile(self):
    """Always False; setting it warns."""
    warnings.warn("volatile was removed (Variable.volatile is always False)", stacklevel=2)
    return False


def _set_volatile(self, value):
    warnings.warn("volatile was removed (Variable.volatile is always False)", stacklevel=2)


Tensor.creator = property(_creator)
Tensor.volatile = property(_volatile, _set_volatile)
