"""`torch.compile` and what belongs to it, as pass-throughs: there is no compiler, everything runs eagerly, as it was written.

A program that compiles its model gives the same results here without it.
"""
from .core.passing import passed_through
from .core.tensor import TensorBase

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling", "is_dynamo_compiling",
           "is_exporting", "list_backends", "reset", "set_stance", "substitute_in_graph"]

_DEBUGGING = ("eager", "eager_debug", "eager_noexcept", "aot_eager", "aot_eager_decomp_partition", "aot_eager_default_partitioner", "aot_ts",
              "invoke_subgraph", "pre_dispatch_eager", "ts")
_BACKENDS = ("cudagraphs", "inductor", "openxla", "tvm")
_MODES = ("default", "lite", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


class InvalidBackend(RuntimeError):
    """A backend's name that `compile` doesn't know."""


def compile(model=None, *, fullgraph=False, dynamic=None, backend="inductor", mode=None, options=None, disable=False):
    """The model or function itself; as a decorator with options, too.

    Raises:
        InvalidBackend: the name of a backend that PyTorch doesn't have; a function may be one, too.
        RuntimeError: a mode that it doesn't have, or both a mode and options.
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    if isinstance(backend, str) and backend not in list_backends(None):
        raise InvalidBackend(f"Invalid backend: {backend!r}, see `torch._dynamo.list_backends()` for available backends.")
    return passed_through(model)


def disable(fn=None, recursive=True, *, reason=None):
    """The function itself: it is never compiled."""
    return passed_through(fn)


def allow_in_graph(fn):
    """The function itself (or list of them)."""
    return fn


def assume_constant_result(fn):
    """The function itself."""
    return fn


def substitute_in_graph(original_fn, **options):
    """A decorator that leaves its function as it is."""
    return passed_through(None)


def is_compiling():
    """False."""
    return False


def is_dynamo_compiling():
    """False."""
    return False


def is_exporting():
    """False."""
    return False


def reset():
    """Nothing to forget."""


def cudagraph_mark_step_begin():
    """Nothing to mark."""


def list_backends(exclude_tags=("debug", "experimental")):
    """The names that `compile` takes as backends; all run eagerly."""
    return sorted(_BACKENDS if exclude_tags else _BACKENDS + _DEBUGGING)


class set_stance:
    """Nothing to set; as a function, a context manager or a decorator."""

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        self.stance = stance

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None

    def __call__(self, fn):
        return fn


# --- control flow -------------------------------------------------------------------------------------------------
def cond(pred, true_fn, false_fn, operands=()):
    """`true_fn(*operands)` where `pred` is True, else `false_fn(*operands)`; PyTorch's form of `if` for compiled functions.

    Args:
        pred: True, False or a tensor of one bool. operands: a tuple or list.

    >>> import pyx_tensor as torch
    >>> x = torch.tensor(2.)
    >>> torch.cond(x > 0, torch.sqrt, torch.neg, (x,))
    tensor(1.4142)

    Raises:
        RuntimeError: `pred` isn't one bool, or one of the two is no function.
    """
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if isinstance(pred, TensorBase) and pred.numel() != 1 or not isinstance(pred, (TensorBase, bool, int, float)):
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred!r}.")
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(f"Expect operands to be a tuple or list of tensors, but got {operands!r}.")
    return true_fn(*operands) if pred else false_fn(*operands)


def while_loop(cond_fn, body_fn, carried_inputs):
    """`carried_inputs` after `body_fn(*carried_inputs)` has taken their place as often as `cond_fn(*carried_inputs)` held; PyTorch's form of `while`.

    >>> import pyx_tensor as torch
    >>> torch.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, s + i), (torch.tensor(0), torch.tensor(0)))
    (tensor(4), tensor(6))
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"carried_inputs must be a tuple or list, got {type(carried_inputs)}")
    while cond_fn(*carried_inputs):
        carried_inputs = body_fn(*carried_inputs)
        carried_inputs = tuple(carried_inputs) if isinstance(carried_inputs, (tuple, list)) else (carried_inputs,)
    return tuple(carried_inputs)
