"""What several distributions compute with."""
import math
from numbers import Number
from operator import attrgetter

from ..autograd import enable_grad
from ..core.record import namespace as B
from ..core.size import Size
from ..core.tensor import TensorBase
from ..core.typeinfo import finfo

EULER = 0.57721566490153286060       # -digamma(1)
HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def broadcast_all(*values):
    """Tensors and numbers as tensors of one shape; numbers take the tensors' dtype and device.

    Raises ValueError for anything else.
    """
    if not all(isinstance(value, (TensorBase, Number)) for value in values):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__.")
    like = next((value for value in values if isinstance(value, TensorBase)), None)
    options = {} if like is None else {"dtype": like.dtype, "device": like.device}
    tensors = [value if isinstance(value, TensorBase) else B.tensor(float(value), **options) for value in values]
    shape = tuple(B.broadcast_shapes(*[t.shape for t in tensors]))
    return [B.expand(t, shape) for t in tensors]


class lazy_property:
    """A property that is computed when it is first asked for and then kept.

    It is computed with gradients: what is computed for a draw, which records nothing, also serves densities, which do.
    """

    def __init__(self, compute):
        self.compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        with enable_grad():
            value = instance.__dict__[self.name] = self.compute(instance)
        return value


def part(path):
    """A property that is an attribute of a distribution's part: part("base_dist.loc")."""
    return property(attrgetter(path), doc=f"The part's: `{path}`.")


def one_of(**given):
    """(name, value) of the one argument that isn't None; ValueError where none or several are given."""
    found = [(name, value) for name, value in given.items() if value is not None]
    if len(found) != 1:
        names = [f"`{name}`" for name in given]
        raise ValueError(f"Either {', '.join(names[:-1])} or {names[-1]} must be specified, but not both." if len(names) == 2 else
                         f"Exactly one of {', '.join(names[:-1])} or {names[-1]} may be specified.")
    return found[0]


def clamp_probs(probs):
    """Probabilities, kept off 0 and 1 by the dtype's epsilon."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)


def probs_to_logits(probs, is_binary=False):
    """log(p / (1 - p)) where `is_binary`, else log(p), of clamped probabilities."""
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


def logits_to_probs(logits, is_binary=False):
    """The inverse of `probs_to_logits`: a sigmoid, or a softmax along the last dim."""
    return B.sigmoid(logits) if is_binary else B.softmax(logits, -1)


def sum_rightmost(value, dim):
    """The sum over the `dim` last dims."""
    return value if dim == 0 else value.reshape((*value.shape[:value.ndim - dim], -1)).sum(-1)



def standard_normal(shape, like):
    """Normal draws of a dtype and device, in the order of PyTorch's stream."""
    options = {"dtype": like.dtype, "device": like.device}
    return B.normal(B.zeros(tuple(shape), **options), B.ones(tuple(shape), **options))


def uniform(shape, like, low=None, high=1.0):
    """Draws from [low, high); without `low` as `rand`, from [0, 1)."""
    if low is None:
        return B.rand(tuple(shape), dtype=like.dtype, device=like.device)
    return B.empty(tuple(shape), dtype=like.dtype, device=like.device).uniform_(low, high)


def as_size(shape):
    return shape if isinstance(shape, Size) else Size(shape)


def nan_like(tensor):
    return B.full_like(tensor, math.nan)



def lbeta(a, b):
    """The logarithm of the beta function."""
    return a.lgamma() + b.lgamma() - (a + b).lgamma()
