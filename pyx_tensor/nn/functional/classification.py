"""Losses between scores of classes and targets, and between vectors; see ``loss`` for ``reduction``."""
from ...core.autocast import computed_in_float32
from ...core.dtype import by_name
from ...core.naming import short_name
from ...ops import namespace as ops
from ._arguments import takes_tensors
from ._reduction import REDUCTIONS, apply_reduction, resolve_reduction
from .activation import logsigmoid
from .distance import pairwise_distance

_LONG = by_name["int64"]
_INDEX_TYPES = (_LONG, by_name["uint8"])


def _needs_classes(name, target):
    if target.dtype is not _LONG:
        raise RuntimeError(f"{name}: expected scalar type Long but found {target.dtype} for the target")


@takes_tensors(2)
def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """-weight[t] · input[t] for log probabilities ``input`` (N, C, *) or (C) and classes t = ``target`` (N, *) or ().

    Targets equal to ``ignore_index`` count as nothing; the mean is over the weights of the others.
    """
    return _loss_of_classes(ops.nll_loss, input, target, weight, ignore_index, resolve_reduction(reduction, size_average, reduce))


@takes_tensors(2)
def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean",
                  label_smoothing=0.0):
    """:func:`nll_loss` of the log softmax of ``input``.

    Args:
        input: scores, not normalised, of shape (N, C, *) or (C).
        target: classes (N, *) or (), or probabilities of the input's shape.
        weight: a factor for each class.
        ignore_index: a class that counts as nothing.
        label_smoothing: how much of each target is spread over all classes.
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    class_dim = 0 if input.ndim == 1 else 1
    if input.ndim == target.ndim and input.shape == target.shape:
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing, class_dim)
    if label_smoothing == 0:
        return _loss_of_classes(ops.cross_entropy, input, target, weight, ignore_index, reduction)
    log_probs = ops.log_softmax(input, class_dim)
    loss = _loss_of_classes(ops.nll_loss, log_probs, target, weight, ignore_index, reduction)
    spread = _spread_loss(log_probs, target, weight, ignore_index, reduction, class_dim)
    return (1 - label_smoothing) * loss + label_smoothing / input.size(class_dim) * spread


@takes_tensors(2)
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """The negative log likelihood of label sequences under all their alignments (Graves et al., 2006).

    Args:
        log_probs: (T, N, C) or (T, C), logarithms of probabilities. targets: (N, S), or all sequences one after another.
        input_lengths, target_lengths: N numbers each.
        blank: the class that stands for no label.
        reduction: ``"mean"`` divides each loss by its target's length first.
        zero_infinity: infinite losses, of inputs that are too short, and their gradients count as 0.
    """
    return ops.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, REDUCTIONS.index(resolve_reduction(reduction)), zero_infinity)


@takes_tensors(2)
@computed_in_float32
def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Σ_j max(0, margin - x_t + x_j)ᵖ / C over the classes j other than the target t."""
    reduction = resolve_reduction(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if input.dim() not in (0, 1, 2) or input.dim() == 2 and not input.size(1):
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}")
    _needs_classes("multi_margin_loss", target)
    count = input.size(0) if input.dim() == 2 else 1
    if target.dim() > 1 or target.numel() != count:
        raise RuntimeError(f"inconsistent target size, expected {count} but got {list(target.shape)}")
    classes_of_input = input.size(-1) if input.dim() else 1
    scores, classes = input.reshape(-1, classes_of_input), target.reshape(-1, 1)
    excess = (margin - scores.gather(1, classes) + scores).clamp_min(0) ** p
    if weight is not None:
        if weight.dim() > 1 or weight.numel() != classes_of_input:
            raise RuntimeError(f"inconsistent weight size, expected {classes_of_input} but got {list(weight.shape)}")
        excess = excess * weight[classes]
    loss = excess.scatter(1, classes, 0.0).sum(1) / classes_of_input
    return apply_reduction(loss.reshape(input.shape[:-1]), reduction)


@takes_tensors(2)
@computed_in_float32
def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """Σ max(0, 1 - (x_i - x_j)) / C over target classes i and all other classes j.

    A row of ``target`` (N, C) or (C) lists the classes and ends at the first negative number.
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if input.dim() > 2 or input.shape[1:] and not input.size(1):
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}")
    if target.shape != input.shape and not (input.dim() < 2 and target.dim() < 2 and target.numel() == input.numel()):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    _needs_classes("multilabel_margin_loss", target)
    classes_of_input = input.size(-1) if input.dim() else 1
    scores, listed = input.reshape(-1, classes_of_input), target.reshape(-1, classes_of_input)
    valid = (listed >= 0).cumprod(1).bool()
    classes = listed.clamp_min(0)
    is_target = ops.zeros_like(listed).scatter_add(1, classes, valid.to(listed.dtype)) > 0
    excess = (1 - scores.gather(1, classes).unsqueeze(2) + scores.unsqueeze(1)).clamp_min(0)
    counted = valid.unsqueeze(2) & ~is_target.unsqueeze(1)
    loss = excess.masked_fill(~counted, 0).sum((1, 2)) / classes_of_input
    return apply_reduction(loss.reshape(input.shape[:-1]), reduction)


@takes_tensors(2)
def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean over classes of the binary cross entropy of sigmoid(input) with 0/1 targets."""
    reduction = resolve_reduction(reduction, size_average, reduce)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    loss = loss if weight is None else loss * weight
    return apply_reduction(loss.mean(-1), reduction)


@takes_tensors(3)
@computed_in_float32
def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1, of vectors (N, D) or (D)."""
    reduction = resolve_reduction(reduction, size_average, reduce)
    if target.dim() not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.dim() != target.dim() + 1 or input2.dim() != input1.dim():
        raise RuntimeError(f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but found inputs "
                           f"with sizes {list(input1.shape)} and {list(input2.shape)}.")
    epsilon = 1e-12
    square1 = input1.square().sum(-1) + epsilon
    square2 = input2.square().sum(-1) + epsilon
    cosine = (input1 * input2).sum(-1) / (square1 * square2).sqrt()
    zero = ops.zeros_like(cosine)
    loss = ops.where(target == 1, 1 - cosine, zero) + ops.where(target == -1, (cosine - margin).clamp_min(0), zero)
    return apply_reduction(loss, reduction)


@takes_tensors(3)
@computed_in_float32
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None,
                        reduce=None, reduction="mean"):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) with d the :func:`pairwise_distance`.

    With ``swap`` the negative distance is the smaller of those from anchor and from positive (Balntas et al., 2016).
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of "
                           f"dimensions, but got: anchor {anchor.dim()}D, positive {positive.dim()}D, "
                           f"and negative {negative.dim()}D inputs")
    return _triplet(lambda a, b: pairwise_distance(a, b, p, eps), anchor, positive, negative, margin, swap, reduction)


@takes_tensors(3)
def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False,
                                      reduction="mean"):
    """:func:`triplet_margin_loss` with a distance of one's own."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    return _triplet(distance, anchor, positive, negative, margin, swap, resolve_reduction(reduction))


def _triplet(distance, anchor, positive, negative, margin, swap, reduction):
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = ops.minimum(far, distance(positive, negative))
    return apply_reduction((near - far + margin).clamp_min(0), reduction)


def _loss_of_classes(loss_of_rows, input, target, weight, ignore_index, reduction):
    """A loss of rows (samples, classes) and class indices, for an input (N, C, *) or (C)."""
    if input.ndim == 2 and target.ndim == 1 and target.dtype is _LONG and weight is None and input.size(0) == target.size(0):
        return loss_of_rows(input, target, None, reduction, ignore_index)
    shape = tuple(input.shape)
    _check_classes(shape, target)
    classes = shape[min(len(shape) - 1, 1)]
    _check_types(classes, target, weight)
    target = target if target.dtype is _LONG else target.long()
    if len(shape) == 2:
        return loss_of_rows(input, target, weight, reduction, ignore_index)
    rows = input.reshape(1, -1) if len(shape) == 1 else input.movedim(1, -1).reshape(-1, classes)
    loss = loss_of_rows(rows, target.reshape(-1), weight, reduction, ignore_index)
    return loss.reshape(target.shape) if reduction == "none" else loss


def _check_classes(shape, target):
    """Raise unless ``target`` has this shape without its dimension of classes."""
    if not shape:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if len(shape) == 1:
        if target.dim() > 1 or target.numel() != 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.numel()}")
        return
    found, expected = tuple(target.shape), (shape[0], *shape[2:])
    if found[:1] != expected[:1]:
        raise ValueError(f"Expected input batch_size ({shape[0]}) to match target batch_size ({found[0] if found else 1}).")
    if found != expected:
        raise RuntimeError(f"Expected target size {list(expected)}, got {list(found)}")


def _check_types(classes, target, weight):
    """Raise unless ``target`` holds class indices and ``weight`` one factor for each class."""
    if target.dtype not in _INDEX_TYPES:
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {short_name(target)}")
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(f"weight tensor should be defined either for all {classes} classes or no classes but got "
                           f"weight tensor of shape: {list(weight.shape)}")


def _soft_cross_entropy(input, target, weight, reduction, label_smoothing, class_dim):
    """Cross entropy with targets that are probabilities."""
    if not target.is_floating_point():
        raise RuntimeError("Expected floating point type for target with class probabilities, "
                           f"got {short_name(target)}")
    classes = input.size(class_dim)
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    terms = ops.log_softmax(input, class_dim) * target
    if weight is not None:
        terms = terms * _along(weight, class_dim, input)
    if reduction == "none":
        return -terms.sum(class_dim)
    return -terms.sum() / (input.numel() / classes if reduction == "mean" else 1)


def _spread_loss(log_probs, target, weight, ignore_index, reduction, class_dim):
    """The loss with a target spread over all classes, reduced as :func:`nll_loss` does."""
    weighted = log_probs if weight is None else log_probs * _along(weight, class_dim, log_probs)
    loss = -weighted.sum(class_dim)
    ignored = (target == ignore_index).reshape(loss.shape)
    loss = loss.masked_fill(ignored, 0)
    if reduction != "mean":
        return apply_reduction(loss, reduction)
    if weight is None:
        return loss.sum() / (~ignored).sum()
    factors = weight[target.reshape(loss.shape).masked_fill(ignored, 0)]
    return loss.sum() / factors.masked_fill(ignored, 0).sum()


def _along(weight, class_dim, input):
    return weight.reshape(-1, *(1 for _ in input.shape[class_dim + 1:]))
