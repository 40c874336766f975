"""Adding at places: by atomics, or in a fixed order where the user asks for the same bits in every run."""
import math

import numpy as np

from .entries import accumulator, contiguous, element_of, entry
from .launcher import number


def _add_rows(backend, target, places, source, shape, alpha=1):
    """Add the rows of `source` (outer, count, inner) to `target` (outer, size, inner), of the accumulator's dtype, in place."""
    element, (outer, count, size, inner) = element_of(backend, "index_add", source), shape
    if not outer * count * inner:
        return
    sizes = [np.int64(n) for n in (outer, count, inner, size)]
    if not backend.deterministic():
        backend.launch.each("scatter", "index_add", element, outer * count * inner, source, places, target, *sizes, number(element, alpha))
        return
    xp = backend.xp
    order = backend.stable_order(places, 0)
    sorted_ = xp.take(places, order)
    begins = xp.concatenate([xp.ones((1,), bool), sorted_[1:] != sorted_[:-1]])
    starts = xp.ascontiguousarray(xp.nonzero(begins)[0].astype(np.int64))
    runs = int(starts.shape[0])
    backend.launch.each("scatter", "index_add_sorted", element, outer * runs * inner, source, places, contiguous(backend, order), starts, target, *sizes,
                        np.int64(runs), number(element, alpha))


def any_outside(backend, places, low, high, ignored=None):
    """Whether an int64 place lies outside of [low, high); waits for the device."""
    if not places.size:
        return False
    found = backend.full((1,), 0, backend.dtypes["int32"], *backend.place_of(places))
    backend.launch.each("scatter", "any_outside", "float32", places.size, contiguous(backend, places), found, np.int64(places.size), np.int64(low),
                        np.int64(high), np.int64(low if ignored is None else ignored))
    return bool(backend.to_numpy(found)[0])


def _wide_copy(backend, a, element):
    """A contiguous copy in the accumulator's dtype."""
    wide = accumulator(backend, element)
    return backend.copy(a) if a.dtype == wide else backend.cast(contiguous(backend, a), wide)


@entry
def index_add(self, a, dim, index, source, alpha=1):
    """`a` plus alpha times the source's slices at the places `index` along dim."""
    element = element_of(self, "index_add", a)
    shape = tuple(a.shape) or (1,)
    count = math.prod(index.shape)
    expected = (*shape[:dim], count, *shape[dim + 1:])
    if math.prod(source.shape) != math.prod(expected):
        raise ValueError(f"index_add: {count} indices, and a source of shape {tuple(source.shape)} for a target of shape {tuple(a.shape)}")
    places = contiguous(self, self._checked_index(self.xp.reshape(index, (-1,)), dim, shape[dim]))
    target = _wide_copy(self, a, element)
    sizes = math.prod(shape[:dim]), count, shape[dim], math.prod(shape[dim + 1:])
    _add_rows(self, target, places, contiguous(self, source, a), sizes, alpha)
    return self.like(target, a)


@entry
def embedding_backward(self, g, indices, rows):
    """The sum of what arrives at each of a matrix's rows."""
    element, columns = element_of(self, "embedding_backward", g), g.shape[-1]
    places = contiguous(self, self.xp.reshape(indices, (-1,)))
    target = self.full((rows, columns), 0, accumulator(self, element), *self.place_of(g))
    _add_rows(self, target, places, contiguous(self, g), (1, places.shape[0], rows, columns))
    return self.like(target, g)


@entry
def scatter_add(self, a, dim, index, src):
    """`a` plus src[i] at the places index[i] along dim."""
    if self.dtype_name(a) not in ("float32", "float64", "float16", "bfloat16"):
        return type(self).scatter_add(self, a, dim, index, src)
    self._check_within(index, dim, a.shape[dim] if a.shape else 1)
    target = _wide_copy(self, a, self.dtype_name(a))
    reached = tuple(index.shape) or (1,)
    source = contiguous(self, self.xp.reshape(src, tuple(src.shape) or (1,))[tuple(slice(n) for n in reached)], a)
    places = self._flat_places(tuple(a.shape) or (1,), dim, self.xp.reshape(index, reached))
    _add_rows(self, target, places, source, (1, places.shape[0], target.size, 1))
    return self.like(target, a)
