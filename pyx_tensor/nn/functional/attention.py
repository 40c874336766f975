"""Attention."""
import math
import warnings

from ...core.dtype import by_name
from ...ops import namespace as ops
from ._arguments import takes_tensors
from .dropout import dropout

scaled_dot_product_attention = ops.scaled_dot_product_attention
_BOOL = by_name["bool"]


@takes_tensors(3)
def multi_head_attention_forward(query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn,
                                 dropout_p, out_proj_weight, out_proj_bias, training=True, key_padding_mask=None, need_weights=True, attn_mask=None,
                                 use_separate_proj_weight=False, q_proj_weight=None, k_proj_weight=None, v_proj_weight=None, static_k=None,
                                 static_v=None, average_attn_weights=True, is_causal=False):
    """Attention of several heads (Vaswani et al., 2017): (output, weights or None). What :class:`~pyx_tensor.nn.MultiheadAttention` computes.

    Args:
        query: (L, N, E) or (L, E). key, value: (S, N, *) or (S, *).
        embed_dim_to_check: E. num_heads: a divisor of it.
        in_proj_weight, in_proj_bias: (3E, E) and (3E), the projections of query, key and value; with ``use_separate_proj_weight`` the weights are
            ``q_proj_weight``, ``k_proj_weight`` and ``v_proj_weight``.
        bias_k, bias_v: (1, 1, E), one more key and value, optional. add_zero_attn: one more of zeros.
        dropout_p: probability that a weight is dropped, if ``training``.
        out_proj_weight, out_proj_bias: (E, E) and (E).
        key_padding_mask: (N, S) or (S), True for keys that nobody may see, or numbers to add to their scores.
        need_weights: return the weights too, (N, L, S), or (N, num_heads, L, S) unless ``average_attn_weights``.
        attn_mask: (L, S) or (N · num_heads, L, S), True where a key may not be seen, or numbers to add to the scores.
        static_k, static_v: (N · num_heads, S, E / num_heads), instead of the projected keys and values.
        is_causal: a hint that ``attn_mask`` is the causal one.
    """
    batched = _check_dims(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, embed_dim = query.shape
    head_dim = _check_sizes(key, value, embed_dim, embed_dim_to_check, num_heads, use_separate_proj_weight)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
                           "`generate_square_subsequent_mask` to create this mask.")
    attn_mask, key_padding_mask = _additive_masks(attn_mask, key_padding_mask, query.dtype)
    if use_separate_proj_weight:
        weights = q_proj_weight, k_proj_weight, v_proj_weight
        biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
        query, key, value = (ops.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases))
    else:
        query, key, value = _project_together(query, key, value, in_proj_weight, in_proj_bias)
    attn_mask = _expanded_mask(attn_mask, length, key.shape[0], batch * num_heads)
    added = 0
    if bias_k is not None:
        key, value = (ops.cat([x, bias.expand(1, batch, embed_dim)]) for x, bias in ((key, bias_k), (value, bias_v)))
        added += 1
    query, key, value = (_heads(x, batch, num_heads, head_dim) for x in (query, key, value))
    key, value = _static(key, static_k, "k"), _static(value, static_v, "v")
    if add_zero_attn:
        key, value = (ops.cat([x, x.new_zeros((x.shape[0], 1, head_dim))], 1) for x in (key, value))
        added += 1
    mask = _joined_mask(attn_mask, key_padding_mask, added, batch, num_heads, key)
    attend = _with_weights if need_weights else _without_weights
    attended, weights = attend(query, key, value, mask, dropout_p if training else 0.0, (batch, num_heads))
    weights = weights.mean(1) if need_weights and average_attn_weights else weights
    attended = attended.transpose(0, 1).reshape(length * batch, embed_dim)
    output = ops.linear(attended, out_proj_weight, out_proj_bias).reshape(length, batch, embed_dim)
    if batched:
        return output, weights
    return output.squeeze(1), None if weights is None else weights.squeeze(0)


def _with_weights(query, key, value, mask, dropout_p, heads):
    """(attended, the weights of each head) of (batch · heads, steps, features)."""
    scores = ops.matmul(query * math.sqrt(1 / query.shape[-1]), key.transpose(-2, -1))
    weights = ops.softmax(scores if mask is None else scores + mask, -1)
    weights = dropout(weights, dropout_p) if dropout_p else weights
    return ops.matmul(weights, value), weights.unflatten(0, heads)


def _without_weights(query, key, value, mask, dropout_p, heads):
    """(attended, None) by the fused operation."""
    mask = mask if mask is None or mask.shape[0] == 1 else mask.unflatten(0, heads)
    query, key, value = (x.unflatten(0, heads) for x in (query, key, value))
    return scaled_dot_product_attention(query, key, value, mask, dropout_p).flatten(0, 1), None


def _check_dims(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Whether the arguments are batches; AssertionError where they are neither that nor single sequences."""
    dims = query.dim()
    if dims not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor")
    kind = "batched (3-D)" if dims == 3 else "unbatched (2-D)"
    if key.dim() != dims or value.dim() != dims:
        raise AssertionError(f"For {kind} `query`, expected `key` and `value` to be {dims}-D but found {key.dim()}-D and {value.dim()}-D tensors "
                             "respectively")
    if key_padding_mask is not None and key_padding_mask.dim() != dims - 1:
        raise AssertionError(f"For {kind} `query`, expected `key_padding_mask` to be `None` or {dims - 1}-D but found {key_padding_mask.dim()}-D tensor "
                             "instead")
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead")
    if dims == 2 and attn_mask is not None and attn_mask.dim() == 3:
        expected = (num_heads, query.shape[0], key.shape[0])
        if tuple(attn_mask.shape) != expected:
            raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}")
    return dims == 3


def _check_sizes(key, value, embed_dim, expected, num_heads, separate):
    """The size of a head."""
    if embed_dim != expected:
        raise AssertionError(f"was expecting embedding dimension of {expected}, but got {embed_dim}")
    if embed_dim % num_heads:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    if not separate and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    return embed_dim // num_heads


def _additive_masks(attn_mask, key_padding_mask, dtype):
    """Both masks as numbers to add to the scores."""
    if attn_mask is not None and key_padding_mask is not None and attn_mask.dtype is not key_padding_mask.dtype:
        warnings.warn("Support for mismatched key_padding_mask and attn_mask is deprecated. Use same type for both instead.", stacklevel=4)
    return _additive(attn_mask, "attn_mask", dtype), _additive(key_padding_mask, "key_padding_mask", dtype)


def _additive(mask, name, dtype):
    if mask is None:
        return None
    if mask.dtype is _BOOL:
        return ops.zeros_like(mask, dtype=dtype).masked_fill_(mask, -math.inf)
    if not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return mask


def _project_together(query, key, value, weight, bias):
    """Query, key and value by one weight: in as few products as there are different inputs."""
    width = query.shape[-1]
    if query is key and key is value:
        return ops.linear(query, weight, bias).chunk(3, -1)
    if key is value:
        (to_query, to_both), (b_query, b_both) = weight.split([width, 2 * width]), (None, None) if bias is None else bias.split([width, 2 * width])
        return ops.linear(query, to_query, b_query), *ops.linear(key, to_both, b_both).chunk(2, -1)
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return tuple(ops.linear(x, w, b) for x, w, b in zip((query, key, value), weight.chunk(3), biases))


def _expanded_mask(mask, length, keys, heads):
    """A mask of three dims, the first of size 1 or all heads."""
    if mask is None:
        return None
    expected = (length, keys) if mask.dim() == 2 else (heads, length, keys)
    if tuple(mask.shape) != expected:
        raise RuntimeError(f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {expected}.")
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def _heads(x, batch, num_heads, head_dim):
    """(steps, batch, E) as (batch · heads, steps, E / heads)."""
    return x.reshape(x.shape[0], batch * num_heads, head_dim).transpose(0, 1)


def _static(projected, given, name):
    if given is None:
        return projected
    for dim, expected in ((0, projected.shape[0]), (2, projected.shape[2])):
        if given.size(dim) != expected:
            raise AssertionError(f"expecting static_{name}.size({dim}) of {expected}, but got {given.size(dim)}")
    return given


def _joined_mask(attn_mask, key_padding_mask, added, batch, num_heads, key):
    """What is added to the scores (batch · heads, L, S); keys that were added may be seen by all."""
    keys = key.shape[1]
    if attn_mask is not None and added:
        attn_mask = _widened(attn_mask, added)
    if key_padding_mask is None:
        return attn_mask
    if added:
        key_padding_mask = _widened(key_padding_mask, added)
    if tuple(key_padding_mask.shape) != (batch, keys):
        wrong, expected = (0, batch) if key_padding_mask.shape[0] != batch else (1, keys)
        raise AssertionError(f"Expected key_padded_mask.shape[{wrong}] to be {expected}, but got {key_padding_mask.shape[wrong]}")
    padding = key_padding_mask.reshape(batch, 1, 1, keys).expand(batch, num_heads, 1, keys).reshape(batch * num_heads, 1, keys)
    return padding if attn_mask is None else attn_mask + padding


def _widened(mask, count):
    return ops.cat([mask, mask.new_zeros((*mask.shape[:-1], count))], -1)
