"""The recorded graph for users: its nodes and edges, hooks on saved tensors, hooks on several gradients."""
import contextlib
import threading
import weakref
from collections import namedtuple

from ..core.graph import Node
from ..core.mode import MASKS, swap_bits
from ..core.record import namespace as B
from ..core.record import saved_hooks, tensor_node
from ..core.tensor import TensorBase
from .engine import current_run

__all__ = ["Node", "GradientEdge", "get_gradient_edge", "saved_tensors_hooks", "save_on_cpu", "disable_saved_tensors_hooks",
           "register_multi_grad_hook", "increment_version"]

_SAVED_HOOKS = MASKS["saved_hooks"]

GradientEdge = namedtuple("GradientEdge", ["node", "output_nr", "ownership_token"], defaults=[None])
GradientEdge.__doc__ = "A place in the graph: the output `output_nr` of `node`. `autograd.grad` takes it as an input."


def get_gradient_edge(tensor):
    """Where the gradient of a tensor arrives in the graph. RuntimeError where it needs none."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node, nr = tensor_node(tensor)
    return GradientEdge(node, nr)


def increment_version(tensor):
    """Say that the memory of a tensor (or of several) was changed by other means, so that saved values notice."""
    for t in (tensor,) if isinstance(tensor, TensorBase) else tensor:
        t._bump_version()


# --- saved tensors ------------------------------------------------------------------------------------------------
class saved_tensors_hooks:
    """In this block, what operations save for backward goes through `pack(tensor)`, and comes back by `unpack(packed)`.

    >>> import pyx_tensor as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy().tobytes(), lambda b: torch.frombuffer(bytearray(b), dtype=torch.float32)):
    ...     y = x * x
    >>> y.sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """

    def __init__(self, pack_hook, unpack_hook):
        self.hooks = pack_hook, unpack_hook

    def __enter__(self):
        if saved_hooks.refusal is not None:
            raise RuntimeError(saved_hooks.refusal)
        saved_hooks.stack.append(self.hooks)
        swap_bits(_SAVED_HOOKS, _SAVED_HOOKS)

    def __exit__(self, *exc):
        saved_hooks.stack.pop()
        swap_bits(_SAVED_HOOKS, _SAVED_HOOKS if saved_hooks.stack else 0)


class save_on_cpu(saved_tensors_hooks):
    """In this block, what operations save for backward waits on the cpu."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda t: (t.device, B.clone(t) if t.device.type == "cpu" else t.cpu()), lambda packed: packed[1].to(packed[0]))


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message):
    """In this block, entering saved-tensor hooks is an error with this message."""
    before = saved_hooks.refusal
    saved_hooks.refusal = error_message
    try:
        yield
    finally:
        saved_hooks.refusal = before


# --- several gradients --------------------------------------------------------------------------------------------
class _Handles:
    def __init__(self, handles):
        self.handles = handles

    def remove(self):
        """Remove the hook from all its tensors."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


class _Gathered:
    """The gradients of one backward pass, until all that will come are there."""

    def __init__(self, places, run):
        self.grads = [None] * len(places)
        self.missing = sum(run.visits(node) for node, _ in places)


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Call `fn` once per backward pass for several tensors.

    Args:
        mode: 'all': `fn(grads)` after all their gradients are there, None for those that the pass doesn't reach;
            'any': `fn(grad)` with the first.

    Returns:
        a handle with `remove()`.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    places = [tensor_node(t) for t in tensors]
    lock, gathered = threading.Lock(), weakref.WeakKeyDictionary()      # _Gathered by backward pass

    def arrived(index, grad):
        run = current_run()
        with lock:
            if run not in gathered:
                gathered[run] = _Gathered(places, run)
            known = gathered[run]
            first = all(g is None for g in known.grads)
            known.grads[index] = grad
            known.missing -= 1
            last = known.missing == 0
        if mode == "any" and first:
            fn(grad)
        elif mode == "all" and last:
            fn(known.grads)

    def hook_for(index):
        return lambda grad: arrived(index, grad)

    return _Handles([t.register_hook(hook_for(i)) for i, t in enumerate(tensors)])
