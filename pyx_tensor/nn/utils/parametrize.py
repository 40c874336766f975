"""Parameters that are functions of other parameters.

A parametrization is a module whose `forward` gives the tensor from the parameter that the optimizer sees, and whose
`right_inverse`, if it has one, the parameter from a tensor that is assigned.
"""
import copy
from contextlib import contextmanager

from ...autograd import no_grad
from ...core.frontend import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..parameter import Parameter

_cache = {}
_cache_depth = 0


@contextmanager
def cached():
    """Within the block every parametrized tensor is computed once, not each time that it is used."""
    global _cache_depth
    _cache_depth += 1
    try:
        yield
    finally:
        _cache_depth -= 1
        if not _cache_depth:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in the order of their application, and what they start from: `original`, or `original0` …"""

    def __init__(self, modules, original, unsafe=False):
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        kept = original
        with no_grad():
            for module in reversed(self):
                if hasattr(module, "right_inverse"):
                    try:
                        kept = module.right_inverse(kept)
                    except NotImplementedError:
                        pass
        if not isinstance(kept, (Tensor, list, tuple)):
            raise ValueError(f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(kept).__name__}")
        self.is_tensor = isinstance(kept, Tensor)
        self.ntensors = 1 if self.is_tensor else len(kept)
        if self.is_tensor:
            self._check_kept(kept, original)
            self._keep("original", original if kept is original else _in_place_of(original, kept), original)
        else:
            for i, tensor in enumerate(kept):
                if not isinstance(tensor, Tensor):
                    raise ValueError("right_inverse must return a Tensor or a Sequence of tensors (list, tuple...). Got element {} of the sequence with "
                                     "type {}.".format(i, type(tensor).__name__))
                self._keep(f"original{i}", Parameter(tensor.detach()) if isinstance(original, Parameter) else tensor, original)
        if not unsafe:
            self._check_result(original)

    def _check_kept(self, kept, original):
        if kept.dtype is not original.dtype and not self.unsafe:
            raise ValueError("When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                             f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {kept.dtype}")

    def _keep(self, name, tensor, original):
        if isinstance(original, Parameter):
            tensor.requires_grad = original.requires_grad
            self.register_parameter(name, tensor)
        else:
            self.register_buffer(name, tensor)

    def _check_result(self, original):
        result = self()
        if not isinstance(result, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
        for name in ("dtype", "shape"):
            if getattr(result, name) != getattr(original, name):
                raise ValueError(f"Registering a parametrization may not change the {name} of the tensor, unless `unsafe` flag is enabled.\n"
                                 f"unparametrized {name}: {getattr(original, name)}\nparametrized {name}: {getattr(result, name)}")

    def _originals(self):
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value):
        """Set what the parametrizations start from so that they give `value`, as far as they have inverses."""
        with no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                if value.dtype is not self.original.dtype:
                    raise ValueError(f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype {self.original.dtype}")
                self.original.data = value.detach()
                return
            if not isinstance(value, (list, tuple)):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
            if len(value) != self.ntensors:
                raise ValueError(f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of length {len(value)}.")
            for i, (tensor, kept) in enumerate(zip(value, self._originals())):
                if not isinstance(tensor, Tensor):
                    raise ValueError(f"`right_inverse` must return a sequence of tensors. Got element {i} of type {type(tensor).__name__}")
                if tensor.dtype is not kept.dtype:
                    raise ValueError(f"Tensor {i} returned by `right_inverse` has dtype {tensor.dtype} while `original{i}` has dtype {kept.dtype}")
                kept.data = tensor.detach()

    def forward(self):
        value = self[0](*self._originals())
        for module in list(self)[1:]:
            value = module(value)
        return value


def _in_place_of(original, tensor):
    """The parameter (or buffer) itself, holding the numbers of `tensor`."""
    original.data = tensor.detach()
    return original


def _parametrized_class(module):
    """A class of the module's own, which may get properties."""
    cls = type(module)

    def getstate(self):
        raise RuntimeError("Serialization of parametrized modules is only supported through state_dict(). See:\n"
                           "https://pytorch.org/tutorials/beginner/saving_loading_models.html#saving-loading-a-general-checkpoint-for-inference-and-or-"
                           "resuming-training")

    def deepcopy(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        replica = self.__new__(type(self))
        memo[id(self)] = replica
        replica.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return replica

    members = {"__getstate__": getstate}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _tensor_property(cls, name):
    """A property that computes the tensor from its parametrizations, and assigns through them."""
    def get(self):
        if not _cache_depth:
            return self.parametrizations[name]()
        key = id(self), name
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def set(self, value):
        self.parametrizations[name].right_inverse(value)

    setattr(cls, name, property(get, set))


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Make a parameter or buffer of the module a function of another: its `parametrization`, applied after those that it has. Returns the module.

    Args:
        tensor_name: the name of a parameter or buffer.
        parametrization: a module; its `right_inverse`, if it has one, gives what the parameter starts from.
        unsafe: leave out the check that shape and dtype stay.

    >>> from pyx_tensor.nn.utils import parametrize
    >>> class Symmetric(nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.T).all())
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        kept = module.parametrizations[tensor_name]
        if not unsafe:
            _check_addition(kept, parametrization, getattr(module, tensor_name))
        kept.append(parametrization)
        kept.unsafe = kept.unsafe or unsafe
        return module
    if tensor_name not in module._buffers and tensor_name not in module._parameters:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'")
    original = getattr(module, tensor_name)
    parametrizations = ParametrizationList([parametrization], original, unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _parametrized_class(module)
        module.parametrizations = ModuleDict()
    _tensor_property(type(module), tensor_name)
    module.parametrizations[tensor_name] = parametrizations
    return module


def _check_addition(kept, parametrization, value):
    """ValueError where another parametrization changes the tensor's dtype or shape, or its inverse does."""
    result = parametrization(value)
    if not isinstance(result, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
    for name in ("dtype", "shape"):
        if getattr(result, name) != getattr(value, name):
            raise ValueError(f"Registering a parametrization may not change the {name} of the tensor, unless the `unsafe` flag is enabled.\n"
                             f"module.{name}: {getattr(value, name)}\nparametrization(module).{name}: {getattr(result, name)}")
    if not hasattr(parametrization, "right_inverse"):
        return
    with no_grad():
        inverse = parametrization.right_inverse(result)
        if not isinstance(inverse, Tensor):
            raise ValueError("parametrization.right_inverse may return a Tensor or a sequence of tensors only for the first parametrization, got "
                             f"{type(inverse).__name__}")
        if inverse.dtype is not value.dtype or inverse.shape != value.shape:
            raise ValueError(f"Calling parametrization.right_inverse must give a tensor of shape {value.shape} and dtype {value.dtype}, got "
                             f"{inverse.shape} and {inverse.dtype}")
        kept.right_inverse(inverse)


def is_parametrized(module, tensor_name=None):
    """Whether the module has parametrizations, or the tensor of this name has."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Make the tensor a parameter of its own again: with the value that it has, or else with what the parametrization started from."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if not parametrizations.is_tensor and not leave_parametrized:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of tensors.")
    original = parametrizations._originals()[0]
    if leave_parametrized:
        with no_grad():
            value = getattr(module, tensor_name).detach()
        if parametrizations.is_tensor:
            original.data = value
        else:
            wants_grad = any(t.requires_grad for t in parametrizations._originals())
            original = Parameter(value, wants_grad) if isinstance(original, Parameter) else value
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, original)
    else:
        module.register_buffer(tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module):
    """The module's class without parametrizations."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Give one module the parametrizations of another, and what they start from: all, or those of one tensor. Returns the second module."""
    if not is_parametrized(from_module):
        return to_module
    if not isinstance(from_module.parametrizations, ModuleDict):
        raise AssertionError(f"Got {type(from_module.parametrizations)}, expected a ModuleDict")
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        for key in ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]:
            setattr(target, key, getattr(source, key))
    return to_module


