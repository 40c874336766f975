"""Linear maps and look-up of rows."""
from ...core.dtype import by_name
from ...ops import namespace as ops
from ...autograd import no_grad

linear = ops.linear


def bilinear(input1, input2, weight, bias=None):
    """y_k = Σ_ij x1_i W_kij x2_j + b_k over the last dimensions of ``input1`` and ``input2``."""
    out_features, in1_features, in2_features = weight.shape
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(f"bilinear(): input batch dimensions do not match: got {list(input1.shape)} "
                           f"and {list(input2.shape)}")
    for place, (input, size) in enumerate(((input1, in1_features), (input2, in2_features)), 1):
        if input.size(-1) != size:
            raise RuntimeError(f"bilinear(): input{place} size does not match weight size: got {input.size(-1)} "
                               f"but expected {size}")
    columns = weight.permute(1, 0, 2).reshape(in1_features, out_features * in2_features)
    products = (input1 @ columns).reshape(*input1.shape[:-1], out_features, in2_features)
    output = (products @ input2.unsqueeze(-1)).squeeze(-1)
    return output if bias is None else output + bias


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
    if tensor.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    greatest = int(tensor.max())
    if num_classes == -1:
        num_classes = greatest + 1
    elif num_classes <= greatest:
        raise RuntimeError("Class values must be smaller than num_classes.")
    zeros = ops.zeros((*tensor.shape, num_classes), dtype=tensor.dtype, device=tensor.device)
    return zeros.scatter_(-1, tensor.unsqueeze(-1), 1)


def _shorten_rows(weight, indices, max_norm, norm_type):
    with no_grad():
        used = indices.reshape(-1)  # a row that is looked up twice is written twice, with one value
        norms = weight[used].norm(norm_type, 1, keepdim=True)
        scale = ops.where(norms > max_norm, max_norm / (norms + 1e-7), ops.ones_like(norms))
        weight[used] = weight[used] * scale
