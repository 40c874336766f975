"""Losses between an input and a target of one shape, with their reduction: one operation each, so that one kernel can
do it. `reduction` is 'mean', 'sum' or 'none'."""
from ..core.definitions import op
from ..core.signature import T


_OPTIONS = dict(promote="common", method=False, hidden=True)


def _reduced(B, loss, reduction):
    if reduction == "none":
        return loss
    return B.mean(loss) if reduction == "mean" else B.sum(loss)


def _each(B, g, input, reduction):
    """The gradient that every element of the loss gets, which may stand for all in one number."""
    return B.div(g, max(input.numel(), 1)) if reduction == "mean" else g


@op(**_OPTIONS, vjp=dict(
    input=lambda B, g, input, target, reduction: B.mse_loss_backward(g, input, target, reduction),
    target=lambda B, g, input, target, reduction: B.mse_loss_backward(g, target, input, reduction)))
def mse_loss(B, input: T, target: T, reduction="mean"):
    """`(input - target)²`."""
    return _reduced(B, B.square(B.sub(input, target)), reduction)


@op(**_OPTIONS, entry="mse_loss_backward")
def mse_loss_backward(B, g: T, input: T, target: T, reduction):
    """The gradient of mse_loss's input."""
    return B.mul(B.sub(input, target), B.mul(_each(B, g, input, reduction), 2))


@op(**_OPTIONS, vjp=dict(
    input=lambda B, g, input, target, reduction: B.mul(B.sign(B.sub(input, target)), _each(B, g, input, reduction)),
    target=lambda B, g, input, target, reduction: B.mul(B.sign(B.sub(target, input)), _each(B, g, input, reduction))))
def l1_loss(B, input: T, target: T, reduction="mean"):
    """`|input - target|`."""
    return _reduced(B, B.abs(B.sub(input, target)), reduction)


def _bounded(B, difference, beta):
    """The slope of smooth L1: in proportion up to `beta`, then 1."""
    return B.clamp(B.div(difference, beta), -1, 1)


@op(**_OPTIONS, vjp=dict(
    input=lambda B, g, input, target, reduction, beta: B.mul(
        _bounded(B, B.sub(input, target), beta), _each(B, g, input, reduction)),
    target=lambda B, g, input, target, reduction, beta: B.mul(
        _bounded(B, B.sub(target, input), beta), _each(B, g, input, reduction))))
def smooth_l1_loss(B, input: T, target: T, reduction="mean", beta=1.0):
    """`d² / (2 beta)` where `d = |input - target|` is less than `beta`, else `d - beta / 2`."""
    distance = B.abs(B.sub(input, target))
    squared = B.mul(B.square(distance), 0.5 / beta)
    return _reduced(B, B.where(B.lt(distance, beta), squared, B.sub(distance, 0.5 * beta)), reduction)


@op(promote="common", method=False, hidden=True)
def huber_loss(B, input: T, target: T, reduction="mean", delta=1.0):
    """`d² / 2` where `d = |input - target|` is at most `delta`, else `delta · (d - delta / 2)`."""
    return B.mul(B.smooth_l1_loss(input, target, reduction, delta), delta)


def _bce_vjp(B, g, input, target, reduction):
    variance = B.clamp(B.mul(B.sub(1, input), input), 1e-12, None)
    return B.mul(B.div(B.sub(input, target), variance), _each(B, g, input, reduction))


@op(**_OPTIONS, vjp=dict(
    input=_bce_vjp,
    target=lambda B, g, input, reduction: B.mul(B.sub(_log(B, B.sub(1, input)), _log(B, input)), _each(B, g, input, reduction))))
def binary_cross_entropy(B, input: T, target: T, reduction="mean"):
    """`-(target log(input) + (1 - target) log(1 - input))`; logarithms below -100 count as -100."""
    gain = B.add(B.mul(target, _log(B, input)), B.mul(B.sub(1, target), B.clamp(B.log1p(B.neg(input)), -100, None)))
    return _reduced(B, B.neg(gain), reduction)


def _log(B, probability):
    return B.clamp(B.log(probability), -100, None)


@op(**_OPTIONS, vjp=dict(
    input=lambda B, g, input, target, reduction: B.mul(B.sub(B.sigmoid(input), target), _each(B, g, input, reduction)),
    target=lambda B, g, input, reduction: B.neg(B.mul(input, _each(B, g, input, reduction)))))
def binary_cross_entropy_with_logits(B, input: T, target: T, reduction="mean"):
    """`binary_cross_entropy` of `sigmoid(input)`, exact for large inputs."""
    return _reduced(B, B.sub(B.mul(B.sub(1, target), input), B.logsigmoid(input)), reduction)
