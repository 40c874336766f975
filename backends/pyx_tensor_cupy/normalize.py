"""Layer and batch normalisation, and their gradients."""
import math

import numpy as np

from .entries import accumulator, contiguous, element_of, entry, new
from .launcher import THREADS, blocks_for, number, threads_for_row

MOST_ROWS = 1 << 16
ROWS_OF_PART = 64         # rows whose gradients of weight and bias one thread adds up, at least
MOST_PARTS = 128
BLOCKS_WANTED = 1024      # that statistics of channels are spread over
MOMENTS = 3               # numbers of a kernel's Moments


# --- rows ---------------------------------------------------------------------------------------------------------
def _as_rows(a, normalized_ndim):
    lead = len(a.shape) - normalized_ndim
    return math.prod(a.shape[:lead]), math.prod(a.shape[lead:]), tuple(a.shape[:lead])


@entry
def layer_norm(self, a, normalized_ndim, weight, bias, eps):
    """(y, mean, rstd) over the last dims; the statistics keep those dims with size 1."""
    element, (rows, n, lead) = element_of(self, "layer_norm", a), _as_rows(a, normalized_ndim)
    shape = tuple(a.shape)[len(lead):]
    for parameter in (weight, bias):
        if parameter is not None and tuple(parameter.shape) != shape:
            raise ValueError(f"layer_norm: a parameter has shape {tuple(parameter.shape)}, expected {shape}")
    wide = accumulator(self, element)
    y, (mean, rstd) = new(self, a.shape, a.dtype, a), (new(self, lead + (1,) * normalized_ndim, wide, a) for _ in range(2))
    if not a.size:
        return y, self.fill_(mean, 0), self.fill_(rstd, math.nan)
    self.launch("norm", "layer_norm", element, (min(rows, MOST_ROWS),), (threads_for_row(n),), contiguous(self, a), contiguous(self, weight, a),
                contiguous(self, bias, a), y, mean, rstd, np.int64(rows), np.int64(n), number(element, eps))
    return y, mean, rstd


@entry
def layer_norm_backward(self, g, a, mean, rstd, weight, normalized_ndim, needs, eps):
    """The gradients of input, weight and bias, each None where it isn't needed."""
    element, (rows, n, lead) = element_of(self, "layer_norm_backward", a), _as_rows(a, normalized_ndim)
    shape = tuple(a.shape)[len(lead):]
    g, a = contiguous(self, g, a), contiguous(self, a)
    wide = accumulator(self, element)
    mean, rstd = (contiguous(self, x if x.dtype == wide else self.cast(x, wide)) for x in (mean, rstd))
    to_input = to_weight = to_bias = None
    if needs[0]:
        to_input = new(self, a.shape, a.dtype, a)
        if a.size:
            self.launch("norm", "layer_norm_input", element, (min(rows, MOST_ROWS),), (threads_for_row(n),), g, a, mean, rstd, contiguous(self, weight, a),
                        to_input, np.int64(rows), np.int64(n))
    if needs[1] or needs[2]:
        parts = blocks_for(rows, ROWS_OF_PART, MOST_PARTS)
        sums = [new(self, (parts, n), wide, a) for _ in range(2)]
        if n:
            self.launch("norm", "layer_norm_parameters", element, (blocks_for(n), parts), (THREADS,), g, a, mean, rstd, *sums, np.int64(rows), np.int64(n),
                        np.int64(math.ceil(rows / parts)))
        to_weight, to_bias = (self.xp.reshape(self.like(self.sum(s, (0,), False), a), shape) if need else None for s, need in zip(sums, needs[1:]))
    return to_input, to_weight, to_bias


# --- channels -----------------------------------------------------------------------------------------------------
class _Channels:
    """How an array (samples, channels, *) is spread over blocks."""

    def __init__(self, a):
        self.sizes = samples, channels, positions = a.shape[0], a.shape[1], math.prod(a.shape[2:])
        self.count = samples * positions
        self.channels = channels
        self.parts = max(1, min(blocks_for(self.count, 4 * THREADS), BLOCKS_WANTED // max(channels, 1)))
        self.grid = channels, self.parts
        self.arguments = [np.int64(size) for size in self.sizes]


def _vectors(backend, wide, *arrays):
    return [None if x is None else contiguous(backend, x if x.dtype == wide else backend.cast(x, wide)) for x in arrays]


@entry
def batch_norm(self, a, running_mean, running_var, weight, bias, training, eps):
    """(y, mean, var, and these again for the gradient) of channels, the statistics in a kernel's accumulator."""
    element, wide = element_of(self, "batch_norm", a), None
    if any(p is not None and p.dtype != a.dtype for p in (weight, bias)) and element != "float32":      # half numbers, float parameters
        y, *statistics = batch_norm(self, self.cast(a, self.dtypes["float32"]), running_mean, running_var, weight, bias, training, eps)
        return self.like(y, a), *statistics
    wide, spread, a = accumulator(self, element), _Channels(a), contiguous(self, a)
    if training:
        mean, var = (new(self, (spread.channels,), wide, a) for _ in range(2))
        if a.size:
            moments = new(self, (spread.parts, spread.channels, MOMENTS), wide, a)
            self.launch("norm", "channel_moments", element, spread.grid, (THREADS,), a, moments, *spread.arguments)
            self.launch.each("norm", "channel_statistics", element, spread.channels, moments, mean, var, np.int64(spread.channels), np.int64(spread.parts))
        else:
            self.fill_(mean, math.nan), self.fill_(var, math.nan)
    else:
        mean, var = (self.copy(x) for x in _vectors(self, wide, running_mean, running_var))
    y = new(self, a.shape, a.dtype, a)
    if a.size:
        self.launch("norm", "channel_normalise", element, spread.grid, (THREADS,), a, mean, var, contiguous(self, weight, a), contiguous(self, bias, a), y,
                    *spread.arguments, number(element, eps))
    return y, mean, var, mean, var


@entry
def batch_norm_backward(self, g, a, mean, var, weight, training, eps, needs):
    """The gradients of input (None where it isn't needed), weight and bias."""
    element = element_of(self, "batch_norm_backward", a)
    if weight is not None and weight.dtype != a.dtype and element != "float32":
        single = self.dtypes["float32"]
        to_input, *rest = batch_norm_backward(self, self.cast(g, single), self.cast(a, single), mean, var, weight, training, eps, needs)
        return to_input if to_input is None else self.like(to_input, a), *rest
    wide, spread = accumulator(self, element), _Channels(a)
    g, a = contiguous(self, g, a), contiguous(self, a)
    mean, var = _vectors(self, wide, mean, var)
    sums = self.full((2, spread.channels), 0, wide, *self.place_of(a))
    if a.size:
        parts = new(self, (2, spread.parts, spread.channels), wide, a)
        self.launch("norm", "channel_sums", element, spread.grid, (THREADS,), g, a, mean, parts, *spread.arguments)
        sums = self.xp.ascontiguousarray(self.sum(parts, (1,), False))
    sum_, moment = sums[0], sums[1]
    to_input = None
    if needs[0]:
        to_input = new(self, a.shape, a.dtype, a)
        if a.size:
            self.launch("norm", "channel_backward", element, spread.grid, (THREADS,), g, a, mean, var, sum_ if training else None, moment if training else None,
                        contiguous(self, weight, a), to_input, *spread.arguments, number(element, eps))
    rstd = self.xp.reciprocal(self.xp.sqrt(var + wide.type(eps)))
    return to_input, moment * rstd, self.copy(sum_)


@entry
def update_statistics_(self, running, batch, momentum, factor):
    """running = (1 - momentum) running + momentum factor batch, in place."""
    if tuple(running.shape) != tuple(batch.shape):
        raise ValueError(f"update_statistics_: running statistics of shape {tuple(running.shape)}, the batch's of shape {tuple(batch.shape)}")
    element = element_of(self, "update_statistics_", running)
    if not running.size:
        return
    target = contiguous(self, running)
    self.launch.each("norm", "update_statistics", element, running.size, target, *_vectors(self, accumulator(self, element), batch), np.int64(running.size),
                     number(element, 1 - momentum), number(element, momentum * factor))
    if target is not running:
        self.copy_(running, target)
