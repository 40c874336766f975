"""Transformers (Vaswani et al., 2017)."""
import copy
import math

from .. import functional as F
from .. import init
from ...autograd import is_grad_enabled
from ...ops import namespace as ops
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

_ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu}


def _activation(activation):
    if not isinstance(activation, str):
        return activation
    if activation not in _ACTIVATIONS:
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return _ACTIVATIONS[activation]


def _causal_mask(size, device=None, dtype=None):
    return ops.triu(ops.full((size, size), -math.inf, device=device, dtype=dtype), 1)


def _copies(module, count):
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


class _Layer(Module):
    """What the layers of encoder and decoder share: a feed-forward block, and residual blocks with normalisation."""

    def _add_feed_forward(self, d_model, dim_feedforward, dropout, bias, device, dtype):
        self.linear1 = Linear(d_model, dim_feedforward, bias, device, dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, device, dtype)

    def _add_residuals(self, count, d_model, dropout, eps, bias, device, dtype):
        for i in range(1, count + 1):
            setattr(self, f"norm{i}", LayerNorm(d_model, eps, bias=bias, device=device, dtype=dtype))
        for i in range(1, count + 1):
            setattr(self, f"dropout{i}", Dropout(dropout))

    def _attend(self, attention, x, memory, attn_mask, padding, is_causal, dropout):
        memory = x if memory is None else memory
        return dropout(attention(x, memory, memory, attn_mask=attn_mask, key_padding_mask=padding, need_weights=False, is_causal=is_causal)[0])

    def _feed_forward(self, x, dropout):
        return dropout(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def _residual(self, x, norm, block):
        """x plus a block of it, with the normalisation before the block or after the sum."""
        return x + block(norm(x)) if self.norm_first else norm(x + block(x))

    def __setstate__(self, state):
        super().__setstate__(state)
        self.__dict__.setdefault("activation", F.relu)


class TransformerEncoderLayer(_Layer):
    """A layer of a Transformer's encoder: attention of the sequence to itself, then a feed-forward network.

    Args:
        d_model: features. nhead: heads of attention.
        dim_feedforward: features between the two linear maps.
        dropout: probability, in all blocks.
        activation: 'relu', 'gelu' or a function.
        layer_norm_eps: added to variances.
        batch_first: sequences are (batch, steps, features).
        norm_first: normalise before each block, not after.
        bias: whether linear maps and norms have biases.

    Shapes: src and output (S, N, d_model) or (S, d_model); masks as for :class:`MultiheadAttention`.

    >>> nn.TransformerEncoderLayer(8, 2, 16)(torch.randn(5, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5, batch_first=False, norm_first=False,
                 bias=True, device=None, dtype=None):
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, device=device, dtype=dtype)
        self._add_feed_forward(d_model, dim_feedforward, dropout, bias, device, dtype)
        self.norm_first = norm_first
        self._add_residuals(2, d_model, dropout, layer_norm_eps, bias, device, dtype)
        self.activation = _activation(activation)

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        x = self._residual(src, self.norm1, lambda x: self._attend(self.self_attn, x, None, src_mask, src_key_padding_mask, is_causal, self.dropout1))
        return self._residual(x, self.norm2, lambda x: self._feed_forward(x, self.dropout2))


class TransformerDecoderLayer(_Layer):
    """A layer of a Transformer's decoder: attention of the sequence to itself, to the encoder's output, then a feed-forward network.

    Arguments are those of :class:`TransformerEncoderLayer`. Shapes: tgt and output (T, N, d_model), memory (S, N, d_model).

    >>> nn.TransformerDecoderLayer(8, 2, 16)(torch.randn(4, 3, 8), torch.randn(5, 3, 8)).shape
    torch.Size([4, 3, 8])
    """

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5, batch_first=False, norm_first=False,
                 bias=True, device=None, dtype=None):
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, device=device, dtype=dtype)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, device=device, dtype=dtype)
        self._add_feed_forward(d_model, dim_feedforward, dropout, bias, device, dtype)
        self.norm_first = norm_first
        self._add_residuals(3, d_model, dropout, layer_norm_eps, bias, device, dtype)
        self.activation = _activation(activation)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None, tgt_is_causal=False,
                memory_is_causal=False):
        x = self._residual(tgt, self.norm1, lambda x: self._attend(
            self.self_attn, x, None, tgt_mask, tgt_key_padding_mask, tgt_is_causal, self.dropout1))
        x = self._residual(x, self.norm2, lambda x: self._attend(
            self.multihead_attn, x, memory, memory_mask, memory_key_padding_mask, memory_is_causal, self.dropout2))
        return self._residual(x, self.norm3, lambda x: self._feed_forward(x, self.dropout3))


class TransformerEncoder(Module):
    """A stack of encoder layers, copies of one.

    Args:
        encoder_layer: a :class:`TransformerEncoderLayer`; copied with its weights.
        num_layers: how many.
        norm: a layer for the result, optional.
        enable_nested_tensor: give 0 at padded positions in evaluation without gradients, as PyTorch does, which leaves them out there. It holds
            for layers with `batch_first`, biases, ReLU or GELU, an even number of heads and norms behind the blocks.
        mask_check: leave that where padding isn't at the end of every sequence.

    >>> nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)(torch.randn(5, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=bool(is_causal), src_key_padding_mask=src_key_padding_mask)
        if mask is None and src_key_padding_mask is not None and self._leaves_padding_out(src, src_key_padding_mask):
            src = src.masked_fill(src_key_padding_mask.unsqueeze(-1), 0)
        return src if self.norm is None else self.norm(src)

    def _leaves_padding_out(self, src, padding):
        """Whether PyTorch would not compute the padded positions of this call, but give 0 there."""
        layer = self.layers[0]
        if not self.enable_nested_tensor or self.training or src.dim() != 3 or not isinstance(layer, TransformerEncoderLayer):
            return False
        attention = layer.self_attn
        plain = (attention.batch_first and attention.in_proj_bias is not None and attention._qkv_same_embed_dim and attention.num_heads % 2 == 0
                 and not layer.norm_first and layer.activation in _ACTIVATIONS.values() and layer.norm1.eps == layer.norm2.eps)
        if not plain or is_grad_enabled() and any(t.requires_grad for t in (src, *layer.parameters())):
            return False
        return padding.dtype.name == "bool" and not (self.mask_check and bool((padding[:, :-1] & ~padding[:, 1:]).any()))


class TransformerDecoder(Module):
    """A stack of decoder layers, copies of one; arguments as for :class:`TransformerEncoder`.

    >>> nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2)(torch.randn(4, 3, 8), torch.randn(5, 3, 8)).shape
    torch.Size([4, 3, 8])
    """

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None, tgt_is_causal=None,
                memory_is_causal=False):
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                        memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=bool(tgt_is_causal), memory_is_causal=memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """Encoder and decoder (Vaswani et al., 2017).

    Args:
        num_encoder_layers, num_decoder_layers: layers of each.
        custom_encoder, custom_decoder: modules to use instead.
        The others are those of :class:`TransformerEncoderLayer`.

    Shapes: src (S, N, d_model), tgt and output (T, N, d_model), or all without batch.

    >>> nn.Transformer(8, 2, 1, 1, 16)(torch.randn(5, 3, 8), torch.randn(4, 3, 8)).shape
    torch.Size([4, 3, 8])
    """

    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1, activation=F.relu,
                 custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5, batch_first=False, norm_first=False, bias=True, device=None,
                 dtype=None):
        super().__init__()
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype)
        norm = dict(eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.encoder = custom_encoder if custom_encoder is not None else TransformerEncoder(
            TransformerEncoderLayer(*layer), num_encoder_layers, LayerNorm(d_model, **norm))
        self.decoder = custom_decoder if custom_decoder is not None else TransformerDecoder(
            TransformerDecoderLayer(*layer), num_decoder_layers, LayerNorm(d_model, **norm))
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None, memory_is_causal=False):
        batch_dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch_dim) != tgt.size(batch_dim):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """The causal mask (sz, sz): -inf above the diagonal, else 0.

        >>> nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return _causal_mask(sz, device, dtype)

    def _reset_parameters(self):
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)
