from ..autograd import enable_grad
from ..core.record import namespace as B
from ..core.typeinfo import finfo
from .distribution import Distribution


class Categorical(Distribution):
    """0 to K-1, with probabilities proportional to `probs`, or to exp(`logits`), along the last dim."""

    has_enumerate_support = True
    arg_constraints = {"probs": lambda probs: B.logical_and(B.ge(probs, 0), B.lt(B.abs(B.sum(probs, -1, True) - 1), 1e-4)),
                       "logits": lambda logits: B.eq(logits, logits)}

    def __init__(self, probs=None, logits=None, validate_args=None):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        given = probs if logits is None else logits
        if given.ndim < 1:
            raise ValueError(f"`{'probs' if logits is None else 'logits'}` parameter must be at least one-dimensional.")
        if logits is None:
            self.probs = probs / B.sum(probs, -1, True)
        else:
            self.logits = logits - B.logsumexp(logits, -1, True)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    @enable_grad()              # what is computed once serves draws, which record nothing, and densities, which do
    def __getattr__(self, name):
        if name == "probs":
            self.probs = B.softmax(self.logits, -1)
        elif name == "logits":
            eps = finfo(self.probs.dtype).eps
            self.logits = B.log(self.probs.clamp(eps, 1 - eps))
        else:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute {name!r}")
        return self.__dict__[name]

    @property
    def mean(self):
        return B.full(tuple(self._batch_shape), float("nan"), dtype=self.probs.dtype, device=self.probs.device)

    variance = mean

    @property
    def mode(self):
        return B.argmax(self.probs, -1)

    def _draw(self, sample_shape):
        n = 1
        for size in sample_shape:
            n *= size
        rows = B.reshape(self.probs, (-1, self._num_events))
        return B.reshape(B.t(B.multinomial(rows, n, True)), self._extended_shape(sample_shape))

    def _supported(self, value):
        return B.logical_and(B.ge(value, 0), B.lt(value, self._num_events))

    def log_prob(self, value):
        self._check(value)
        index = value.long().unsqueeze(-1)
        shape = B.broadcast_shapes(index.shape[:-1], self.logits.shape[:-1])
        return B.gather(B.expand(self.logits, (*shape, self._num_events)), -1, B.expand(index, (*shape, 1))).squeeze(-1)

    def entropy(self):
        return -B.sum(self.logits.clamp(min=finfo(self.logits.dtype).min) * self.probs, -1)

    def enumerate_support(self, expand=True):
        """0 to K-1, over a first dim."""
        values = B.arange(self._num_events, device=self.probs.device).view(-1, *[1] * len(self._batch_shape))
        return B.expand(values, (-1, *self._batch_shape)) if expand else values
