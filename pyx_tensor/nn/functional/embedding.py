"""Look-up of rows, one by one and in bags."""
from ...autograd import no_grad
from ...core.dtype import by_name
from ...ops import namespace as ops
from ._arguments import takes_tensors


@takes_tensors(2)
def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """The rows of ``weight`` at the indices ``input``.

    Args:
        input: int32 or int64 indices of any shape.
        weight: a matrix, one row per index.
        padding_idx: a row that gets no gradient.
        max_norm, norm_type: rows that are looked up and longer than this are shortened in place.
        scale_grad_by_freq: divide a row's gradient by the number of times that it was looked up.
        sparse: the gradient of ``weight`` is a sparse tensor that lists the rows looked up.
    """
    rows = weight.size(0)
    if padding_idx is None:
        padding_idx = -1
    elif not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    else:
        padding_idx %= rows
    if max_norm is not None:
        _shorten_rows(weight, input, max_norm, norm_type)
    return ops.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


@takes_tensors()
def one_hot(tensor, num_classes=-1):
    """A last dimension of size ``num_classes`` that is 1 at each index of ``tensor`` and 0 elsewhere.

    By default there are as many classes as the greatest index needs.
    """
    if tensor.dtype is not by_name["int64"]:
        raise RuntimeError(f"one_hot is only applicable to index tensor of type LongTensor, but got {tensor.dtype}")
    if tensor.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return ops.empty((*tensor.shape, num_classes), dtype=tensor.dtype, device=tensor.device)
    least, greatest = (bound.item() for bound in ops._aminmax(tensor))
    if least < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = greatest + 1
    elif num_classes <= greatest:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return ops.zeros((*tensor.shape, num_classes), dtype=tensor.dtype, device=tensor.device).scatter_(-1, tensor.unsqueeze(-1), 1)


def _shorten_rows(weight, indices, max_norm, norm_type):
    with no_grad():
        used = indices.reshape(-1)  # a row that is looked up twice is written twice, with one value
        norms = weight[used].norm(norm_type, 1, keepdim=True)
        scale = ops.where(norms > max_norm, max_norm / (norms + 1e-7), ops.ones_like(norms))
        weight[used] = weight[used] * scale


# --- bags -------------------------------------------------------------------------------------------------------------
@takes_tensors(2)
def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False,
                  per_sample_weights=None, include_last_offset=False, padding_idx=None):
    """The sum, mean or maximum of the rows of ``weight`` in each bag of indices, (bags, columns); 0 for an empty bag.

    Args:
        input: (bags, size) or, with ``offsets``, (indices): int32 or int64 indices.
        weight: a matrix, one row per index.
        offsets: where each bag starts in ``input``; with ``include_last_offset`` also where the last one ends.
        max_norm, norm_type: rows that are looked up and longer than this are shortened in place.
        scale_grad_by_freq: divide a row's gradient by the number of times that it was looked up; not for ``mode="max"``.
        mode: 'sum', 'mean' or 'max'.
        sparse: the gradient of ``weight`` is a sparse tensor that lists the rows looked up; not for ``mode="max"``.
        per_sample_weights: a factor for each index, for ``mode="sum"``.
        padding_idx: an index that counts as not there.
    """
    _check_bag(input, offsets, mode, scale_grad_by_freq, sparse, per_sample_weights)
    indices, bags, count = _bags(input, offsets, include_last_offset)
    rows = weight.size(0)
    if indices.numel() and not bool(((indices >= 0) & (indices < rows)).all()):
        place = int(((indices < 0) | (indices >= rows)).nonzero()[0])
        raise RuntimeError(f"Index {place} of input takes value {int(indices[place])} which is not in the valid range [0, {rows})")
    if max_norm is not None:
        _shorten_rows(weight, indices, max_norm, norm_type)
    factors = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise RuntimeError(f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but got {padding_idx}")
        kept = indices != padding_idx % rows
        indices, bags, factors = indices[kept], bags[kept], None if factors is None else factors[kept]
    found = ops.embedding(weight, indices, -1, scale_grad_by_freq, sparse)
    if mode == "max":
        return _greatest(found, bags, count)
    found = found if factors is None else found * factors.unsqueeze(1)
    total = ops.zeros((count, weight.size(1)), dtype=weight.dtype, device=weight.device).index_add(0, bags, found)
    if mode == "sum":
        return total
    sizes = ops.zeros(count, dtype=weight.dtype, device=weight.device).index_add(0, bags, ops.ones_like(bags, dtype=weight.dtype))
    return total / sizes.clamp_min(1).unsqueeze(1)


def _check_bag(input, offsets, mode, scale_grad_by_freq, sparse, per_sample_weights):
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the same shape as the input "
                         f"({input.shape})")
    if input.dim() not in (1, 2):
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if input.dim() == 2 and offsets is not None:
        raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. However, found "
                         f"offsets of type {type(offsets)}")
    if input.dim() == 1 and offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets is not None and offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    if input.dtype.name not in ("int32", "int64"):
        raise RuntimeError("Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
                           f"{input.type()} instead (while checking arguments for embedding_bag)")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
                                  f"mode='{mode}'). Please open a feature request on GitHub.")


def _bags(input, offsets, include_last_offset):
    """(all indices, the bag of each, the number of bags)."""
    if offsets is None:
        bags = ops.arange(input.size(0), device=input.device).repeat_interleave(input.size(1))
        return input.reshape(-1).long(), bags, input.size(0)
    starts = offsets.tolist()
    if include_last_offset and not starts:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if starts and starts[0] != 0:
        raise RuntimeError("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got "
                           f"{starts[0]}")
    if starts and starts[-1] > input.size(0):
        raise RuntimeError(f"offsets[-1] can not be greater than input's length {input.size(0)} but got offsets[-1] of {starts[-1]}")
    if not starts:
        return input[:0].long(), input[:0].long(), 0
    if starts != sorted(starts):
        raise RuntimeError(f"embedding_bag: offsets must not decrease, got {starts}")
    ends = starts[1:] if include_last_offset else [*starts[1:], input.size(0)]
    sizes = ops.tensor([end - start for start, end in zip(starts, ends)], device=input.device, dtype=by_name["int64"])
    bags = ops.arange(len(ends), device=input.device).repeat_interleave(sizes)
    return input[:bags.numel()].long(), bags, len(ends)


def _greatest(found, bags, count):
    """The largest number of each column in each bag; equal ones stand for the first."""
    sizes = ops.zeros(count, dtype=bags.dtype, device=bags.device).index_add(0, bags, ops.ones_like(bags))
    most = int(sizes.max()) if count else 0
    if not most:
        return found.sum() + found.new_zeros((count, found.size(1)))
    rank = ops.arange(bags.numel(), device=bags.device) - (sizes.cumsum(0) - sizes)[bags]
    padded = found.new_full((count, most, found.size(1)), -float("inf")).index_put((bags, rank), found)
    return padded.max(1).values.masked_fill((sizes == 0).unsqueeze(1), 0)
