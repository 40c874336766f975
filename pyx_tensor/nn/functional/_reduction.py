"""The ``reduction`` argument of the losses."""
import warnings

REDUCTIONS = ("none", "mean", "sum")


def resolve_reduction(reduction, size_average=None, reduce=None):
    """``reduction`` after checking, or what the deprecated pair (size_average, reduce) stands for."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        warnings.warn("size_average and reduce args will be deprecated, "
                      f"please use reduction='{reduction}' instead.", stacklevel=3)
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def apply_reduction(loss, reduction):
    """The elementwise ``loss`` as it is, or its mean or sum."""
    if reduction == "none":
        return loss
    return loss.mean() if reduction == "mean" else loss.sum()
