"""Switching recording off and on, for a block or a function."""
import functools

from ..core.mode import MASKS, is_grad_enabled, is_inference_mode_enabled, swap_bits

_NO_GRAD, _INFERENCE = MASKS["no_grad"], MASKS["inference"]


class _Mode:
    """A block or decorator that sets bits of the mode word and restores them (nesting, generators too)."""

    mask = bits = 0

    def __enter__(self):
        self._before = (*getattr(self, "_before", ()), swap_bits(self.mask, self.bits))

    def __exit__(self, *exc):
        *self._before, before = self._before
        swap_bits(self.mask, before)

    def clone(self):
        return type(self)()

    def __call__(self, function):
        import inspect
        if inspect.isclass(function):
            raise TypeError(f"{type(self).__name__} decorates functions and methods, not classes")
        if inspect.isgeneratorfunction(function):
            return self._around_generator(function)

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with self.clone():
                return function(*args, **kwargs)
        return wrapped

    def _around_generator(self, function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            generator = function(*args, **kwargs)
            resume, sent = generator.send, None
            while True:
                try:
                    with self.clone():
                        value = resume(sent)
                except StopIteration as stop:
                    return stop.value
                try:
                    resume, sent = generator.send, (yield value)
                except GeneratorExit:
                    with self.clone():
                        generator.close()
                    raise
                except BaseException as error:
                    resume, sent = generator.throw, error
        return wrapped


class no_grad(_Mode):
    """Operations in this block (or decorated function) record no gradients."""

    mask = bits = _NO_GRAD

    def __new__(cls, function=None):
        mode = super().__new__(cls)
        return mode if function is None else mode(function)


class enable_grad(_Mode):
    """Operations in this block record gradients, inside a `no_grad` block too."""

    mask, bits = _NO_GRAD, 0

    def __new__(cls, function=None):
        mode = super().__new__(cls)
        return mode if function is None else mode(function)


class set_grad_enabled(_Mode):
    """Recording on or off: takes effect at once, and for a block where it is used as one."""

    mask = _NO_GRAD

    def __init__(self, mode):
        self.mode = bool(mode)
        self.bits = 0 if mode else _NO_GRAD
        self._first = swap_bits(self.mask, self.bits)

    def __enter__(self):
        self._before = (*getattr(self, "_before", ()), self._first)
        swap_bits(self.mask, self.bits)

    def __call__(self, function):
        swap_bits(self.mask, self._first)
        return super().__call__(function)

    def clone(self):
        return set_grad_enabled(self.mode)


class inference_mode(_Mode):
    """Like `no_grad`, and the results can never take part in recording."""

    mask = _NO_GRAD | _INFERENCE

    def __init__(self, mode=True):
        self.mode = mode
        self.bits = self.mask if mode is True or callable(mode) else 0

    def __new__(cls, mode=True):
        made = super().__new__(cls)
        if callable(mode):
            made.__init__(True)
            return made(mode)
        return made

    def clone(self):
        return inference_mode(self.mode)
