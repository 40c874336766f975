"""Scaled dot-product attention (Vaswani et al., 2017)."""
import math

from ..core.definitions import op
from ..core.naming import short_name
from ..core.signature import T


def _allowed(B, query, key, mask, causal):
    """What is added to the scores: -inf where nothing may be seen; None for nothing."""
    rows, columns = query.shape[-2], key.shape[-2]
    if causal:
        seen = B.tril(B.ones((rows, columns), dtype=query.dtype, device=query.device))
        return B.masked_fill(B.zeros_like(seen), B.eq(seen, 0), -math.inf)
    return mask


def _weights(B, query, key, mask, scale, causal):
    """The weight of each key for each query; all 0 for a query that may see none."""
    root = math.sqrt(abs(scale))
    scores = B.matmul(B.mul(query, math.copysign(root, scale)), B.mul(B.transpose(key, -2, -1), root))
    mask = _allowed(B, query, key, mask, causal)
    if mask is None:
        return B.softmax(scores, -1)
    scores = B.add(scores, mask)
    blind = B.all(B.eq(scores, -math.inf), -1, True)
    return B.masked_fill(B.softmax(B.masked_fill(scores, blind, 0), -1), blind, 0)


@op(promote="same", method=False, hidden=True, aux=("total", "output"), grad_name="ScaledDotProductAttention", vjp={
    ("query", "key", "value", "mask"): lambda B, g, query, key, value, mask, scale, causal, total, output, needs:
        B.attention_backward(g, query, key, value, mask, total, output, scale, causal, needs)})
def attention(B, query: T, key: T, value: T, mask: T, scale, causal):
    """`softmax(scale query key^T + mask) value` over the last two dims; leading dims are the same.

    Hidden outputs: what a kernel keeps for its backward, which are facts about each query's scores (their largest and one over the sum of
    their exponentials, on the cpu), and the output, where it needs that.
    """
    return B.matmul(_weights(B, query, key, mask, scale, causal), value), None, None


@op(promote=None, method=False, hidden=True, entry="attention_backward")
def attention_backward(B, g: T, query: T, key: T, value: T, mask: T, total: T, output: T, scale, causal, needs):
    """The gradients of attention's query, key, value and mask."""
    weights = _weights(B, query, key, mask, scale, causal)
    to_weights = B.matmul(g, B.transpose(value, -2, -1))
    to_scores = B.mul(weights, B.sub(to_weights, B.sum(B.mul(weights, to_weights), -1, True)))
    scaled = B.mul(to_scores, scale)
    return (B.matmul(scaled, key), B.matmul(B.transpose(scaled, -2, -1), query), B.matmul(B.transpose(weights, -2, -1), g), to_scores if needs[3] else None)


def _c_name(tensor):
    """The dtype as C calls it, which is how messages about attention do."""
    return short_name(tensor).lower()


def _check(query, key, value, mask):
    dims = query.ndim, key.ndim, value.ndim
    if min(dims) < 2:
        raise RuntimeError("Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {} key.dim: {} and value.dim: {} "
                           "instead.".format(*dims))
    if query.dtype != key.dtype or key.dtype != value.dtype:
        raise RuntimeError("Expected query, key, and value to have the same dtype, but got query.dtype: {} key.dtype: {} and value.dtype: {} "
                           "instead.".format(*[_c_name(t) for t in (query, key, value)]))
    if mask is not None and mask.dtype != query.dtype and _c_name(mask) not in ("bool", "float"):
        raise RuntimeError(f"Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: {_c_name(mask)} and  "
                           f"query.dtype: {_c_name(query)} instead.")
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise RuntimeError(f"scaled_dot_product_attention: query {list(query.shape)}, key {list(key.shape)} and value {list(value.shape)} don't fit: expected "
                           "(*, L, E), (*, S, E) and (*, S, V)")


def _repeat_heads(B, query, x):
    if query.shape[-3] % x.shape[-3]:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in query, but got "
                           f"{x.shape[-3]} and {query.shape[-3]}")
    return B.repeat_interleave(x, query.shape[-3] // x.shape[-3], -3)


def _with_batch(B, x, batch):
    return x if x.shape[:-2] == batch else B.expand(x, (*batch, *x.shape[-2:]))


@op(method=False, hidden=True)
def scaled_dot_product_attention(B, query: T, key: T, value: T, attn_mask: T = None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    """`softmax(scale · query keyᵀ + mask) value`, the attention of each query to the keys (Vaswani et al., 2017).

    Args:
        query: (*, L, E). key: (*, S, E). value: (*, S, V).
        attn_mask: broadcast to (*, L, S): True where a key may be seen, or numbers to add to the scores. A query that may see none gives 0.
        dropout_p: probability that a weight is dropped; it holds in evaluation too.
        is_causal: query i sees keys 0 to i only; not with a mask.
        scale: 1/√E by default.
        enable_gqa: key and value may have fewer heads (dim -3), each of which serves as many heads of the query.

    Raises:
        RuntimeError: shapes or dtypes don't fit, or a mask is given with `is_causal`.
    """
    _check(query, key, value, attn_mask)
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa and query.ndim > 2:
        key, value = _repeat_heads(B, query, key), _repeat_heads(B, query, value)
    batch = query.shape[:-2]
    if batch != key.shape[:-2] or batch != value.shape[:-2]:
        batch = tuple(B.broadcast_shapes(batch, key.shape[:-2], value.shape[:-2]))
        query, key, value = (_with_batch(B, x, batch) for x in (query, key, value))
    scale = 1 / math.sqrt(query.shape[-1] or 1) if scale is None else scale
    if attn_mask is not None:
        if attn_mask.dtype.name == "bool":
            attn_mask = B.masked_fill(B.zeros(attn_mask.shape, dtype=query.dtype, device=query.device), B.logical_not(attn_mask), -math.inf)
        attn_mask = B.expand(attn_mask.to(query.dtype), (*batch, query.shape[-2], key.shape[-2]))
    if dropout_p == 0:
        return B.attention(query, key, value, attn_mask, scale, is_causal)
    return B.matmul(B.dropout(_weights(B, query, key, attn_mask, scale, is_causal), dropout_p, True), value)
