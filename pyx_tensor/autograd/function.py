"""`Function`: an operation with a gradient of the user's own, in both of PyTorch's styles."""
import functools

from ..core.device import get_default_device
from ..core.tensor import TensorBase
from .grad_mode import is_grad_enabled, no_grad
from .recorded_call import FunctionCtx, behind_error, call_function

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "function_for", "once_differentiable"]


def _device_of(args):
    """The device type of the first tensor among the arguments."""
    for arg in args:
        if isinstance(arg, TensorBase):
            return arg.device.type
    return get_default_device().type


class Function(FunctionCtx):
    """An operation whose gradient you write yourself.

    Static style: `forward` and `backward` are static methods that get a context `ctx` to pass tensors in; call the
    operation with `apply`.

    >>> import pyx_tensor as torch
    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         x, = ctx.saved_tensors
    ...         return 2 * x * grad
    >>> x = torch.tensor(3., requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor(6.)

    `setup_context(ctx, inputs, output)` may take over what forward does with the context; forward then gets the inputs only.

    Early style: `forward(self, *inputs)` and `backward(self, *grads)` are ordinary methods, and an instance is called.
    The instance is the context of its call, and the result's `creator`. Where it is called again, each further call works on a copy of it;
    attributes that forward sets are seen on the instance too.

    >>> class Scale(torch.autograd.Function):
    ...     def __init__(self, factor):
    ...         self.factor = factor
    ...     def forward(self, x):
    ...         return x * self.factor
    ...     def backward(self, grad):
    ...         return grad * self.factor
    >>> Scale(10)(x)
    tensor(30., grad_fn=<ScaleBackward>)

    backward returns one gradient per argument of forward, None for those that need none (`ctx.needs_input_grad` tells).
    `register` gives a device its own forward or backward; the class's own serve the others.

    Under `create_graph=True` a Function that keeps a floating tensor computed in forward from such an input, other than
    an output, is refused: the second derivative would be wrong.
    """

    _kernels = {}                # ('forward' or 'backward', device type) -> function, of this class alone
    _is_static = True
    _backward_title = "FunctionBackward"
    _context_class = FunctionCtx

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        cls._kernels = {}
        cls._is_static = isinstance(next(vars(base)["forward"] for base in cls.__mro__ if "forward" in vars(base)), staticmethod)
        cls._backward_title = cls.__name__ + "Backward"
        cls._context_class = type(cls._backward_title, (FunctionCtx,), {})

    @staticmethod
    def forward(*args):
        """What the Function computes: `forward(ctx, *args)`, or `forward(*args)` beside `setup_context`."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Keep what backward needs, from forward's arguments and result."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grads):
        """The gradients of forward's arguments from those of its outputs."""
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function to use it with "
                                  "backward mode AD.")

    vjp = backward

    @staticmethod
    def jvp(ctx, *tangents):
        raise NotImplementedError("forward-mode derivatives of a Function aren't available")

    @classmethod
    def register(cls, device, forward=None, backward=None):
        """Give a device a forward, a backward, or both. They take the same arguments as the class's own (`ctx` or `self`
        first, where those do), and serve calls whose first tensor argument is on that device.

        Args:
            device: a device type such as "cuda".

        >>> import pyx_tensor as torch
        >>> class Double(Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x + x
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return grad + grad
        >>> Double.register("reference", forward=lambda ctx, x: x * 2)
        >>> Double.apply(torch.ones(2, device="reference"))
        tensor([2., 2.], device='reference:0')

        Raises TypeError for what isn't a function, ValueError for a device that has one already.
        """
        if cls is Function:
            raise TypeError("register belongs to a subclass of Function")
        given = {(name, device): f for name, f in (("forward", forward), ("backward", backward)) if f is not None}
        if not isinstance(device, str) or not device.isidentifier():
            raise ValueError(f"{cls.__name__}.register(): device must be a device type such as 'cpu', got {device!r}")
        if not given:
            raise TypeError(f"{cls.__name__}.register(): expected a forward, a backward, or both")
        for key, function in given.items():
            if not callable(function):
                raise TypeError(f"{cls.__name__}.register(): {key[0]} must be a function, not {type(function).__name__}")
            if key in cls._kernels:
                raise ValueError(f"{cls.__name__} has a {key[0]} for device {device!r} already")
        cls._kernels.update(given)

    @classmethod
    def _method(cls, name, device):
        """`forward` or `backward` for a device type: found as attributes are, in each class what is registered first."""
        for owner in cls.__mro__:
            found = owner.__dict__.get("_kernels", {}).get((name, device))
            if found is not None:
                return found
            if name in owner.__dict__ and owner is not Function:
                return getattr(cls, name)
        known = sorted({key[1] for owner in cls.__mro__ for key in owner.__dict__.get("_kernels", ()) if key[0] == name})
        if known:
            raise NotImplementedError(f"{cls.__name__} has no {name} for device {device!r}; it has one for: {', '.join(known)}")
        return getattr(cls, name)

    @classmethod
    def apply(cls, *args, **kwargs):
        """Call the operation."""
        if not cls._is_static:
            raise RuntimeError(f"{cls.__name__}.forward is not a static method: call an instance, {cls.__name__}()(...), or make it static")
        ctx = cls._context_class()
        device = _device_of((*args, *kwargs.values()))
        forward = cls._method("forward", device)
        if cls.setup_context is Function.setup_context:
            if kwargs:
                raise TypeError(f"{cls.__name__}.apply() takes no keyword arguments")
            forward = functools.partial(forward, ctx)
        else:
            import inspect                # dear, and seldom needed

            bound = inspect.signature(forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args = bound.args
            forward = functools.partial(cls._forward_and_setup, forward, ctx)
        return call_function(cls._backward_title, forward, cls._backward_of(device), ctx, args)

    @classmethod
    def _forward_and_setup(cls, forward, ctx, *args):
        output = forward(*args)
        cls.setup_context(ctx, args, output)
        return output

    @classmethod
    def _backward_of(cls, device):
        if cls.vjp is not Function.vjp:
            if cls.backward is not Function.backward:
                raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one "
                                   "of them.")
            return cls.vjp
        return cls._method("backward", device)

    def __call__(self, *args):
        cls = type(self)
        if cls._is_static:
            raise RuntimeError(f"{cls.__name__}.forward is a static method: call {cls.__name__}.apply(...)")
        ctx = self
        if self.needs_input_grad is not None:      # it was called before, and is the context of that call
            ctx = cls.__new__(cls)
            ctx.__dict__.update(self.__dict__)
        device = _device_of(args)
        forward = functools.partial(cls._method("forward", device), ctx)
        result = call_function(cls._backward_title, forward, cls._method("backward", device), ctx, args)
        self.__dict__.update(ctx.__dict__)
        return result


def function_for(function, device):
    """Decorates a class whose `forward`, `backward` or both are what the Function `function` runs on a device.

    >>> import pyx_tensor as torch
    >>> class Double(Function):
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad + grad
    >>> @function_for(Double, "cpu")
    ... class DoubleOnCpu:
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    >>> Double.apply(torch.ones(2))
    tensor([2., 2.])
    """
    def register(implementation):
        own = {name: getattr(implementation, name) for name in ("forward", "backward") if name in vars(implementation)}
        function.register(device, **own)
        return implementation
    return register


class InplaceFunction(Function):
    """Early PyTorch's base of Functions that can work in place: `self.inplace` says whether to."""

    def __init__(self, inplace=False):
        self.inplace = inplace


_TWICE = "trying to differentiate twice a function that was marked with @once_differentiable"


def once_differentiable(backward):
    """Decorates a `backward` that can't itself be differentiated: its result raises an error where that is tried."""
    @functools.wraps(backward)
    def unrecorded(ctx, *grads):
        with no_grad():
            results = backward(ctx, *grads)
        inputs = [g for g in grads if isinstance(g, TensorBase) and g.requires_grad]
        if not is_grad_enabled() or not inputs:
            return results
        results = behind_error(_TWICE, inputs, list(results) if isinstance(results, tuple) else [results])
        return tuple(results)

    unrecorded.once_differentiable = True
    return unrecorded
