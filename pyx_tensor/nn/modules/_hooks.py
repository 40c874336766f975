"""The hooks of a module: registration, and the slow form of a call that runs them."""
import warnings
from collections import OrderedDict

from ...autograd import Function
from ...core.frontend import Tensor
from ...utils.hooks import add_hook


class _GlobalHooks:
    """Hooks that run for every module."""

    def __init__(self):
        self.forward_pre = OrderedDict()
        self.forward = OrderedDict()
        self.forward_with_kwargs = OrderedDict()
        self.forward_always_called = OrderedDict()
        self.backward_pre = OrderedDict()
        self.backward = OrderedDict()
        self.backward_is_full = None
        self.used = False  # whether there was ever one that a call runs
        self.registration = {"buffer": OrderedDict(), "module": OrderedDict(), "parameter": OrderedDict()}


global_hooks = _GlobalHooks()


def _add_global_hook(hooks, hook, **options):
    global_hooks.used = True
    return add_hook(hooks, hook, **options)


def register_module_forward_pre_hook(hook):
    """Register ``hook(module, args) -> None or new args``, run before the forward of every module."""
    return _add_global_hook(global_hooks.forward_pre, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """Register ``hook(module, args, output) -> None or new output``, run after the forward of every module."""
    return _add_global_hook(global_hooks.forward, hook, flags=(
        (global_hooks.forward_with_kwargs, with_kwargs), (global_hooks.forward_always_called, always_call)))


def register_module_full_backward_pre_hook(hook):
    """Register ``hook(module, grad_output) -> None or new grad_output`` for every module."""
    return _add_global_hook(global_hooks.backward_pre, hook)


def register_module_full_backward_hook(hook):
    """Register ``hook(module, grad_input, grad_output) -> None or new grad_input`` for every module."""
    _settle_global_backward(True)
    return _add_global_hook(global_hooks.backward, hook)


def register_module_backward_hook(hook):
    """Deprecated form of :func:`register_module_full_backward_hook`, which sees only the last node's gradients."""
    _settle_global_backward(False)
    return _add_global_hook(global_hooks.backward, hook)


def register_module_buffer_registration_hook(hook):
    """Register ``hook(module, name, buffer) -> None or buffer``, run when any module gets a buffer."""
    return add_hook(global_hooks.registration["buffer"], hook)


def register_module_module_registration_hook(hook):
    """Register ``hook(module, name, submodule) -> None or submodule``, run when any module gets a child."""
    return add_hook(global_hooks.registration["module"], hook)


def register_module_parameter_registration_hook(hook):
    """Register ``hook(module, name, parameter) -> None or parameter``, run when any module gets a parameter."""
    return add_hook(global_hooks.registration["parameter"], hook)


def run_registration_hooks(kind, module, name, value):
    """What the registration hooks of this kind make of ``value``."""
    for hook in global_hooks.registration[kind].values():
        replacement = hook(module, name, value)
        if replacement is not None:
            value = replacement
    return value


def _settle_global_backward(full):
    if global_hooks.backward_is_full is (not full):
        raise RuntimeError("Cannot use both regular backward hooks and full backward hooks as a global Module hook. "
                           "Please use only one of them.")
    global_hooks.backward_is_full = full


class HookedModule:
    """The part of :class:`Module` that registers and runs hooks."""

    _has_hooks = False  # whether there was ever one that a call runs

    def _add_hook(self, hooks, hook, **options):
        self._has_hooks = True
        return add_hook(hooks, hook, **options)

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Register ``hook(module, args)``, or ``hook(module, args, kwargs)``, to run before ``forward``.

        It returns None, or the new arguments: one value or a tuple; with ``with_kwargs`` the pair (args, kwargs).
        """
        return self._add_hook(self._forward_pre_hooks, hook, prepend=prepend,
                        flags=((self._forward_pre_hooks_with_kwargs, with_kwargs),))

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Register ``hook(module, args, output)``, or ``(module, args, kwargs, output)``, to run after ``forward``.

        What it returns, unless None, replaces the output. With ``always_call`` it runs also when the call raises.
        """
        return self._add_hook(self._forward_hooks, hook, prepend=prepend, flags=(
            (self._forward_hooks_with_kwargs, with_kwargs), (self._forward_hooks_always_called, always_call)))

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Register ``hook(module, grad_output)``, run before the gradients pass the module; it may replace them."""
        return self._add_hook(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Register ``hook(module, grad_input, grad_output)``, run when the gradients of the inputs are known.

        What it returns, unless None, replaces ``grad_input`` (one entry per positional argument of the call).
        """
        self._settle_backward(True)
        return self._add_hook(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook):
        """Deprecated form of :meth:`register_full_backward_hook`, which sees only the last node's gradients."""
        self._settle_backward(False)
        return self._add_hook(self._backward_hooks, hook)

    def _settle_backward(self, full):
        if self._is_full_backward_hook is (not full):
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. "
                               "Please use only one of them.")
        self._is_full_backward_hook = full

    def _call_with_hooks(self, args, kwargs):
        """``forward`` between the hooks; see :meth:`_finish_after_error` for a call that raises."""
        finished = set()
        try:
            return self._run_hooks_and_forward(args, kwargs, finished)
        except Exception:
            self._finish_after_error(args, kwargs, finished)
            raise

    def _run_hooks_and_forward(self, args, kwargs, finished):
        args, kwargs = self._run_forward_pre_hooks(args, kwargs)
        boundary = self._backward_boundary()
        if boundary is not None:
            args = boundary.enter(args)
        result = self.forward(*args, **kwargs)
        for id, hook, with_kwargs in self._forward_hooks_in_order():
            finished.add(id)
            replacement = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
            if replacement is not None:
                result = replacement
        if boundary is not None:
            result = boundary.leave(result)
        self._attach_regular_backward_hooks(result)
        return result

    def _run_forward_pre_hooks(self, args, kwargs):
        for hook in tuple(global_hooks.forward_pre.values()):
            args = _new_args(hook(self, args), args)
        for id, hook in tuple(self._forward_pre_hooks.items()):
            if id not in self._forward_pre_hooks_with_kwargs:
                args = _new_args(hook(self, args), args)
                continue
            replacement = hook(self, args, kwargs)
            if replacement is None:
                continue
            if not (isinstance(replacement, tuple) and len(replacement) == 2):
                raise RuntimeError("forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                                   f"but got {replacement}.")
            args, kwargs = replacement
        return args, kwargs

    def _forward_hooks_in_order(self):
        """(id, hook, with_kwargs) of the global hooks, then of the module's own."""
        for hooks, with_kwargs in ((global_hooks.forward, global_hooks.forward_with_kwargs),
                                   (self._forward_hooks, self._forward_hooks_with_kwargs)):
            for id, hook in tuple(hooks.items()):
                yield id, hook, id in with_kwargs

    def _finish_after_error(self, args, kwargs, finished):
        """Run the hooks marked ``always_call`` that an exception has kept from running; their errors only warn."""
        always = {*global_hooks.forward_always_called, *self._forward_hooks_always_called} - finished
        for id, hook, with_kwargs in self._forward_hooks_in_order():
            if id not in always:
                continue
            try:
                hook(self, args, kwargs, None) if with_kwargs else hook(self, args, None)
            except Exception as error:
                warnings.warn(f"forward hook with ``always_call=True`` raised an exception that was silenced "
                              f"as another error was raised in forward: {error}", stacklevel=4)

    def _backward_boundary(self):
        pre_hooks = [*global_hooks.backward_pre.values(), *self._backward_pre_hooks.values()]
        hooks = [*(global_hooks.backward.values() if global_hooks.backward_is_full else ()),
                 *(self._backward_hooks.values() if self._is_full_backward_hook else ())]
        return _BackwardBoundary(self, pre_hooks, hooks) if pre_hooks or hooks else None

    def _attach_regular_backward_hooks(self, result):
        """Hang the hooks of the deprecated kind on the node of the first tensor in the result."""
        hooks = [*(() if global_hooks.backward_is_full else global_hooks.backward.values()),
                 *(() if self._is_full_backward_hook else self._backward_hooks.values())]
        if not hooks:
            return
        node = _first_tensor(result).grad_fn
        if node is not None:
            for hook in hooks:
                node.register_hook(lambda grad_input, grad_output, hook=hook: hook(self, grad_input, grad_output))


class _BackwardBoundary:
    """Runs the full backward hooks of one call: marks the tensors that enter and leave the module."""

    def __init__(self, module, pre_hooks, hooks):
        self.module, self.pre_hooks, self.hooks = module, pre_hooks, hooks
        self.grad_outputs = None
        self.sees_inputs = False
        self.input_count = 0

    def enter(self, args):
        """The arguments behind the input edge, whose gradients are what ``grad_input`` shows."""
        self.input_count = len(args)
        args, self.sees_inputs = _mark(self._on_inputs, args)
        return args

    def leave(self, result):
        """The result behind the output edge, whose gradients are what ``grad_output`` shows."""
        if isinstance(result, Tensor):
            marked, _ = _mark(self._on_outputs, (result,))
            return marked[0]
        if not isinstance(result, tuple):
            warnings.warn("For backward hooks to be called, module output should be a Tensor or a tuple of Tensors "
                          f"but received {type(result)}", stacklevel=5)
            return result
        return _mark(self._on_outputs, result)[0]

    def _on_outputs(self, grads):
        for hook in self.pre_hooks:
            replacement = hook(self.module, grads)
            if replacement is not None:
                grads = _checked_grads("Backward pre hook", "grad_output", replacement, grads)
        self.grad_outputs = grads
        if not self.sees_inputs:
            self._run_without_inputs()
        return grads

    def _run_without_inputs(self):
        grad_inputs = (None,) * self.input_count
        for hook in self.hooks:
            replacement = hook(self.module, grad_inputs, self.grad_outputs)
            if replacement is not None and any(grad is not None for grad in _as_tuple(replacement)):
                raise RuntimeError("Backward hook for Modules where no input requires gradient should always return "
                                   "None or None for all gradients.")

    def _on_inputs(self, grads):
        if self.grad_outputs is None:
            raise RuntimeError(f"Module backward hook for {type(self.module).__name__}: grad_input was reached before "
                               "grad_output. Did an input reach the loss without passing through the module?")
        for hook in self.hooks:
            replacement = hook(self.module, grads, self.grad_outputs)
            if replacement is not None:
                grads = _checked_grads("Backward hook", "grad_input", replacement, grads)
        return grads


class _Edge(Function):
    """The identity of some tensors; its backward shows their gradients to a callback, which may replace them."""

    @staticmethod
    def forward(ctx, on_backward, *tensors):
        ctx.set_materialize_grads(False)
        ctx.on_backward = on_backward
        ctx.mark_non_differentiable(*(tensor for tensor in tensors if not tensor.requires_grad))
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def backward(ctx, *grads):
        return None, *ctx.on_backward(grads)


def _mark(callback, values):
    """``values`` with its tensors sent through an :class:`_Edge`, and whether any of them requires a gradient.

    The callback gets one gradient per value: None for what is no tensor.
    """
    places = [place for place, value in enumerate(values) if isinstance(value, Tensor)]
    if not any(values[place].requires_grad for place in places):
        return values, False

    def on_backward(tensor_grads):
        grads = [None] * len(values)
        for place, grad in zip(places, tensor_grads):
            grads[place] = grad
        grads = callback(tuple(grads))
        return [grads[place] for place in places]

    marked = list(values)
    for place, tensor in zip(places, _Edge.apply(on_backward, *(values[place] for place in places))):
        marked[place] = tensor
    if hasattr(values, "_fields"):
        return type(values)(*marked), True
    return type(values)(marked), True


def _checked_grads(what, name, replacement, grads):
    replacement = _as_tuple(replacement)
    if len(replacement) != len(grads):
        raise RuntimeError(f"{what} returned an invalid number of {name}, got {len(replacement)}, "
                           f"but expected {len(grads)}")
    return replacement


def _as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def _new_args(replacement, args):
    return args if replacement is None else _as_tuple(replacement)


def _first_tensor(result):
    while not isinstance(result, Tensor):
        result = next(iter(result.values())) if isinstance(result, dict) else result[0]
    return result
