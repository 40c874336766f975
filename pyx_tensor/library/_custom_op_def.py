"""Custom operations from a function over tensors, in PyTorch's style."""
import inspect

from ..autograd.function import Function
from ..autograd.grad_mode import is_grad_enabled
from ..core.tensor import TensorBase
from ._names import defined, refusal, scope_of, title


def define_function(name, function, *, mutates_args=(), device_types=None):
    parameters = inspect.signature(function).parameters
    if isinstance(mutates_args, str):
        if mutates_args == "unknown":
            raise NotImplementedError("custom_op: mutates_args='unknown' isn't supported: name the arguments that are written to")
        mutates_args = (mutates_args,)
    wrong = [f"mutates_args names {written!r}, which is no parameter; these are: {', '.join(parameters)}"
             for written in mutates_args if written not in parameters]
    wrong += [f"a parameter {p.name!r} of any number of values isn't possible" for p in parameters.values()
              if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if wrong:
        raise refusal(name, wrong)
    definition = CustomOpDef(name, function, tuple(mutates_args), device_types)
    scope = scope_of(name)
    setattr(scope, name.partition("::")[2], definition)
    defined[name] = definition
    return definition


class CustomOpDef:
    """An operation over tensors, as `custom_op` defines it from a function in PyTorch's style; call it.

    It is an autograd Function inside: one forward per device, chosen by the first tensor argument, and one backward.
    """

    def __init__(self, name, function, mutates_args, device_types):
        self._qualname = name
        self._signature = inspect.signature(function)
        self._keywords = [p.name for p in self._signature.parameters.values() if p.kind is p.KEYWORD_ONLY]
        self._mutates = mutates_args
        self._setup = self._backward = None
        self.__name__ = name.partition("::")[2]
        self.__doc__ = function.__doc__
        own = {} if device_types is not None else {"forward": staticmethod(self._unaliased(function))}
        self._function = type(title(self.__name__), (Function,), {
            **own, "setup_context": staticmethod(self._setup_context), "backward": staticmethod(self._run_backward)})
        if device_types is not None:
            self.register_kernel(device_types, function)

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    @property
    def default(self):
        """The one overload there is."""
        return self

    def __call__(self, *args, **kwargs):
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        args = tuple(bound.arguments.values())
        self._refuse_without_gradient(args)
        if self._mutates:
            return self._write(bound.arguments)
        return self._function.apply(*args)

    def register_kernel(self, device_types, function=None, /):
        """Let `function(*args)`, of the operation's arguments, serve calls on the devices (a type such as "cuda", or several).

        Also a decorator: `@op.register_kernel("cuda")`.
        """
        if function is None:
            return lambda function: self.register_kernel(device_types, function)
        for device in (device_types,) if isinstance(device_types, str) else device_types:
            self._function.register(device, forward=self._unaliased(function))
        return function

    def register_autograd(self, backward, /, *, setup_context=None):
        """Give the operation a gradient.

        Args:
            backward: function(ctx, *grads) -> one gradient per positional argument (None for those that need none).
            setup_context: function(ctx, inputs, output), which keeps on `ctx` what backward needs; where there are keyword-only
                arguments, it gets them too, as a dict `keyword_only_inputs`.
        """
        if self._mutates:
            raise RuntimeError(f"Cannot register autograd formula for non-functional operator {self._qualname}: it writes to "
                               f"{', '.join(self._mutates)}")
        for name, given in (("backward", backward), ("setup_context", setup_context)):
            if given is not None and not callable(given):
                raise TypeError(f"{self._qualname}: {name} must be a function, not {type(given).__name__}")
        self._backward, self._setup = backward, setup_context

    def register_fake(self, function, /):
        """PyTorch's shape function, which tracing needs; there is no tracing here, so it's never called."""
        return function

    def register_vmap(self, function=None, /):
        """PyTorch's form for batches, which its vmap needs; `vmap` calls the operation for each sample here, so it's never called."""
        return function if function is not None else lambda function: function

    # -- inside: the Function's arguments are all positional, the keyword-only ones last
    def _call_form(self, args):
        """(positional arguments, keyword-only ones by name)"""
        n = len(args) - len(self._keywords)
        return args[:n], dict(zip(self._keywords, args[n:]))

    def _setup_context(self, ctx, inputs, output):
        if self._setup is None:
            return
        positional, keywords = self._call_form(inputs)
        extra = {"keyword_only_inputs": keywords} if keywords else {}
        self._setup(ctx=ctx, inputs=positional, output=output, **extra)

    def _run_backward(self, ctx, *grads):
        if self._backward is None:
            raise RuntimeError(f"Trying to backward through {self._qualname} but no autograd formula was registered. Please use "
                               "register_autograd to add one.")
        found = self._backward(ctx, *grads)
        return (*(found if isinstance(found, (tuple, list)) else (found,)), *[None] * len(self._keywords))

    def _unaliased(self, function):
        """The function of positional arguments; a result that is an argument, or a view of one, is refused."""
        def forward(*args):
            positional, keywords = self._call_form(args)
            result = function(*positional, **keywords)
            for item in result if isinstance(result, tuple) else (result,):
                if isinstance(item, (list, dict)):
                    raise NotImplementedError(f"{self._qualname}: results in a {type(item).__name__} aren't supported: return a tuple of tensors")
                if isinstance(item, TensorBase) and (item._is_view() or any(item is arg for arg in args)):
                    raise RuntimeError(f"{self._qualname}: the result of a custom operation must not be an argument or a view: return a clone")
            return result
        return forward

    def _refuse_without_gradient(self, args):
        for name in self._keywords:
            value = args[list(self._signature.parameters).index(name)]
            if isinstance(value, TensorBase) and value.requires_grad:
                raise NotImplementedError(f"{self._qualname}: keyword-only argument {name!r} gets no gradient: make it positional, or detach it")
        for name, arg in zip(self._signature.parameters, args):
            if isinstance(arg, (list, tuple)) and any(isinstance(a, TensorBase) and a.requires_grad for a in arg):
                raise NotImplementedError(f"{self._qualname}: argument {name!r} is a list of tensors, which get no gradient here: detach them")

    def _write(self, arguments):
        """Run a function that writes to arguments; saved values notice."""
        if is_grad_enabled() and any(isinstance(a, TensorBase) and a.requires_grad for a in arguments.values()):
            raise NotImplementedError(f"{self._qualname}: an operation that writes to its arguments ({', '.join(self._mutates)}) isn't "
                                      "differentiable: call it under no_grad, or detach its arguments")
        try:
            return self._function.apply(*arguments.values())
        finally:
            for name in self._mutates:
                if isinstance(arguments[name], TensorBase):
                    arguments[name]._bump_version()
