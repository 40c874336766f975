"""Questions about an object or a tensor that aren't computed: functions with a Python answer."""
from ..core.definitions import composes, publish_function
from ..core.tensor import TensorBase


@publish_function
def is_tensor(obj):
    """True for a tensor of any kind (a Parameter, a Variable, a subclass), False for anything else."""
    return isinstance(obj, TensorBase)


def _tensor(function, name, value):
    if not isinstance(value, TensorBase):
        raise TypeError(f"{function}(): argument '{name}' must be Tensor, not {type(value).__name__}")
    return value


@composes
def numel(input):
    """The number of elements: the product of the sizes, 1 for a 0-dim tensor."""
    return _tensor("numel", "input", input).numel()


@composes
def is_floating_point(input):
    """Whether the dtype is a floating-point one (complex ones aren't)."""
    return _tensor("is_floating_point", "input", input).dtype.is_floating_point


@composes
def is_complex(input):
    """Whether the dtype is a complex one."""
    return _tensor("is_complex", "input", input).dtype.is_complex


@composes
def is_signed(input):
    """Whether the dtype has negative values."""
    return _tensor("is_signed", "input", input).dtype.is_signed


@composes
def is_inference(input):
    """Whether the tensor was made in inference mode."""
    return _tensor("is_inference", "input", input).is_inference()


@composes
def is_same_size(input, other):
    """Whether two tensors have the same shape."""
    return _tensor("is_same_size", "input", input).shape == _tensor("is_same_size", "other", other).shape
