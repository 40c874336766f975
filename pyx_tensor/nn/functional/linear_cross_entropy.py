"""Cross entropy of a linear map."""
from ...ops import namespace as ops
from ._arguments import takes_tensors
from .classification import cross_entropy


class LinearCrossEntropyOptions:
    """How PyTorch cuts :func:`linear_cross_entropy` into pieces. Taken for its sake; here it makes no difference to the result."""

    def __init__(self, allow_retain_graph=False, batch_chunk_size=None, chunking_method="auto", acc_policy="auto", acc_dtype=None):
        if chunking_method is not None and chunking_method.partition(":")[0] not in ("auto", "aspect_ratio"):
            raise ValueError(f"invalid chunking_method: {chunking_method!r}")
        self.allow_retain_graph, self.batch_chunk_size = allow_retain_graph, batch_chunk_size
        self.chunking_method, self.acc_policy, self.acc_dtype = chunking_method, acc_policy, acc_dtype


@takes_tensors(3)
def linear_cross_entropy(input, linear_weight, target, *, linear_bias=None, weight=None, reduction="mean", ignore_index=None,
                         label_smoothing=0.0, options=None):
    """:func:`cross_entropy` of a linear map of ``input`` (N, in) or (in).

    Args:
        linear_weight: (C, in), or (C, d1, …, dk, in) for scores (N, C, d1, …, dk). linear_bias: this shape without its last dimension.
        options: :class:`LinearCrossEntropyOptions`, without an effect.
        target, weight, reduction, ignore_index, label_smoothing: as for :func:`cross_entropy`.
    """
    _check_linear_scores(input, linear_weight, linear_bias)
    if target.is_floating_point() and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    rows = linear_weight.reshape(-1, linear_weight.size(-1))
    scores = ops.linear(input, rows, None if linear_bias is None else linear_bias.reshape(-1))
    scores = scores.reshape(*input.shape[:-1], *linear_weight.shape[:-1])
    return cross_entropy(scores, target, weight, ignore_index=-100 if ignore_index is None else ignore_index, reduction=reduction,
                         label_smoothing=label_smoothing)


def _check_linear_scores(input, weight, bias):
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {weight.dim()}")
    if input.size(-1) != weight.size(-1):
        raise RuntimeError(f"expected equal input and linear_weight last dimensions (in_features), got {input.size(-1)} and {weight.size(-1)}, "
                           "respectively")
    if weight.dim() > 2 and input.dim() == 1:
        raise RuntimeError(f"K-dimensional loss defined by linear_weight shape {tuple(weight.shape)} requires batched input, (N, {weight.size(-1)}), "
                           f"got unbatched input with shape {tuple(input.shape)}")
    if bias is not None and bias.shape != weight.shape[:-1]:
        raise RuntimeError(f"expected linear_bias shape {tuple(weight.shape[:-1])}, got {tuple(bias.shape)}")
