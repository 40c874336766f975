"""The base class of optimizers: parameter groups, state, hooks, checkpoints."""
import copy
import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, TypeAlias, Union

from ..autograd import enable_grad
from ..core.frontend import Tensor
from ..core.naming import typename
from ..nn.modules.module import clear_grad
from ..utils.hooks import add_hook

ParamsT: TypeAlias = Union[Iterable[Tensor], Iterable[dict[str, Any]], Iterable[tuple[str, Tensor]]]  #: what `params` may be

_global_pre_hooks = OrderedDict()
_global_post_hooks = OrderedDict()

_HOOK_TABLES = tuple(f"_optimizer_{name}_hooks" for name in (
    "step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post"))


class _Required:
    """Stands in ``defaults`` for an option that every group must give itself."""

    def __repr__(self):
        return "<required parameter>"


required = _Required()


def register_optimizer_step_pre_hook(hook):
    """Register ``hook(optimizer, args, kwargs) -> None or (args, kwargs)``, run before the step of any optimizer. ``args`` begins with it."""
    return add_hook(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook):
    """Register ``hook(optimizer, args, kwargs)``, run after the step of any optimizer."""
    return add_hook(_global_post_hooks, hook)


def _with_step_hooks(step):
    """``step`` between the optimizer's hooks."""

    @functools.wraps(step)
    def hooked_step(self, *args, **kwargs):
        self._opt_called = True  # read by the schedules, which warn when they are stepped first
        if not (_global_pre_hooks or _global_post_hooks or self._optimizer_step_pre_hooks
                or self._optimizer_step_post_hooks):
            return step(self, *args, **kwargs)
        args = (self, *args)          # what hooks see, as PyTorch's do
        for hook in chain(_global_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
            replacement = hook(self, args, kwargs)
            if replacement is None:
                continue
            if not (isinstance(replacement, tuple) and len(replacement) == 2):
                raise RuntimeError(f"a hook before {type(self).__name__}.step must return None or a tuple of (new_args, new_kwargs), "
                                   f"but got {replacement}.")
            args, kwargs = replacement
        result = step(*args, **kwargs)
        for hook in chain(self._optimizer_step_post_hooks.values(), _global_post_hooks.values()):
            hook(self, args, kwargs)
        return result

    return hooked_step


class Optimizer:
    """Base class of optimizers. A subclass defines :meth:`step`; its hooks are run around it.

    Args:
        params: the tensors to optimize, as an iterable of tensors, of (name, tensor) pairs, or of dictionaries
            (groups) with the entry ``params`` and options of their own.
        defaults: options of groups that do not give them.

    Attributes:
        param_groups: the groups, dictionaries with ``params`` and all options.
        state: what the optimizer remembers, a dictionary for each tensor.
    """

    _of_own_dtype = ("step",)      # entries of the state that a checkpoint gives back as they are, where tensors else get the parameter's dtype

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in vars(cls):
            cls.step = _with_step_hooks(cls.step)

    def __init__(self, params, defaults):
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, "
                            f"but got {typename(params)}")
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        self._opt_called = False
        self._make_hook_tables()
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def _make_hook_tables(self):
        for table in _HOOK_TABLES:
            self.__dict__.setdefault(table, OrderedDict())

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.__dict__.setdefault("_opt_called", False)
        self.defaults.setdefault("differentiable", False)
        self._make_hook_tables()

    def __repr__(self):
        groups = ["\n".join([f"Parameter Group {number}", *(f"    {key}: {group[key]}" for key in sorted(group) if key != "params")])
                  for number, group in enumerate(self.param_groups)]
        return "\n".join([f"{type(self).__name__} (", "\n\n".join(groups), ")"])

    # Steps

    def step(self, closure=None):
        """Change the parameters by their gradients. A ``closure`` computes the loss anew and is called first."""
        raise NotImplementedError(f"{type(self).__name__} is missing the method step")

    def zero_grad(self, set_to_none=True):
        """Drop the gradients of all parameters, or with ``set_to_none=False`` fill them with zeros."""
        for group in self.param_groups:
            for parameter in group["params"]:
                clear_grad(parameter, set_to_none)

    # Groups

    def add_param_group(self, param_group):
        """Add a group: a dictionary with ``params`` and any options that differ from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        _list_params(param_group)
        for parameter in param_group["params"]:
            self._check_parameter(parameter)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        params = param_group["params"]
        if len(params) != len({id(parameter) for parameter in params}):
            warnings.warn("optimizer contains a parameter group with duplicate parameters; in future, this will cause "
                          "an error; see github.com/pytorch/pytorch/issues/40967 for more information", stacklevel=3)
        known = {id(parameter) for group in self.param_groups for parameter in group["params"]}
        if not known.isdisjoint(id(parameter) for parameter in params):
            raise ValueError("some parameters appear in more than one parameter group")
        if self.param_groups and ("param_names" in param_group) != ("param_names" in self.param_groups[0]):
            raise ValueError("all optimizer param groups should be with/without names. cannot add param group "
                             f"with{'' if 'param_names' in param_group else 'out'} names to the optimizer")
        self.param_groups.append(param_group)

    def _check_parameter(self, parameter):
        if not isinstance(parameter, Tensor):
            raise TypeError("optimizer can only optimize Tensors, but one of the params is " + typename(parameter))
        if not self.defaults.get("differentiable") and not (parameter.is_leaf or parameter.retains_grad):
            raise ValueError("can't optimize a non-leaf Tensor")

    # Checkpoints

    def state_dict(self):
        """The state and the groups as plain dictionaries in which numbers stand for the tensors, in their order."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers = {}
        for group in self.param_groups:
            for parameter in group["params"]:
                numbers.setdefault(id(parameter), len(numbers))
        result = {
            "state": {numbers[id(key)] if isinstance(key, Tensor) else key: value
                      for key, value in self.state.items()},
            "param_groups": [{**{key: value for key, value in group.items() if key != "params"},
                              "params": [numbers[id(parameter)] for parameter in group["params"]]}
                             for group in self.param_groups],
        }
        for hook in self._optimizer_state_dict_post_hooks.values():
            replacement = hook(self, result)
            result = result if replacement is None else replacement
        return result

    def load_state_dict(self, state_dict):
        """Take over what :meth:`state_dict` has returned, for the same groups of tensors."""
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"load_state_dict expects a dict, but got {typename(state_dict)}")
        state_dict = dict(state_dict)
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            replacement = hook(self, state_dict)
            state_dict = state_dict if replacement is None else replacement
        _check_state_dict(state_dict)
        saved_groups = copy.deepcopy(state_dict["param_groups"])
        if len(saved_groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(saved["params"]) != len(group["params"]) for saved, group in zip(saved_groups, self.param_groups)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of "
                             "optimizer's group")
        parameters = {}
        for saved, group in zip(saved_groups, self.param_groups):
            parameters.update(zip(saved["params"], group["params"]))
            saved["params"] = group["params"]
            if "param_names" in group and "param_names" not in saved:
                saved["param_names"] = group["param_names"]
        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            known = key in parameters
            state[parameters[key] if known else key] = _state_for(parameters[key], value, self._of_own_dtype) if known else value
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    # Hooks

    def register_step_pre_hook(self, hook):
        """Register ``hook(optimizer, args, kwargs) -> None or (args, kwargs)``, run before :meth:`step`. ``args`` begins with the optimizer."""
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """Register ``hook(optimizer, args, kwargs)``, run after :meth:`step`."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Register ``hook(optimizer)``, run before :meth:`state_dict`."""
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend=prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Register ``hook(optimizer, state_dict) -> None or new state_dict``, run after :meth:`state_dict`."""
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend=prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Register ``hook(optimizer, state_dict) -> None or new state_dict``, run before :meth:`load_state_dict`."""
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend=prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Register ``hook(optimizer)``, run after :meth:`load_state_dict`."""
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend=prepend)


def _check_state_dict(state_dict):
    """Raise unless it is built like an optimizer's."""
    for key in ("state", "param_groups"):
        if key not in state_dict:
            raise KeyError(f"the state dict of an optimizer has an entry {key!r}; this one has {sorted(map(str, state_dict))}")
    state, groups = state_dict["state"], state_dict["param_groups"]
    if not isinstance(state, Mapping):
        raise TypeError(f"state_dict['state'] must be a dict, but got {typename(state)}")
    if not isinstance(groups, (list, tuple)):
        raise TypeError(f"state_dict['param_groups'] must be a list, but got {typename(groups)}")
    for place, group in enumerate(groups):
        if not (isinstance(group, Mapping) and isinstance(group.get("params"), (list, tuple))):
            raise TypeError(f"state_dict['param_groups'][{place}] must be a dict with a list 'params', but got {group!r:.100}")
    numbers = {number for group in groups for number in group["params"]}
    for key, entry in state.items():
        if key in numbers and not isinstance(entry, Mapping):
            raise TypeError(f"state_dict['state'][{key!r}] must be a dict, the state of a parameter, but got {typename(entry)}")


def evaluate_closure(closure):
    """The loss that ``closure`` computes with gradients, or None without a closure."""
    if closure is None:
        return None
    with enable_grad():
        return closure()


def check_not_negative(what, value, text="Invalid {}"):
    """Raise unless ``value``, a number or a tensor of one element, is zero or more."""
    if not 0.0 <= value:
        raise ValueError(f"{text.format(what)}: {value}")


def check_learning_rate(lr, text="Invalid learning rate"):
    """Raise unless ``lr`` is a number or a tensor of one element, and not negative."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check_not_negative("", lr, text)


def check_betas(betas):
    """Raise unless both ``betas`` lie in [0, 1)."""
    for place, beta in enumerate((betas[0], betas[1])):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {place}: {beta}")


def check_options(*, differentiable, foreach, fused):
    """Raise for options that exclude each other. One call of the table does a whole group: the others change nothing."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def _list_params(param_group):
    """Make ``params`` of the group a list, and split names off it."""
    params = param_group["params"]
    if isinstance(params, Tensor):
        params = [params]
    elif isinstance(params, set):
        raise TypeError("optimizer parameters need to be organized in ordered collections, but the ordering of "
                        "tensors in sets will change between runs. Please use a list instead.")
    params = list(params)
    named = [isinstance(entry, tuple) for entry in params]
    if any(named):
        if not all(named):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        param_group["param_names"] = [name for name, _ in params]
        params = [parameter for _, parameter in params]
    param_group["params"] = params


def _state_for(parameter, value, as_they_are):
    """``value`` of a checkpoint, with its tensors on the parameter's device and of its dtype, but for the entries ``as_they_are``."""
    if isinstance(value, Tensor):
        return value.to(device=parameter.device, dtype=parameter.dtype if parameter.is_floating_point() else None)
    if isinstance(value, dict):
        return {key: entry if key in as_they_are and isinstance(entry, Tensor) else _state_for(parameter, entry, as_they_are)
                for key, entry in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return type(value)(_state_for(parameter, entry, as_they_are) for entry in value)
    return value
