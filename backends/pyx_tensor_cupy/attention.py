"""Attention by cuDNN, in half types without a mask; the rest is left to the definition."""
import math

from pyx_tensor.core.protocol import permissions

from .cudnn import readable
from .entries import entry, new

HALF = ("float16", "bfloat16")


def _left(name):
    return TypeError(f"{name}: left to the definition")


def _matrices(backend, array):
    """(*, n, features) as (samples, heads, n, features)."""
    shape = tuple(array.shape)
    if len(shape) != 4:
        array = backend.xp.reshape(array, (math.prod(shape[:-3]), *(1,) * (3 - len(shape)), *shape[-3:]))
    return readable(backend, array)


def _new_matrices(backend, like, features):
    """An array for (samples, heads, n, features), which lies in memory as `like` does: by heads, or by rows with the heads inside."""
    samples, heads, n, _ = like.shape
    if backend.strides(like)[1] >= backend.strides(like)[2]:
        return new(backend, (samples, heads, n, features), like.dtype, like)
    return backend.xp.swapaxes(new(backend, (samples, n, heads, features), like.dtype, like), 1, 2)


def _options(scale, causal, **others):
    """What cuDNN is told beside the arrays. Causal: a query sees no key to the right of its own place."""
    return dict(attn_scale=float(scale), **(dict(diagonal_band_right_bound=0) if causal else {}), **others)


@entry
def attention(self, query, key, value, mask, scale, causal):
    """(softmax(scale query key^T) value, the logarithm of the sum of each query's exponentials, the first again)."""
    if mask is not None or self.dtype_name(query) not in HALF or not self.cudnn.takes(query, key, value):
        raise _left("attention")
    q, k, v = (_matrices(self, a) for a in (query, key, value))
    output, total = _new_matrices(self, q, value.shape[-1]), new(self, (*q.shape[:-1], 1), "float32", q)
    if not self.cudnn.run("sdpa", dict(q=q, k=k, v=v), (output, total), _options(scale, causal, generate_stats=True)):
        raise _left("attention")
    output = self.xp.reshape(output, (*query.shape[:-1], value.shape[-1]))
    return output, total, output


@entry
def attention_backward(self, g, query, key, value, mask, total, output, scale, causal, needs):
    """The gradients of query, key and value, where cuDNN gave the output."""
    if output is None or not self.cudnn.takes(g, query, key, value):
        raise _left("attention_backward")
    q, k, v, o, to_o = (_matrices(self, a) for a in (query, key, value, output, g))
    results = [_new_matrices(self, a, a.shape[-1]) for a in (q, k, v)]
    deterministic = permissions.deterministic or permissions.cudnn_deterministic
    options = _options(scale, causal, use_deterministic_algorithm=deterministic)
    if not self.cudnn.run("sdpa_backward", dict(q=q, k=k, v=v, o=o, dO=to_o, stats=total), results, options):
        raise _left("attention_backward")
    return *[self.xp.reshape(r, a.shape) for r, a in zip(results, (query, key, value))], None
