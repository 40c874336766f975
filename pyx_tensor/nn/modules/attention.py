"""Attention of several heads."""
from .. import functional as F
from .. import init
from ...ops import namespace as ops
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear
from .module import Module


class MultiheadAttention(Module):
    """Attention of several heads, each with projections of its own (Vaswani et al., 2017).

    Args:
        embed_dim: E, features of queries and outputs. num_heads: a divisor of it.
        dropout: probability that a weight is dropped in training.
        bias: whether the projections have biases.
        add_bias_kv: one more key and value, learned. add_zero_attn: one more key and value of zeros.
        kdim, vdim: features of keys and values; E by default.
        batch_first: sequences are (batch, steps, features), not (steps, batch, features).

    Shapes: query (L, N, E) or (L, E), key (S, N, kdim), value (S, N, vdim); returns (output, weights): output like the query,
    weights (N, L, S), or (N, num_heads, L, S) with ``average_attn_weights=False``, or None with ``need_weights=False``. For masks
    see :func:`~pyx_tensor.nn.functional.multi_head_attention_forward`.

    >>> x = torch.randn(5, 2, 8)
    >>> output, weights = nn.MultiheadAttention(8, 2)(x, x, x)
    >>> output.shape, weights.shape
    (torch.Size([5, 2, 8]), torch.Size([2, 5, 5]))
    """

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None, batch_first=False,
                 device=None, dtype=None):
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead")
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        same, width = self._qkv_same_embed_dim, embed_dim
        shapes = {"q_proj_weight": None if same else (width, width), "k_proj_weight": None if same else (width, self.kdim),
                  "v_proj_weight": None if same else (width, self.vdim), "in_proj_weight": (3 * width, width) if same else None,
                  "in_proj_bias": (3 * width,) if bias else None}
        self._register(shapes, device, dtype)
        self.out_proj = NonDynamicallyQuantizableLinear(width, width, bias, device, dtype)
        self._register(dict.fromkeys(("bias_k", "bias_v"), (1, 1, width) if add_bias_kv else None), device, dtype)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _register(self, shapes, device, dtype):
        for name, shape in shapes.items():
            self.register_parameter(name, None if shape is None else Parameter(ops.empty(shape, device=device, dtype=dtype)))

    def _reset_parameters(self):
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True, is_causal=False):
        swap = self.batch_first and query.dim() == 3
        if swap:
            query, key, value = _swapped(query, key, value)
        output, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn,
            self.dropout, self.out_proj.weight, self.out_proj.bias, self.training, key_padding_mask, need_weights, attn_mask,
            not self._qkv_same_embed_dim, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight, average_attn_weights=average_attn_weights,
            is_causal=is_causal)
        return output.transpose(0, 1) if swap else output, weights


def _swapped(*tensors):
    """The tensors with the first two dims exchanged; one that comes several times stays one."""
    swapped = {id(tensor): tensor.transpose(0, 1) for tensor in tensors}
    return [swapped[id(tensor)] for tensor in tensors]
