"""A module's state: ``state_dict``, ``load_state_dict`` and their hooks."""
from collections import OrderedDict, namedtuple
from collections.abc import Mapping

from ...autograd import no_grad
from ...core.frontend import Tensor
from ...utils.hooks import add_hook
from ..parameter import Parameter, is_lazy

EXTRA_STATE = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ("missing_keys", "unexpected_keys"))):
    """The keys that a non-strict ``load_state_dict`` has left out."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class StatefulModule:
    """The part of :class:`Module` that saves and loads state."""

    def get_extra_state(self):
        """State beside parameters and buffers, for ``state_dict``; define it together with ``set_extra_state``."""
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called.")

    def set_extra_state(self, state):
        """Take over what :meth:`get_extra_state` has returned."""
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called.")

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """An ordered dictionary of all parameters and persistent buffers, detached unless ``keep_vars``.

        The tensors share memory with the module's. ``destination`` (filled and returned) and ``prefix`` are for
        modules that collect the state of others.
        """
        if args:
            given = dict(zip(("destination", "prefix", "keep_vars"), args))
            destination = given.get("destination", destination)
            prefix, keep_vars = given.get("prefix", prefix), given.get("keep_vars", keep_vars)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = dict(version=self._version)
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            destination = _state_dict_hook_result(hook, self, destination, prefix, local_metadata)
        return destination

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        """Put this module's own state, without its children's, into ``destination``."""
        for name, tensor in self._persistent_state().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if _overrides(self, "get_extra_state"):
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _persistent_state(self):
        """This module's own parameters and persistent buffers by name."""
        state = {name: value for name, value in self._parameters.items() if value is not None}
        state.update((name, value) for name, value in self._buffers.items()
                     if value is not None and name not in self._non_persistent_buffers_set)
        return state

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copy parameters and buffers from ``state_dict``.

        Args:
            state_dict: a mapping from names, as of :meth:`state_dict`, to tensors.
            strict: raise a RuntimeError unless the names are exactly the module's.
            assign: put the given tensors in the place of the module's instead of copying.

        Returns:
            a named tuple of ``missing_keys`` and ``unexpected_keys``.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        load = _Load(state_dict, strict, assign)
        load.into(self, load.state, "")
        if strict:
            load.report_keys()
        if load.errors:
            raise RuntimeError("Error(s) in loading state_dict for {}:\n\t{}".format(
                type(self).__name__, "\n\t".join(load.errors)))
        return _IncompatibleKeys(load.missing, load.unexpected)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                              error_msgs):
        """Load this module's own state, without its children's; for subclasses to extend.

        Problems are appended to the three lists; nothing is raised.
        """
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        state = self._persistent_state()
        for name, tensor in state.items():
            key = prefix + name
            if key in state_dict:
                error = _load_tensor(self, name, tensor, key, state_dict[key], assign)
                error_msgs.extend([error] if error else [])
            elif strict:
                missing_keys.append(key)
        self._load_extra_state(state_dict, prefix + EXTRA_STATE, strict, missing_keys, unexpected_keys)
        if strict:
            unexpected_keys.extend(_unknown_keys(state_dict, prefix, state, self._modules))

    def _load_extra_state(self, state_dict, key, strict, missing_keys, unexpected_keys):
        if _overrides(self, "set_extra_state"):
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)

    def register_state_dict_pre_hook(self, hook):
        """Register ``hook(module, prefix, keep_vars)``, run before :meth:`state_dict` collects."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """Register ``hook(module, state_dict, prefix, local_metadata)``, which changes ``state_dict`` in place."""
        hook._from_public_api = True
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook):
        """As :meth:`register_state_dict_post_hook`, for hooks that may also return a new dictionary."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError("Cannot register the same function as the state dict post hook that was previously "
                               "registered via register_state_dict_post_hook")
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook):
        """Register ``hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors)``."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return add_hook(self._load_state_dict_pre_hooks, _BoundHook(hook, self) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook):
        """Register ``hook(module, incompatible_keys)``, run after the module and its children are loaded."""
        return add_hook(self._load_state_dict_post_hooks, hook)


class _BoundHook:
    """A load hook that wants the module as its first argument (a class, so that modules pickle)."""

    def __init__(self, hook, module):
        self.hook, self.module = hook, module

    def __call__(self, *args):
        return self.hook(self.module, *args)


class _Load:
    """One run of ``load_state_dict`` over a tree of modules."""

    def __init__(self, state_dict, strict, assign):
        self.state = OrderedDict(state_dict)
        self.metadata = getattr(state_dict, "_metadata", None)
        if self.metadata is not None:
            self.state._metadata = self.metadata
        self.strict, self.assign = strict, assign
        self.missing, self.unexpected, self.errors = [], [], []

    def into(self, module, state, prefix):
        """Load ``module`` and its children from the keys that start with ``prefix``."""
        local_metadata = {} if self.metadata is None else self.metadata.get(prefix[:-1], {})
        if self.assign:
            local_metadata["assign_to_params_buffers"] = True
        module._load_from_state_dict(state, prefix, local_metadata, True, self.missing, self.unexpected, self.errors)
        for name, child in module._modules.items():
            if child is not None:
                child_prefix = f"{prefix}{name}."
                self.into(child, {k: v for k, v in state.items() if k.startswith(child_prefix)}, child_prefix)
        incompatible = _IncompatibleKeys(self.missing, self.unexpected)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, incompatible) is not None:
                raise AssertionError("Hooks registered with ``register_load_state_dict_post_hook`` are not "
                                     "expected to return new values, if incompatible_keys need to be modified, "
                                     "it should be done inplace.")

    def report_keys(self):
        """Turn the keys that do not match into errors, ahead of the others."""
        found = (("Missing", self.missing), ("Unexpected", self.unexpected))
        self.errors[:0] = ["{} key(s) in state_dict: {}. ".format(what, ", ".join(f'"{key}"' for key in keys))
                           for what, keys in found if keys]


def _load_tensor(module, name, tensor, key, source, assign):
    """Load one parameter or buffer; the text of the error, or None."""
    if not isinstance(source, Tensor):
        return (f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                f"checkpoint but received {type(source)}")
    if is_lazy(tensor) and is_lazy(source):
        return None
    if tensor.dim() == 0 and source.dim() == 1:
        source = source[0]  # a scalar of PyTorch before 0.4 was a vector of one element
    if source.shape != tensor.shape:
        return (f"size mismatch for {key}: copying a param with shape {source.shape} from checkpoint, "
                f"the shape in current model is {tensor.shape}.")
    try:
        with no_grad():
            if assign:
                setattr(module, name, _like_parameter(source, tensor))
            else:
                tensor.copy_(source)
    except Exception as error:
        return (f'While copying the parameter named "{key}", whose dimensions in the model are {tensor.size()} and '
                f"whose dimensions in the checkpoint are {source.size()}, an exception occurred : {error.args}.")


def _like_parameter(source, tensor):
    """``source`` as a parameter where ``tensor`` is one."""
    if not isinstance(tensor, Parameter):
        return source
    if not isinstance(source, Parameter):
        return Parameter(source, requires_grad=tensor.requires_grad)
    return source.requires_grad_(tensor.requires_grad)


def _unknown_keys(state_dict, prefix, own, children):
    """The keys under ``prefix`` that belong neither to the module's ``own`` state nor to a child."""
    for key in state_dict:
        if key.startswith(prefix) and key != prefix + EXTRA_STATE:
            head, dot, _ = key[len(prefix):].partition(".")
            if head not in (children if dot else own):
                yield key


def _state_dict_hook_result(hook, module, destination, prefix, local_metadata):
    result = hook(module, destination, prefix, local_metadata)
    if result is None:
        return destination
    if getattr(hook, "_from_public_api", False):
        raise RuntimeError("state_dict post-hook must return None")
    return result


def _overrides(module, method):
    return getattr(type(module), method) is not getattr(StatefulModule, method)
