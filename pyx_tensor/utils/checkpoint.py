"""Trading computation for memory: parts of a network that keep no intermediate values, and compute them again in backward."""
import contextlib
import warnings
import weakref

from ..autograd import backward as _backward
from ..autograd.engine import current_run
from ..autograd.function import Function, once_differentiable
from ..autograd.grad_mode import enable_grad
from ..autograd.graph import saved_tensors_hooks
from ..core import autocast, random
from ..core.tensor import TensorBase

__all__ = ["checkpoint", "checkpoint_sequential", "CheckpointError"]


class CheckpointError(RuntimeError):
    """The computation in backward wasn't the one of forward."""


class _Surroundings:
    """What a function's result may depend on besides its arguments: the random stream and autocast, as they are now."""

    def __init__(self, preserve_rng_state):
        self.rng = random.get_rng_state() if preserve_rng_state else None
        self.autocast = autocast.snapshot()

    @contextlib.contextmanager
    def restored(self):
        """As they were, for a block; the random stream goes on afterwards as if nothing had been."""
        rng = random.get_rng_state() if self.rng is not None else None
        try:
            if rng is not None:
                random.set_rng_state(self.rng)
            with enable_grad(), autocast.restored(self.autocast):
                yield
        finally:
            if rng is not None:
                random.set_rng_state(rng)


# --- reentrant: a Function whose backward runs backward -----------------------------------------------------------
class CheckpointFunction(Function):
    @staticmethod
    def forward(ctx, function, surroundings, *args):
        ctx.function, ctx.surroundings = function, surroundings
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, TensorBase)]
        ctx.others = [None if isinstance(a, TensorBase) else a for a in args]
        ctx.save_for_backward(*[args[i] for i in ctx.places])
        return function(*args)

    @staticmethod
    @once_differentiable
    def backward(ctx, *grads):
        if current_run().is_partial:
            raise RuntimeError("When use_reentrant=True, checkpoint is incompatible with .grad() or passing an `inputs` parameter to .backward(). "
                               "To resolve this error, pass use_reentrant=False.")
        args = list(ctx.others)
        for i, t in zip(ctx.places, ctx.saved_tensors):
            args[i] = t.detach().requires_grad_(t.requires_grad)
        with ctx.surroundings.restored():
            outputs = ctx.function(*args)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [(o, g) for o, g in zip(outputs, grads) if isinstance(o, TensorBase) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        _backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *[a.grad if isinstance(a, TensorBase) else None for a in args])


# --- not reentrant: saved values are computed again when they are asked for ---------------------------------------
class _Place:
    """Stands for the n-th tensor that the function saved."""

    def __init__(self, frame, index):
        self.frame, self.index = frame, index


class _Frame:
    """One checkpointed call."""

    def __init__(self, function, args, kwargs, surroundings, recompute_context):
        self.function, self.args, self.kwargs = function, args, kwargs
        self.surroundings, self.recompute_context = surroundings, recompute_context
        self.versions = [(t, t._version) for t in (*args, *kwargs.values()) if isinstance(t, TensorBase) and not t.is_inference()]
        self.saved_like = []                                # (shape, dtype) of what forward saved
        self.recomputed = weakref.WeakKeyDictionary()       # backward pass -> the tensors again

    def pack(self, tensor):
        self.saved_like.append((tuple(tensor.shape), tensor.dtype))
        return _Place(self, len(self.saved_like) - 1)

    @staticmethod
    def unpack(place):
        return place.frame.tensors()[place.index]

    def tensors(self):
        run = current_run()
        if run is None:
            return self.compute()
        if run not in self.recomputed:
            self.recomputed[run] = self.compute()
        return self.recomputed[run]

    def compute(self):
        for t, version in self.versions:
            if t._version != version:
                raise RuntimeError(f"checkpoint: an argument of shape {list(t.shape)} has been modified by an inplace operation since the function "
                                   f"was called: it is at version {t._version}; expected version {version}")
        tensors = []
        with self.surroundings.restored(), self.recompute_context, saved_tensors_hooks(lambda t: tensors.append(t), _unexpected):
            self.function(*self.args, **self.kwargs)
        self.compare(tensors)
        return tensors

    def compare(self, tensors):
        if len(tensors) != len(self.saved_like):
            raise CheckpointError("checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                                  f"Number of tensors saved during forward: {len(self.saved_like)}\n"
                                  f"Number of tensors saved during recomputation: {len(tensors)}")
        for i, (t, (shape, dtype)) in enumerate(zip(tensors, self.saved_like)):
            if tuple(t.shape) != shape or t.dtype is not dtype:
                raise CheckpointError("checkpoint: Recomputed values for the following tensors have different metadata than during the forward pass.\n"
                                      f"tensor at position {i}:\nsaved metadata: {list(shape)}, {dtype}\n"
                                      f"recomputed metadata: {list(t.shape)}, {t.dtype}")


def _unexpected(packed):
    raise CheckpointError("checkpoint: backward ran inside the function while it was computed again")


def _no_contexts():
    return contextlib.nullcontext(), contextlib.nullcontext()


# --- the user's functions -----------------------------------------------------------------------------------------
def checkpoint(function, *args, use_reentrant=None, context_fn=_no_contexts, determinism_check="default", debug=False,
               preserve_rng_state=True, **kwargs):
    """`function(*args, **kwargs)`, keeping only the arguments; backward computes the function again.

    Args:
        use_reentrant: False: saved values are computed again when backward asks for them; works everywhere. True: backward
            runs a backward pass of its own; needs a tensor argument that requires grad, takes no keyword arguments and
            doesn't work under `autograd.grad`. To be said explicitly.
        preserve_rng_state: the function draws the same random numbers again.
        context_fn: gives two context managers, for the forward and for the computation in backward (not reentrant only).
        determinism_check: 'none': what is computed again isn't compared in shape and dtype with the first.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.utils.checkpoint import checkpoint
    >>> x = torch.ones(2, requires_grad=True)
    >>> checkpoint(lambda t: t.exp().sin(), x, use_reentrant=False).sum().backward()
    """
    if use_reentrant is None:
        warnings.warn("torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. use_reentrant=False is recommended.",
                      stacklevel=2)
        use_reentrant = True
    surroundings = _Surroundings(preserve_rng_state)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not _no_contexts or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, surroundings, *args)
    forward_context, recompute_context = context_fn()
    frame = _Frame(function, args, kwargs, surroundings, recompute_context)
    if determinism_check == "none":
        frame.compare = lambda tensors: None
    with saved_tensors_hooks(frame.pack, frame.unpack), forward_context:
        return function(*args, **kwargs)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, preserve_rng_state=True):
    """A Sequential (or list of functions) in `segments` parts, all but the last of them checkpointed."""
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if not functions:
        return input
    size = len(functions) // segments

    def part(start, end):
        def run(x):
            for function in functions[start:end]:
                x = function(x)
            return x
        return run

    end = 0
    for start in range(0, size * (segments - 1), size) if size else ():
        end = start + size
        input = checkpoint(part(start, end), input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state)
    return part(end, len(functions))(input)
