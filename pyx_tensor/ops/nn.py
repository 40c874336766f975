"""What layers and losses compute: linear maps, softmax, normalisation, look-up of rows, negative log likelihood."""
import math

from ..core.definitions import op
from ..core.naming import needs_floating
from ..core.operands import prepare_write
from ..core.record import namespace
from ..core.signature import Dim, Raw, T, Type
from .layouts import rows_gradient


# --- linear maps --------------------------------------------------------------------------------------------------
def _rows(B, x):
    """All leading dims as one."""
    return x if x.ndim == 2 else B.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))


def _explain_linear(input, weight, bias):
    if weight.ndim not in (1, 2):
        return f"linear(): weight must have 1 or 2 dims, but has shape {list(weight.shape)}"
    if input.ndim == 0 or input.shape[-1] != weight.shape[-1]:
        rows = input.numel() // max(input.shape[-1], 1) if input.ndim else 1
        columns = input.shape[-1] if input.ndim else 1
        return f"mat1 and mat2 shapes cannot be multiplied ({rows}x{columns} and {'x'.join(map(str, reversed(weight.shape)))})"
    if bias is not None and bias.shape[-1:] not in (weight.shape[:1], (1,), ()):
        return (f"The expanded size of the tensor ({weight.shape[0]}) must match the existing size ({bias.shape[-1]}) at "
                f"non-singleton dimension 1.  Target sizes: {[*input.shape[:-1], weight.shape[0]]}.  Tensor sizes: {list(bias.shape)}")
    return None


def _linear_input(B, g, weight):
    if weight.dtype.is_complex:
        weight = B.conj(weight)
    return B.matmul(g, weight) if weight.ndim == 2 else B.mul(B.unsqueeze(g, -1), weight)


def _linear_parameters(B, g, input, weight_shape, needs):
    if len(weight_shape) == 2:
        return B.linear_backward(g, input, needs)
    to_weight = B.matmul(B.reshape(g, (-1,)), _rows(B, B.conj(input))) if needs[0] else None
    return to_weight, B.sum(g) if needs[1] else None


@op(promote="same", method=False, hidden=True, explain=_explain_linear,
    grad_name=lambda input, weight, bias: "MmBackward0" if bias is None else "AddmmBackward0", vjp={
    "input": _linear_input, ("weight", "bias"): _linear_parameters})
def linear(B, input: T, weight: T, bias: T = None):
    """`input @ weight.T + bias` over the last dim.

    Args:
        input: (*, in_features). weight: (out_features, in_features), or (in_features) for one output without a dim.
        bias: (out_features) or one number for all, optional.
    """
    message = _explain_linear(input, weight, bias)
    if message is not None:
        raise RuntimeError(message)
    product = B.matmul(input, B.t(weight) if weight.ndim == 2 else weight)
    return product if bias is None else B.add(product, bias)


@op(promote="common", method=False, hidden=True, entry="linear_backward")
def linear_backward(B, g: T, input: T, needs):
    """The gradients of linear's weight and bias (None where not needed)."""
    g, input = _rows(B, g), _rows(B, B.conj(input))
    return B.matmul(B.t(g), input) if needs[0] else None, B.sum(g, (0,)) if needs[1] else None


# --- softmax ------------------------------------------------------------------------------------------------------
@op(exact_out=True, promote="float_only", vjp=dict(input=lambda B, g, y, dim: B.softmax_backward(g, y, dim)))
def softmax(B, input: T, dim: Dim, dtype: Type = None):
    """`exp(input)` divided by its sum along a dim, without overflow.

    Args:
        dim: along which the result sums to 1.
        dtype: to compute in.
    """
    input = input if dtype is None else input.to(dtype)
    if not input.ndim or not input.numel():
        return B.ones_like(input)
    raised = B.exp(B.sub(input, B.amax(input, dim, True)))
    return B.div(raised, B.sum(raised, dim, True))


@op(promote="common", method=False, hidden=True, entry="softmax_backward")
def softmax_backward(B, g: T, output: T, dim: Dim):
    """The gradient of softmax's input, from the output and its gradient."""
    weighted = B.mul(g, output)
    return B.sub(weighted, B.mul(output, B.sum(weighted, dim, True))) if g.ndim else B.zeros_like(g)


@op(exact_out=True, promote="float_only", vjp=dict(input=lambda B, g, y, dim: B.log_softmax_backward(g, y, dim)))
def log_softmax(B, input: T, dim: Dim, dtype: Type = None):
    """The logarithm of `softmax`, accurate where that is tiny."""
    input = input if dtype is None else input.to(dtype)
    if not input.ndim or not input.numel():
        return B.zeros_like(input)
    shifted = B.sub(input, B.amax(input, dim, True))
    return B.sub(shifted, B.log(B.sum(B.exp(shifted), dim, True)))


@op(promote="common", method=False, hidden=True, entry="log_softmax_backward")
def log_softmax_backward(B, g: T, output: T, dim: Dim):
    """The gradient of log_softmax's input, from the output and its gradient."""
    return B.sub(g, B.mul(B.exp(output), B.sum(g, dim, True))) if g.ndim else B.zeros_like(g)


# --- normalisation ------------------------------------------------------------------------------------------------
def _last_dims(input, count):
    return tuple(range(input.ndim - count, input.ndim))


def _statistics(B, input, dims, eps):
    """The mean over dims, and one over the standard deviation."""
    mean = B.mean(input, dims, True)
    away = B.sub(input, mean)
    return mean, B.rsqrt(B.add(B.mean(B.mul(away, away), dims, True), eps))


def _explain_layer_norm(input, normalized_ndim, weight, bias, eps):
    shape = tuple(input.shape)[input.ndim - normalized_ndim:]
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and tuple(parameter.shape) != shape:
            return (f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(parameter.shape)} and "
                    f"normalized_shape = {list(shape)}")
    return None


@op(promote="same", method=False, hidden=True, entry="layer_norm", explain=_explain_layer_norm, aux=("mean", "rstd"), grad_name="NativeLayerNorm", vjp={
    ("input", "weight", "bias"): lambda B, g, input, mean, rstd, weight, normalized_ndim, eps, needs:
        B.layer_norm_backward(g, input, mean, rstd, weight, normalized_ndim, needs, eps)})
def _layer_norm(B, input: T, normalized_ndim, weight: T = None, bias: T = None, eps=1e-5):
    """Mean 0 and variance 1 over the last dims, then scale and shift."""
    message = _explain_layer_norm(input, normalized_ndim, weight, bias, eps)
    if message is not None:
        raise RuntimeError(message)
    mean, rstd = _statistics(B, input, _last_dims(input, normalized_ndim), eps)
    y = B.mul(B.sub(input, mean), rstd)
    y = y if weight is None else B.mul(y, weight)
    return (y if bias is None else B.add(y, bias)), mean, rstd


@op(promote=None, method=False, hidden=True, entry="layer_norm_backward")
def layer_norm_backward(B, g: T, input: T, mean: Raw, rstd: Raw, weight: T, normalized_ndim, needs, eps):
    """The gradients of layer_norm's input, weight and bias (None where not needed).

    The body computes the statistics again, for gradients of gradients pass through them.
    """
    dims = _last_dims(input, normalized_ndim)
    lead = tuple(range(input.ndim - normalized_ndim))
    mean, rstd = _statistics(B, input, dims, eps)
    normal = B.mul(B.sub(input, mean), rstd)
    to_input = to_weight = to_bias = None
    if needs[0]:
        scaled = g if weight is None else B.mul(g, weight)
        along = B.add(B.mean(scaled, dims, True), B.mul(normal, B.mean(B.mul(scaled, normal), dims, True)))
        to_input = B.mul(B.sub(scaled, along), rstd)
    if needs[1]:
        product = B.mul(g, normal)
        to_weight = B.sum(product, lead) if lead else product
    if needs[2]:
        to_bias = B.sum(g, lead) if lead else g
    return to_input, to_weight, to_bias


@op(method=False)
def layer_norm(B, input: T, normalized_shape, weight: T = None, bias: T = None, eps=1e-5, cudnn_enable=True):
    """Mean 0 and variance 1 over the last dims, then scale and shift (Ba et al., 2016).

    Args:
        input: (*, *normalized_shape).
        normalized_shape: the sizes of the dims to normalise over.
        weight, bias: scale and shift of that shape, optional.
        eps: added to the variance.

    Raises:
        RuntimeError: the input's last sizes, the weight's or the bias's differ from `normalized_shape`.
    """
    shape = tuple(normalized_shape)
    if not shape:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
                           "normalized_shape = []")
    if tuple(input.shape)[-len(shape):] != shape:
        raise RuntimeError(f"Given normalized_shape={list(shape)}, expected input with shape [*, {', '.join(map(str, shape))}], but got "
                           f"input of size{list(input.shape)}")
    needs_floating("layer_norm", input)
    return B._layer_norm(input, len(shape), weight, bias, eps)


def _along_channels(B, vector, like):
    """A vector shaped so that it lies along dim 1 of `like`."""
    return B.reshape(vector, (-1, *(1 for _ in range(like.ndim - 2))))


def _all_but_channels(input):
    return (0, *range(2, input.ndim))


def _widened(x):
    """A tensor of a half type as float32, in which its statistics are computed."""
    return x.float() if x is not None and x.is_floating_point() and x.element_size() == 2 else x


def _channel_statistics(B, input):
    """Mean and variance (biased) of each channel, as vectors."""
    dims = _all_but_channels(input)
    mean = B.mean(input, dims)
    away = B.sub(input, _along_channels(B, mean, input))
    return mean, B.mean(B.mul(away, away), dims)


@op(method=False, hidden=True, entry="batch_norm", returns=("output", "mean", "var"), nondiff=("mean", "var"), aux=("used_mean", "used_var"),
    grad_name="NativeBatchNorm", vjp={
        ("input", "weight", "bias"): lambda B, g, input, used_mean, used_var, weight, training, eps, needs:
            B.batch_norm_backward(g[0], input, used_mean, used_var, weight, training, eps, needs)})
def _batch_norm(B, input: T, running_mean: Raw, running_var: Raw, weight: T, bias: T, training, eps):
    """Each channel with mean 0 and variance 1, then scaled and shifted; and the statistics that were used.

    In training they are the batch's (the variance biased), else the running ones. They come twice: the second ones are kept for the
    gradient, which needs no output, so that those may be written to.
    """
    dtype = input.dtype
    input, weight, bias = _widened(input), _widened(weight), _widened(bias)
    mean, var = _channel_statistics(B, input) if training else (B.clone(running_mean), B.clone(running_var))
    scale = B.rsqrt(B.add(var, eps))
    scale = scale if weight is None else B.mul(scale, weight)
    y = B.mul(B.sub(input, _along_channels(B, mean, input)), _along_channels(B, scale, input))
    y = y if bias is None else B.add(y, _along_channels(B, bias, input))
    return y.to(dtype), mean, var, mean, var


@op(promote=None, method=False, hidden=True, entry="batch_norm_backward")
def batch_norm_backward(B, g: T, input: T, mean: Raw, var: Raw, weight: T, training, eps, needs):
    """The gradients of batch_norm's input, weight and bias.

    In training the statistics are computed again, for gradients of gradients pass through them.
    """
    g, input, weight = _widened(g), _widened(input), _widened(weight)
    if training:
        mean, var = _channel_statistics(B, input)
    dims, count = _all_but_channels(input), input.numel() // input.shape[1]
    rstd = B.rsqrt(B.add(var, eps))
    normal = B.mul(B.sub(input, _along_channels(B, mean, input)), _along_channels(B, rstd, input))
    to_bias, to_weight = B.sum(g, dims), B.sum(B.mul(g, normal), dims)
    if not needs[0]:
        return None, to_weight, to_bias
    if training:
        along = B.mul(normal, _along_channels(B, B.div(to_weight, count), input))
        g = B.sub(B.sub(g, _along_channels(B, B.div(to_bias, count), input)), along)
    scale = rstd if weight is None else B.mul(rstd, weight)
    return B.mul(g, _along_channels(B, scale, input)), to_weight, to_bias


@op(nograd=True, method=False, hidden=True, entry="update_statistics_")
def _update_statistics(B, running: Raw, batch: Raw, momentum, factor):
    """Move running statistics towards those of a batch, times a factor."""
    running.mul_(1 - momentum).add_(batch.detach().to(running.dtype), alpha=momentum * factor)


def update_statistics_(running, batch, momentum, factor=1.0):
    """`_update_statistics`, which writes to `running`."""
    prepare_write(running)
    namespace._update_statistics(running, batch, momentum, factor)


# --- look-up of rows ----------------------------------------------------------------------------------------------
@op(method=False, hidden=True, entry="embedding", grad_name="Embedding", vjp=dict(
    weight=lambda B, g, indices, weight_shape: B.embedding_backward(g, indices, weight_shape[0])))
def _rows_at(B, weight: T, indices: Raw):
    """The rows of a matrix at indices of any shape."""
    return B.reshape(B.index_select(weight, 0, B.reshape(indices, (-1,))), (*indices.shape, weight.shape[1]))


@op(method=False, hidden=True, grad_name="Embedding", vjp=dict(
    weight=lambda B, g, indices, weight_shape, padding_idx, by_frequency: B.embedding_backward(
        _filtered(B, g, indices, weight_shape[0], padding_idx, by_frequency), indices, weight_shape[0])))
def _rows_with_rules(B, weight: T, indices: Raw, padding_idx, by_frequency):
    """`_rows_at`, with rules for what arrives at a row."""
    return B._rows_at(weight, indices)


def _filtered(B, g, indices, rows, padding_idx, by_frequency):
    """g without what arrives at the row `padding_idx`, and divided by how often a row was looked up."""
    if padding_idx >= 0:
        g = B.masked_fill(g, B.unsqueeze(B.eq(indices, padding_idx), -1), 0)
    if by_frequency:
        flat = B.reshape(indices, (-1,))
        times = B.index_add(B.zeros((rows,), dtype=g.dtype, device=g.device), 0, flat, B.ones_like(flat).to(g.dtype))
        g = B.div(g, B.reshape(B.index_select(times, 0, flat), (*indices.shape, 1)))
    return g


def _sparse_rows(B, g, indices, weight_shape, padding_idx, by_frequency):
    if by_frequency:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    return rows_gradient(g, indices, weight_shape[0], padding_idx)


@op(method=False, hidden=True, grad_name="Embedding", vjp=dict(weight=_sparse_rows))
def _rows_sparsely(B, weight: T, indices: Raw, padding_idx, by_frequency):
    """`_rows_at` with a sparse gradient."""
    return B._rows_at(weight, indices)


@op(promote="common", method=False, hidden=True, entry="embedding_backward")
def embedding_backward(B, g: T, indices: Raw, rows):
    """The gradient of the matrix: the sum of what arrives at each row."""
    g = B.reshape(g, (-1, g.shape[-1]))
    return B.index_add(B.zeros((rows, g.shape[1]), dtype=g.dtype, device=g.device), 0, B.reshape(indices, (-1,)), g)


@op(method=False)
def embedding(B, weight: T, indices: Raw, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """The rows of a matrix at indices of any shape.

    Args:
        weight: (rows, columns). indices: int32 or int64.
        padding_idx: a row that gets no gradient (-1: none).
        scale_grad_by_freq: divide a row's gradient by the number of times that it was looked up.
        sparse: the gradient of `weight` is a sparse tensor that lists the rows looked up.

    Raises:
        IndexError: an index isn't in [0, rows).
        RuntimeError: there are indices and no rows, or they or the matrix aren't of that kind.
    """
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if indices.dtype.name not in ("int32", "int64"):
        raise RuntimeError("Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
                           f"{indices.type()} instead (while checking arguments for embedding)")
    if not weight.shape[0] and indices.numel():
        raise RuntimeError("embedding: a table without rows has none to look up")
    try:
        if sparse:
            return B._rows_sparsely(weight, indices.long(), padding_idx, scale_grad_by_freq)
        if padding_idx < 0 and not scale_grad_by_freq:
            return B._rows_at(weight, indices.long())
        return B._rows_with_rules(weight, indices.long(), padding_idx, scale_grad_by_freq)
    except IndexError:
        raise IndexError("index out of range in self") from None


# --- negative log likelihood --------------------------------------------------------------------------------------
def _read_classes(B, input, target, ignore_index):
    """(input as rows, targets as a column with 0 for those ignored, which are ignored)."""
    target = B.reshape(target, (-1,))
    ignored = B.eq(target, ignore_index)
    target = B.masked_fill(target, ignored, 0)
    wrong = B.logical_or(B.lt(target, 0), B.ge(target, input.shape[-1]))
    if bool(B.any(wrong)):
        raise IndexError(f"Target {int(target[wrong][0])} is out of bounds.")
    return _rows(B, input), B.unsqueeze(target, 1), ignored


def _class_weights(B, input, target, ignored, weight):
    """The factor of each sample."""
    if weight is None:
        return B.logical_not(ignored).to(input.dtype)
    return B.masked_fill(B.index_select(weight, 0, B.squeeze(target, 1)), ignored, 0)


@op(promote="same", method=False, hidden=True, aux=("total_weight",), vjp=dict(
    input=lambda B, g, input, target, weight, total_weight, reduction, ignore_index:
        B.nll_loss_backward(g, input, target, weight, reduction, ignore_index, total_weight)))
def nll_loss(B, input: T, target: Raw, weight: T = None, reduction="mean", ignore_index=-100):
    """`-weight[target] * input[target]` of log probabilities.

    Args:
        input: (samples, classes) or (classes). target: (samples) or (), int64.
        weight: a factor for each class. ignore_index: a target that counts as nothing.
        reduction: 'mean' is over the weights of the targets.

    Raises:
        IndexError: a target isn't a class.
    """
    return _negative_log_likelihood(B, input, target, weight, reduction, ignore_index)


def _negative_log_likelihood(B, input, target, weight, reduction, ignore_index):
    """(loss, the sum of the samples' factors)."""
    shape = tuple(target.shape)
    rows, target, ignored = _read_classes(B, input, target, ignore_index)
    factors = _class_weights(B, rows, target, ignored, weight)
    loss = B.masked_fill(B.neg(B.mul(B.squeeze(B.gather(rows, 1, target), 1), factors)), ignored, 0)
    total = B.sum(factors)
    if reduction == "none":
        return B.reshape(loss, shape), total
    loss = B.sum(loss)
    return (B.div(loss, total) if reduction == "mean" else loss), total


@op(promote="common", method=False, hidden=True, entry="nll_loss_backward")
def nll_loss_backward(B, g: T, input: T, target: Raw, weight: T, reduction, ignore_index, total_weight: Raw):
    """The gradient of nll_loss's input: at each target, the sample's factor."""
    rows, target, ignored = _read_classes(B, input, target, ignore_index)
    factors = _class_weights(B, rows, target, ignored, weight)
    g = B.div(g, total_weight) if reduction == "mean" else B.reshape(g, (-1,)) if reduction == "none" else g
    each = B.neg(B.masked_fill(B.mul(factors, g), ignored, 0))
    zeros = B.zeros(tuple(rows.shape), dtype=each.dtype, device=each.device)
    return B.reshape(B.scatter(zeros, 1, target, B.unsqueeze(each, 1)), tuple(input.shape))


@op(promote="same", method=False, hidden=True, grad_name="NllLoss", aux=("log_probs@input", "total_weight"), vjp=dict(
    input=lambda B, g, target, weight, reduction, ignore_index, log_probs, total_weight:
        B.cross_entropy_backward(g, log_probs, target, weight, reduction, ignore_index, log_probs, total_weight)))
def cross_entropy(B, input: T, target: Raw, weight: T = None, reduction="mean", ignore_index=-100):
    """`nll_loss` of the log softmax of scores (samples, classes)."""
    log_probs = B.log_softmax(input, 1)
    loss, total_weight = _negative_log_likelihood(B, log_probs, target, weight, reduction, ignore_index)
    return loss, log_probs, total_weight


@op(promote="common", method=False, hidden=True, entry="cross_entropy_backward")
def cross_entropy_backward(B, g: T, input: T, target: Raw, weight: T, reduction, ignore_index, log_probs: Raw, total_weight: Raw):
    """The gradient of cross_entropy's input, or of log probabilities in its place: they have the same log softmax, and its slope.

    The body computes that again, for gradients of gradients pass through it.
    """
    log_probs = B.log_softmax(input, 1)
    return B.log_softmax_backward(B.nll_loss_backward(g, log_probs, target, weight, reduction, ignore_index, total_weight), log_probs, 1)
