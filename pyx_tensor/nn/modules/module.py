"""The base class of all layers and models."""
from collections import OrderedDict

from ...autograd import no_grad
from ...core.device import make_device
from ...core.dtype import DType, read_dtype
from ...core.frontend import Tensor
from ...core.naming import typename
from ...ops import namespace as ops
from ..parameter import Buffer, Parameter
from ._hooks import (  # noqa: F401 (the hooks for all modules are public here)
    HookedModule, global_hooks, register_module_backward_hook, register_module_buffer_registration_hook,
    register_module_forward_hook, register_module_forward_pre_hook, register_module_full_backward_hook,
    register_module_full_backward_pre_hook, register_module_module_registration_hook,
    register_module_parameter_registration_hook, run_registration_hooks)
from ._lookup import install as install_fast_lookup
from ._state import StatefulModule

_STORES = ("_parameters", "_buffers", "_modules")


class Module(HookedModule, StatefulModule):
    """Base class of layers and models: a tree of modules with parameters and buffers.

    A subclass calls ``super().__init__()``, assigns parameters and child modules to attributes and defines
    ``forward``. Calling the module runs ``forward`` and its hooks.

    Attributes:
        training: whether the module is in training mode; see :meth:`train` and :meth:`eval`.

    >>> class Twice(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = nn.Linear(3, 3)
    ...     def forward(self, x):
    ...         return self.layer(self.layer(x))
    >>> Twice()
    Twice(
      (layer): Linear(in_features=3, out_features=3, bias=True)
    )
    """

    dump_patches = False
    call_super_init = False
    _version = 1

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        install_fast_lookup(cls, Module)

    def __init__(self, *args, **kwargs):
        if not self.call_super_init and (args or kwargs):
            found = (f"takes 1 positional argument but {len(args) + 1} were given" if args else
                     f"got an unexpected keyword argument '{next(iter(kwargs))}'")
            raise TypeError(f"{type(self).__name__}.__init__() {found}")
        vars(self).update(
            training=True,
            _parameters={}, _buffers={}, _non_persistent_buffers_set=set(),
            _backward_pre_hooks=OrderedDict(), _backward_hooks=OrderedDict(), _is_full_backward_hook=None,
            _forward_hooks=OrderedDict(), _forward_hooks_with_kwargs=OrderedDict(),
            _forward_hooks_always_called=OrderedDict(),
            _forward_pre_hooks=OrderedDict(), _forward_pre_hooks_with_kwargs=OrderedDict(),
            _state_dict_hooks=OrderedDict(), _state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_pre_hooks=OrderedDict(), _load_state_dict_post_hooks=OrderedDict(),
            _modules={},
        )
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # Calls

    def forward(self, *inputs):
        """What a call computes; every subclass defines it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args, **kwargs):
        if self._has_hooks or global_hooks.used:
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    # Attributes

    def __getattr__(self, name):
        attributes = self.__dict__
        for store in _STORES:
            if store in attributes and name in attributes[store]:
                return attributes[store][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        attributes = self.__dict__
        if isinstance(value, Parameter):
            self._forget(name, "parameters", "_parameters")
            self.register_parameter(name, value)
        elif name in attributes.get("_parameters", ()):
            _check_is_none(value, "as parameter", name, "torch.nn.Parameter or None")
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            self._forget(name, "module", "_modules")
            self._modules[name] = run_registration_hooks("module", self, name, value)
        elif name in attributes.get("_modules", ()):
            _check_is_none(value, "as child module", name, "torch.nn.Module or None")
            self._modules[name] = run_registration_hooks("module", self, name, None)
        elif name in attributes.get("_buffers", ()):
            if not isinstance(value, Tensor):
                _check_is_none(value, "as buffer", name, "torch.nn.Buffer, torch.Tensor or None")
            self._set_buffer(name, value)
        elif isinstance(value, Tensor) and isinstance(value, Buffer):
            self._forget(name, "buffer", "_buffers")
            self.register_buffer(name, value, value.persistent)
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name):
        for store in _STORES:
            if name in self.__dict__.get(store, ()):
                del self.__dict__[store][name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self):
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted(name for name in names if not name[0].isdigit())

    def __getstate__(self):
        return self.__dict__            # as every object's from Python 3.11 on

    def __setstate__(self, state):
        self.__dict__.update(state)

    def _forget(self, name, kind, store):
        """Remove ``name`` wherever it stands, to make place for a value of this kind."""
        if store not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        self.__dict__.pop(name, None)
        for other in _STORES:
            if other != store:
                self.__dict__[other].pop(name, None)
                self._non_persistent_buffers_set.discard(name)

    def _set_buffer(self, name, value):
        persistent = getattr(value, "persistent", None)
        if isinstance(persistent, bool):
            change = self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add
            change(name)
        self._buffers[name] = run_registration_hooks("buffer", self, name, value)

    # Registration

    def register_parameter(self, name, param):
        """Add a parameter (or None, which is left out everywhere) under ``name``."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{typename(param)}' object to parameter '{name}' "
                            "(torch.nn.Parameter or None required)")
        if param is not None and param.grad_fn is not None:
            raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                             f"explicitly. To express '{name}' as a function of another Tensor, compute the value in "
                             "the forward() method.")
        self._parameters[name] = None if param is None else run_registration_hooks("parameter", self, name, param)

    def register_buffer(self, name, tensor, persistent=True):
        """Add a tensor (or None) that is state but no parameter; it is in ``state_dict`` if ``persistent``."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' "
                            "(torch Tensor or None required)")
        self._buffers[name] = run_registration_hooks("buffer", self, name, tensor)
        change = self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add
        change(name)

    def add_module(self, name, module):
        """Add a child module (or None) under ``name``."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("module", name, self._modules)
        self._modules[name] = run_registration_hooks("module", self, name, module)

    register_module = add_module

    def _check_name(self, kind, name, store):
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if name not in store and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain ".", got: {name}' if kind == "module" else
                           f'{kind} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')

    # Access by dotted name

    def get_submodule(self, target):
        """The module at the dotted path ``target``; the module itself for an empty one."""
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target, module, strict=False):
        """Put ``module`` at the dotted path ``target``; with ``strict`` a module must stand there already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target):
        """The parameter at the dotted path ``target``."""
        parent, name, value = self._get_member(target)
        if not isinstance(value, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return value

    def get_buffer(self, target):
        """The buffer at the dotted path ``target``."""
        parent, name, value = self._get_member(target)
        if name not in parent._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return value

    def _get_member(self, target):
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        return parent, name, getattr(parent, name)

    # Iteration

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """Yield (dotted name, module) for the module itself and all below it, depth first."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    def modules(self):
        """Yield the module itself and all modules below it, each once."""
        for _, module in self.named_modules():
            yield module

    def named_children(self):
        """Yield (name, module) for the direct children, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self):
        """Yield the direct children, each once."""
        for _, module in self.named_children():
            yield module

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Yield (dotted name, parameter), of the whole tree or (``recurse=False``) of this module alone."""
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """Yield the parameters, as an optimizer wants them."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """Yield (dotted name, buffer), of the whole tree or (``recurse=False``) of this module alone."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """Yield the buffers."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def _named_members(self, members_of, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in members_of(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield (f"{path}.{name}" if path else name), value

    # Changes to the whole tree

    def apply(self, fn):
        """Call ``fn`` with every module below, children first, then with the module itself; returns self."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn, recurse=True):
        """Replace the data of every parameter, gradient and buffer by ``fn`` of it; returns self."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for parameter in self._parameters.values():
            if parameter is not None:
                _convert_parameter(parameter, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args, **kwargs):
        """Move and cast parameters and buffers in place: ``to(device, dtype)``, ``to(dtype)`` or ``to(tensor)``.

        A dtype (floating or complex) changes only what is floating or complex; the device changes everything. A
        ``memory_format`` is that of 4- and 5-dimensional ones.
        """
        device, dtype, non_blocking, memory_format = _parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError("nn.Module.to only accepts floating point or complex dtypes, "
                            f"but got desired dtype={dtype}")

        def convert(tensor):
            target = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            options = {} if memory_format is None or tensor.dim() not in (4, 5) else dict(memory_format=memory_format)
            return tensor.to(device=tensor.device if device is None else device,
                             dtype=tensor.dtype if target is None else target, non_blocking=non_blocking, **options)

        return self._apply(convert)

    def to_empty(self, *, device, recurse=True):
        """Move parameters and buffers to ``device`` without copying: their values are undefined."""
        return self._apply(lambda tensor: ops.empty_like(tensor, device=device), recurse=recurse)

    def type(self, dst_type):
        """Cast all parameters and buffers to ``dst_type``."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self):
        """Cast floating parameters and buffers to float32."""
        return self._apply(lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)

    def double(self):
        """Cast floating parameters and buffers to float64."""
        return self._apply(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def half(self):
        """Cast floating parameters and buffers to float16."""
        return self._apply(lambda tensor: tensor.half() if tensor.is_floating_point() else tensor)

    def bfloat16(self):
        """Cast floating parameters and buffers to bfloat16."""
        return self._apply(lambda tensor: tensor.bfloat16() if tensor.is_floating_point() else tensor)

    def cpu(self):
        """Move parameters and buffers to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device=None):
        """Move parameters and buffers to a CUDA device, the current one by default."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def share_memory(self):
        """Move parameters and buffers into memory that other processes can map."""
        return self._apply(lambda tensor: tensor.share_memory_())

    def train(self, mode=True):
        """Switch the tree to training mode (or, with False, to evaluation); returns self."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """Switch the tree to evaluation mode; returns self."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Set ``requires_grad`` of all parameters; returns self."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Drop the gradients of all parameters, or with ``set_to_none=False`` fill them with zeros."""
        for parameter in self.parameters():
            clear_grad(parameter, set_to_none)

    # Printing

    def extra_repr(self):
        """What stands between the parentheses of the representation; subclasses define it."""
        return ""

    def _get_name(self):
        return type(self).__name__

    def __repr__(self):
        extra = self.extra_repr()
        children = [f"({name}): {_indent(repr(module))}" for name, module in self._modules.items()]
        if extra and not children and "\n" not in extra:
            return f"{self._get_name()}({extra})"
        lines = (extra.split("\n") if extra else []) + children
        return self._get_name() + "(" + ("\n  " + "\n  ".join(lines) + "\n" if lines else "") + ")"


def clear_grad(tensor, set_to_none):
    """Forget the gradient of ``tensor``, or set it to zeros cut off from the graph."""
    if tensor.grad is None:
        return
    if set_to_none:
        tensor.grad = None
        return
    if tensor.grad.grad_fn is not None:
        tensor.grad.detach_()
    else:
        tensor.grad.requires_grad_(False)
    tensor.grad.zero_()


def _check_is_none(value, role, name, expected):
    if value is not None:
        raise TypeError(f"cannot assign '{typename(value)}' {role} '{name}' ({expected} expected)")


def _convert_parameter(parameter, fn):
    with no_grad():
        converted = fn(parameter)
    gradient = parameter.grad
    if gradient is not None:
        with no_grad():
            gradient = fn(gradient).requires_grad_(gradient.requires_grad)
        parameter.grad = None  # its dtype or device would not fit in between
    parameter.data = converted
    if gradient is not None:
        parameter.grad = gradient


def _parse_to(*args, device=None, dtype=None, non_blocking=False, memory_format=None):
    """(device, dtype, non_blocking, memory_format) from the arguments of ``to``."""
    for arg in args:
        if isinstance(arg, Tensor):
            device, dtype = arg.device, arg.dtype
        elif isinstance(arg, (DType, type)):
            dtype = arg
        elif isinstance(arg, bool):
            non_blocking = arg
        elif arg is not None:
            device = arg
    return None if device is None else make_device(device), read_dtype("to", dtype), non_blocking, memory_format


def _indent(text):
    return text.replace("\n", "\n  ")
