"""How types are named in messages."""
from .tensor import TensorBase


def short_name(tensor):
    """The dtype as error messages call it: 'Float' for float32."""
    return tensor.type().rpartition(".")[2].removesuffix("Tensor")


def typename(obj):
    """The name of a tensor's type ('torch.FloatTensor'), of a class, or of an object's class, as messages show it."""
    if isinstance(obj, TensorBase):
        return obj.type()
    cls = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(cls, "__module__", None)
    return cls.__qualname__ if module in (None, "builtins") else f"{module}.{cls.__qualname__}"


def needs_floating(name, input):
    """NotImplementedError for a tensor that isn't of floating-point numbers."""
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"\"{name}\" not implemented for '{input.dtype}'")
