"""Negative log likelihood and cross entropy."""
import numpy as np

from .entries import ENTRIES, accumulator, contiguous, element_of, entry, new
from .scatter import any_outside

MEAN, NONE = "mean", "none"


def _classes(backend, target, classes, ignored):
    """The targets as a kernel takes them; IndexError where one isn't a class."""
    target = contiguous(backend, target)
    if backend.dtype_name(target) != "int64":
        raise TypeError("targets of other types are left to the definition")
    if not backend.capturing():      # a graph can't wait for the answer
        if any_outside(backend, target, 0, classes, ignored):
            host = backend.to_numpy(target)
            raise IndexError(f"Target {host[((host < 0) | (host >= classes)) & (host != ignored)][0]} is out of bounds.")
    return target


@entry
def nll_loss(self, logp, target, weight, reduction, ignore_index):
    """(loss, the sum of the samples' factors)."""
    if len(logp.shape) != 2:
        raise TypeError("nll_loss: one sample without a dim is left to the definition")
    element, (rows, n) = element_of(self, "nll_loss", logp), logp.shape
    target, wide = _classes(self, target, n, ignore_index), accumulator(self, element)
    loss, factor = new(self, (rows,), wide, logp), new(self, (rows,), wide, logp)
    if rows:
        self.launch.each("loss", "nll_rows", element, rows, contiguous(self, logp), target, contiguous(self, weight, logp), loss, factor,
                         np.int64(rows), np.int64(n), np.int64(ignore_index))
    total = self.sum(factor, (0,), False)
    if reduction != NONE:
        loss = self.sum(loss, (0,), False)
        loss = self.div(loss, total) if reduction == MEAN else loss
    return self.like(loss, logp), self.like(total, logp)


def _gradient(backend, kernel, g, logp, target, weight, reduction, ignore_index, total, read):
    """Run a kernel of a gradient; `read`: arrays that it gets before the targets."""
    if len(logp.shape) != 2:
        raise TypeError(f"{kernel}: one sample without a dim is left to the definition")
    element, (rows, n) = element_of(backend, kernel, logp), logp.shape
    result = new(backend, logp.shape, logp.dtype, logp)
    if rows * n:
        backend.launch.each(
            "loss", kernel, element, rows * n, contiguous(backend, g, logp), np.int64(reduction == NONE), *read, contiguous(backend, target),
            contiguous(backend, weight, logp), contiguous(backend, total, logp) if reduction == MEAN else None, result, np.int64(rows), np.int64(n),
            np.int64(ignore_index))
    return result


@entry
def nll_loss_backward(self, g, logp, target, weight, reduction, ignore_index, total_weight):
    return _gradient(self, "nll_backward", g, logp, target, weight, reduction, ignore_index, total_weight, ())


@entry
def cross_entropy(self, a, target, weight, reduction, ignore_index):
    """(loss, log probabilities, the sum of the samples' factors) of scores (samples, classes)."""
    if len(a.shape) != 2:
        raise TypeError("cross_entropy: scores of other shapes are left to the definition")
    logp = ENTRIES["log_softmax"](self, a, 1)
    loss, total = nll_loss(self, logp, target, weight, reduction, ignore_index)
    return loss, logp, total


@entry
def cross_entropy_backward(self, g, a, target, weight, reduction, ignore_index, logp, total_weight):
    return _gradient(self, "cross_entropy_backward", g, a, target, weight, reduction, ignore_index, total_weight, (contiguous(self, logp),))
