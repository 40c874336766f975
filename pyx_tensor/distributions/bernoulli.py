from ..autograd import enable_grad
from ..core.record import namespace as B
from ..core.typeinfo import finfo
from .distribution import Distribution, as_tensors


class Bernoulli(Distribution):
    """1 with probability `probs`, else 0; given by `probs` or by `logits` = log(probs / (1 - probs))."""

    has_enumerate_support = True
    arg_constraints = {"probs": lambda probs: B.logical_and(B.ge(probs, 0), B.le(probs, 1)), "logits": lambda logits: B.eq(logits, logits)}

    def __init__(self, probs=None, logits=None, validate_args=None):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        name = "probs" if logits is None else "logits"
        self.__dict__[name], = as_tensors(probs if logits is None else logits)
        self._given = self.__dict__[name]
        super().__init__(self._given.shape, validate_args=validate_args)

    @enable_grad()              # what is computed once serves draws, which record nothing, and densities, which do
    def __getattr__(self, name):
        if name == "probs":
            self.probs = B.sigmoid(self.logits)
        elif name == "logits":
            eps = finfo(self.probs.dtype).eps
            clamped = self.probs.clamp(eps, 1 - eps)
            self.logits = B.log(clamped) - B.log1p(-clamped)
        else:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute {name!r}")
        return self.__dict__[name]

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = float("nan")
        return mode

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def _draw(self, sample_shape):
        return B.bernoulli(B.expand(self.probs, self._extended_shape(sample_shape)))

    def _supported(self, value):
        return B.logical_or(B.eq(value, 0), B.eq(value, 1))

    def _cross_entropy(self, value):
        """-(value log p + (1 - value) log(1 - p)), from the logits alone."""
        return B.softplus(self.logits) - self.logits * value

    def log_prob(self, value):
        self._check(value)
        return -self._cross_entropy(value)

    def entropy(self):
        return self._cross_entropy(self.probs)

    def enumerate_support(self, expand=True):
        """0 and 1, over a first dim."""
        values = B.arange(2, dtype=self._given.dtype, device=self._given.device).view(-1, *[1] * len(self._batch_shape))
        return B.expand(values, (-1, *self._batch_shape)) if expand else values
