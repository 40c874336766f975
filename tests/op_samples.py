"""Sample arguments for every operation of the table: one line each.

A line is a function of a `Maker`, which makes tensors of one library and dtype, so that the same samples serve
any PyTorch-shaped module. It returns the arguments of one call, or a list of several calls.
"""
import numpy as np


class call:
    """Arguments of one call."""

    def __init__(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs


class Maker:
    """Makes sample tensors in the library `lib`, of the dtype called `dtype`; the same numbers for the same seed."""

    def __init__(self, lib, dtype="float32", seed=0):
        self.lib, self.dtype, self.random, self.made = lib, dtype, np.random.default_rng(seed), 0

    def wrap(self, array, dtype=None):
        tensor = self.lib.from_numpy(np.array(array))
        return tensor if dtype is None else tensor.to(getattr(self.lib, dtype))

    def __call__(self, *shape):
        """Distinct values of both signs, away from 0 and from each other."""
        values = self.random.permutation(int(np.prod(shape)) or 1)[:int(np.prod(shape))] * 0.25
        self.made += 1
        values = (values - np.median(values) if values.size else values) + 0.1 + 0.011 * self.made      # no ties between tensors either
        if self.dtype == "bool":
            return self.wrap(values.reshape(shape) > 0)
        if self.dtype.startswith(("int", "uint")):
            values = np.abs(np.rint(values * 4)) if self.dtype == "uint8" else np.rint(values * 4)
        if self.dtype.startswith("complex"):
            values = values + 1j * values[::-1]
        return self.wrap(values.reshape(shape), self.dtype)

    def positive(self, *shape):
        if self.dtype == "bool":
            return self(*shape)
        values = 0.4 + self.random.permutation(int(np.prod(shape)) or 1)[:int(np.prod(shape))].reshape(shape) * 0.3
        return self.wrap(np.ceil(values) if self.dtype.startswith(("int", "uint")) else values, self.dtype)

    def unit(self, *shape):
        """Between 0 and 1, both excluded (0 and 1 for whole numbers)."""
        return self.wrap(self.random.uniform(0.1, 0.9, shape).round(3), self.dtype if self.dtype not in ("bool",) else "bool")

    def index(self, n, *shape):
        return self.wrap(self.random.integers(0, n, shape))

    def whole(self, *shape):
        return self.wrap(self.random.integers(-9, 10, shape))

    def mask(self, *shape):
        return self.wrap(self.random.random(shape) < 0.5)


S = {}      # name of the public function -> function(Maker) -> call or list of calls


def _same(names, sample):
    for name in names.split():
        S[name] = sample


# --- element by element
_same("neg abs sign sgn exp exp2 expm1 sin cos tan asinh atan sinh cosh tanh sigmoid floor ceil trunc frac square erf erfc deg2rad rad2deg "
      "positive angle sinc relu conj resolve_conj real isposinf isneginf isreal isnan isinf isfinite signbit logical_not nan_to_num",
      lambda f: [call(f(3, 4)), call(f())])
_same("reciprocal log log2 log10 log1p sqrt rsqrt digamma lgamma", lambda f: call(f.positive(3, 4)))
_same("asin acos atanh erfinv logit", lambda f: call(f.unit(3, 4)))
S["acosh"] = lambda f: call(f.positive(3, 4) + f.positive(3, 4) + f.positive(1))
S["bitwise_not"] = lambda f: call(f.whole(3, 4))
_same("add sub mul maximum minimum fmax fmin rsub eq ne lt le gt ge logical_and logical_or logical_xor isclose",
      lambda f: [call(f(3, 4), f(3, 4)), call(f(3, 1), f(4)), call(f(2), f())])
_same("hypot atan2 copysign nextafter logaddexp logaddexp2", lambda f: [call(f(3, 4), f(4))])
_same("true_divide remainder fmod", lambda f: [call(f(3, 4), f.positive(4)), call(f(2, 3), 2)])
S["floor_divide"] = lambda f: [call(f(3, 4), f.positive(4)), call(f(2, 3), 2)]
S["div"] = lambda f: [call(f(3, 4), f.positive(4)), call(f(3, 4), f.positive(4), rounding_mode="floor"), call(f(3, 4), 2, rounding_mode="trunc")]
_same("bitwise_and bitwise_or bitwise_xor", lambda f: [call(f.whole(3, 4), f.whole(4)), call(f.mask(3), f.mask(3))])
_same("bitwise_left_shift bitwise_right_shift", lambda f: call(f.whole(3, 4), 2))
_same("gcd lcm", lambda f: call(f.whole(3, 4), f.whole(4)))
S["pow"] = lambda f: [call(f.positive(3, 4), f(4)), call(f(3, 4), 2), call(2, f.positive(3))]
S["float_power"] = lambda f: call(f.positive(3, 4), 1.5)
S["ldexp"] = lambda f: call(f(3, 4), f.whole(4))
S["frexp"] = lambda f: call(f(3, 4))
S["xlogy"] = lambda f: [call(f(3, 4), f.positive(4)), call(2.0, f.positive(3)), call(f(3), 2.0)]
S["heaviside"] = lambda f: call(f(3, 4), f(4))
S["round"] = lambda f: [call(f(3, 4)), call(f(3, 4), decimals=1)]
S["polygamma"] = lambda f: [call(1, f.positive(3)), call(2, f.positive(3))]
S["mvlgamma"] = lambda f: call(f.positive(3) + 1, 2)
_same("i0", lambda f: [call(f(3, 4)), call(f())])
_same("igamma igammac", lambda f: call(f.positive(3, 4), f.positive(4)))
S["renorm"] = lambda f: call(f(3, 4), 2, 0, 1.0)
S["threshold"] = lambda f: call(f(3, 4), 0.5, 1.0)
S["hardshrink"] = lambda f: call(f(3, 4), 0.4)
S["complex"] = lambda f: call(f(3), f(3))
S["polar"] = lambda f: call(f.positive(3), f(3))
S["imag"] = lambda f: call(f.lib.complex(f(3), f(3)))
S["view_as_real"] = S["imag"]
S["view_as_complex"] = lambda f: call(f(3, 2))
S["where"] = lambda f: [call(f.mask(3, 4), f(3, 4), f(4)), call(f.mask(3), f(3), 1.0)]
S["masked_fill"] = lambda f: call(f(3, 4), f.mask(4), 1.5)
S["clamp"] = lambda f: [call(f(3, 4), -0.5, 0.5), call(f(3, 4), f(4), None), call(f(3, 4), max=0.25)]
S["clamp_min"] = S["clamp_max"] = lambda f: call(f(3, 4), 0.25)
S["lerp"] = lambda f: [call(f(3, 4), f(3, 4), 0.25), call(f(3, 4), f(4), f(4))]
_same("addcmul addcdiv", lambda f: call(f(3, 4), f(4), f.positive(3, 1), value=0.5))
S["fill"] = lambda f: call(f(3, 4), 2.0)
# --- reductions and scans
_same("sum mean amax amin logsumexp", lambda f: [call(f(3, 4), 1), call(f(2, 3, 4), (0, 2), True)])
_same("nansum nanmean any all", lambda f: [call(f(3, 4)), call(f(3, 4), 1)])
S["prod"] = lambda f: [call(f(3, 2)), call(f(3, 2), 0, True)]
_same("max min", lambda f: [call(f(3, 4)), call(f(3, 4), 1), call(f(3, 4), f(3, 4))])
_same("argmax argmin", lambda f: [call(f(3, 4)), call(f(3, 4), 1, True)])
S["count_nonzero"] = lambda f: [call(f(3, 4)), call(f(3, 4), 0)]
_same("var std var_mean std_mean", lambda f: [call(f(3, 4)), call(f(3, 4), 1, correction=0, keepdim=True)])
S["norm"] = lambda f: [call(f(3, 4)), call(f(3, 4), 1, 0), call(f(3, 4), 3.0, (0, 1), True)]
S["dist"] = lambda f: call(f(3, 4), f(4), 2)
S["aminmax"] = lambda f: [call(f(3, 4)), call(f(3, 4), dim=1, keepdim=True)]
_same("cumsum cumprod cummax cummin logcumsumexp", lambda f: [call(f(3, 4), 1), call(f(3, 2), 0)])
S["gradient"] = lambda f: [call(f(3, 4)), call(f(3, 4), spacing=0.5, dim=1, edge_order=2), call(f(4), spacing=(f.positive(4).cumsum(0),), edge_order=2)]
S["diff"] = lambda f: [call(f(3, 4)), call(f(3, 4), 2, 0), call(f(3, 4), prepend=f(3, 1), append=f(3, 2))]
_same("trapezoid cumulative_trapezoid", lambda f: [call(f(3, 4)), call(f(3, 4), f(4)), call(f(3, 4), dx=0.5, dim=0)])
S["cov"] = lambda f: [call(f(3, 4)), call(f(3, 4), correction=0, fweights=f.index(4, 4) + 1)]
S["corrcoef"] = lambda f: call(f(3, 4))
S["softmax"] = S["log_softmax"] = lambda f: call(f(3, 4), 1)
S["pdist"] = lambda f: [call(f(3, 4)), call(f(3, 4), 1.0)]
S["hash_tensor"] = lambda f: [call(f(3, 4)), call(f(3, 4), 1), call(f(3, 4), 0, keepdim=True)]
S["cdist"] = lambda f: [call(f(3, 4), f(2, 4)), call(f(3, 4), f(2, 4), 1.0)]
S["ctc_loss"] = lambda f: [call(f(4, 2, 3).log_softmax(2), f.wrap([[1, 2], [2, 2]]), [4, 3], [2, 1])]
S["cross"] = lambda f: call(f(2, 3), f(2, 3), 1)
# --- products
S["matmul"] = lambda f: [call(f(3, 4), f(4, 2)), call(f(4), f(4)), call(f(2, 3, 4), f(4)), call(f(2, 3, 4), f(2, 4, 2))]
S["mm"] = lambda f: call(f(3, 4), f(4, 2))
S["bmm"] = lambda f: call(f(2, 3, 4), f(2, 4, 2))
S["mv"] = lambda f: call(f(3, 4), f(4))
S["dot"] = S["vdot"] = lambda f: call(f(4), f(4))
S["inner"] = lambda f: [call(f(3, 4), f(2, 4)), call(f(3), f())]
S["outer"] = lambda f: call(f(3), f(4))
S["addmm"] = lambda f: call(f(3, 2), f(3, 4), f(4, 2), beta=0.5, alpha=2.0)
S["addmv"] = lambda f: call(f(3), f(3, 4), f(4))
S["addr"] = lambda f: [call(f(3, 4), f(3), f(4)), call(f(3, 4), f(3), f(4), beta=0)]
S["baddbmm"] = lambda f: call(f(2, 3, 2), f(2, 3, 4), f(2, 4, 2))
S["addbmm"] = lambda f: call(f(3, 2), f(2, 3, 4), f(2, 4, 2))
S["tensordot"] = lambda f: [call(f(3, 4), f(4, 2), 1), call(f(3, 4), f(2, 4), ([1], [1]))]
S["matrix_power"] = lambda f: [call(f(3, 3), 3), call(f(3, 3), 0), call(_square(f, 3), -2)]


def _square(f, n):
    """Far from singular."""
    return f(n, n) + f.wrap(4 * np.eye(n), f.dtype)


def _exchanges(f, n):
    """Pivots of a factorisation without exchanges but for the first row."""
    return f.wrap(np.arange(1, n + 1).clip(2), "int32")


_same("det slogdet logdet inverse matrix_exp pinverse qr svd eig cholesky potrf symeig _lu_with_info",
      lambda f: call(_square(f, 3)))
_same("cholesky_inverse potri", lambda f: call(_square(f, 3)))
_same("cholesky_solve potrs", lambda f: [call(f(3, 2), _square(f, 3)), call(f(3, 1), _square(f, 3), True)])
_same("gesv gels", lambda f: call(f(3, 2), _square(f, 3)))
_same("triangular_solve trtrs", lambda f: [call(f(3, 2), _square(f, 3)), call(f(3, 1), _square(f, 3), False, True)])
_same("lu_solve btrisolve", lambda f: call(f(3, 2), _square(f, 3), _exchanges(f, 3)))
S["lu_unpack"] = lambda f: call(_square(f, 3), _exchanges(f, 3))
S["orgqr"] = lambda f: call(f(4, 3), f(2))
S["ormqr"] = lambda f: [call(f(4, 3), f(3), f(4, 2)), call(f(4, 3), f(3), f(2, 4), False, True)]
_same("nuclear_norm frobenius_norm", lambda f: call(_square(f, 3), (0, 1)))
S["vander"] = lambda f: [call(f(3)), call(f(3), 2, True)]
S["kron"] = lambda f: call(f(2, 3), f(2, 2))
# --- shapes
_same("view reshape", lambda f: [call(f(3, 4), (2, -1)), call(f(), (1, 1))])
S["expand"] = S["broadcast_to"] = lambda f: call(f(3, 1), (2, 3, 4))
S["permute"] = lambda f: call(f(2, 3, 4), (2, 0, 1))
S["transpose"] = lambda f: call(f(2, 3, 4), 0, -1)
S["t"] = S["adjoint"] = lambda f: call(f(3, 4))
S["squeeze"] = lambda f: [call(f(3, 1, 4)), call(f(3, 1, 4), 1)]
S["unsqueeze"] = lambda f: call(f(3, 4), -1)
S["select"] = lambda f: call(f(3, 4), 1, -2)
S["diagonal"] = lambda f: [call(f(3, 4)), call(f(2, 3, 4), 1, 1, 2)]
S["as_strided"] = lambda f: call(f(3, 4), (2, 2), (1, 2), 1)
S["narrow"] = lambda f: call(f(3, 4), 1, 1, 2)
S["unfold"] = lambda f: call(f(3, 7), 1, 3, 2)
_same("view_as reshape_as", lambda f: call(f(3, 4), f(2, 6)))
S["expand_as"] = lambda f: call(f(3, 1), f(3, 4))
S["flatten"] = lambda f: [call(f(2, 3, 4)), call(f(2, 3, 4), 1)]
S["unflatten"] = lambda f: call(f(3, 4), 1, (2, -1))
_same("ravel clone contiguous", lambda f: call(f(3, 4)))
S["movedim"] = lambda f: [call(f(2, 3, 4), 0, 2), call(f(2, 3, 4), (0, 1), (-1, 0))]
S["sum_to_size"] = lambda f: [call(f(3, 4), (3, 1)), call(f(2, 3, 4), 1, 4)]
S["split"] = lambda f: [call(f(5, 2), 2), call(f(2, 5), [1, 4], 1)]
S["split_with_sizes"] = lambda f: call(f(5, 2), [2, 3])
S["chunk"] = S["unsafe_chunk"] = lambda f: call(f(5, 2), 2)
S["unsafe_split"] = lambda f: call(f(5, 2), 2)
S["tensor_split"] = lambda f: [call(f(5, 2), 3), call(f(2, 5), (1, 3), 1)]
S["hsplit"] = S["vsplit"] = lambda f: call(f(4, 2), 2)
S["dsplit"] = lambda f: call(f(2, 2, 4), 2)
S["unbind"] = lambda f: call(f(3, 2), 1)
S["repeat"] = lambda f: call(f(3, 2), (2, 1, 2))
S["tile"] = lambda f: call(f(3, 2), (2,))
S["flip"] = lambda f: call(f(3, 4), (0, 1))
S["fliplr"] = S["flipud"] = lambda f: call(f(3, 4))
S["roll"] = lambda f: [call(f(3, 4), 2), call(f(3, 4), (1, -1), (0, 1))]
S["rot90"] = lambda f: [call(f(3, 4)), call(f(3, 4), 3, (1, 0))]
S["diag_embed"] = lambda f: call(f(3, 2), 1)
S["diag"] = lambda f: [call(f(3)), call(f(3, 4), 1)]
S["diagflat"] = lambda f: call(f(2, 2), -1)
S["trace"] = lambda f: call(f(3, 4))
_same("tril triu", lambda f: [call(f(3, 4)), call(f(2, 3, 3), 1)])
_same("cat hstack vstack", lambda f: call([f(3, 4), f(3, 4)]))
_same("stack dstack column_stack", lambda f: call([f(3, 2), f(3, 2)]))
S["vander"] = lambda f: [call(f(3)), call(f(3), 2, increasing=True)]
S["combinations"] = lambda f: call(f(4), 2)
S["select_scatter"] = lambda f: call(f(3, 4), f(3), 1, 2)
S["slice_scatter"] = lambda f: call(f(3, 4), f(3, 2), 1, 1, 3)
S["diagonal_scatter"] = lambda f: call(f(3, 4), f(3))
S["as_strided_scatter"] = lambda f: call(f(3, 4), f(2, 2), (2, 2), (1, 2), 1)
# --- signals
S["stft"] = lambda f: [call(f(2, 14), 6, 2, window=f.positive(6), return_complex=True), call(f(12), 6, 2, 4, f.positive(4), False, onesided=False, return_complex=True)]
S["istft"] = lambda f: call(f.lib.complex(f(4, 5), f(4, 5)), 6, 2, window=f.positive(6))
# --- positions
S["index"] = lambda f: call(f(3, 4), [None, f.index(4, 2)])
S["index_put"] = lambda f: [call(f(3, 4), [f.wrap([0, 2]), f.wrap([1, 3])], f(2)), call(f(3, 4), [f.index(3, 5)], f(4), True), call(f(3), [f.mask(3)], f())]
S["index_select"] = lambda f: call(f(3, 4), 1, f.index(4, 5))
S["gather"] = lambda f: [call(f(3, 4), 1, f.index(4, 2, 6)), call(f(3, 4), 0, f.index(3, 2, 4))]
S["take"] = lambda f: call(f(3, 4), f.index(12, 2, 3) - 6)
S["take_along_dim"] = lambda f: [call(f(3, 4), f.index(4, 3, 2), 1), call(f(3, 4), f.index(12, 5))]
S["scatter"] = lambda f: [call(f(3, 4), 1, f.wrap([[0, 2], [3, 1]]), f(2, 2)), call(f(3, 4), 0, f.index(3, 1, 4), 1.0)]
S["scatter_add"] = lambda f: call(f(3, 4), 1, f.index(4, 2, 5), f(3, 5))
S["scatter_reduce"] = lambda f: [call(f(3, 4), 1, f.index(4, 2, 5), f(3, 5), how, include_self=own)
                                 for how in ("sum", "prod", "mean", "amax", "amin") for own in (True, False)]
S["index_add"] = lambda f: [call(f(3, 4), 1, f.index(4, 6), f(3, 6)), call(f(3, 4), 0, f.index(3, 2), f(2, 4), alpha=2)]
S["index_reduce"] = lambda f: [call(f(3, 4), 1, f.index(4, 6), f(3, 6), how) for how in ("prod", "mean", "amax", "amin")]
S["index_copy"] = lambda f: call(f(3, 4), 1, f.wrap([2, 0]), f(3, 2))
S["index_fill"] = lambda f: call(f(3, 4), 1, f.wrap([2, 0, 2]), 1.5)
S["put"] = lambda f: [call(f(3, 4), f.wrap([5, 1, -1]), f(3)), call(f(3, 4), f.wrap([5, 1, 5]), f(3), True)]
S["masked_select"] = lambda f: call(f(3, 4), f.mask(4))
S["masked_scatter"] = lambda f: call(f(3, 4), f.mask(3, 4), f(12))
S["repeat_interleave"] = lambda f: [call(f(3, 2), 2), call(f(3, 2), f.wrap([1, 0, 2]), 0)]
S["embedding"] = lambda f: call(f(5, 3), f.index(5, 2, 4))
_same("nonzero argwhere", lambda f: call(f.wrap([[0, 1, 0, 2], [3, 0, 0, 1]], f.dtype)))
S["nonzero_static"] = lambda f: [call(f.wrap([[0, 1, 0, 2], [3, 0, 0, 1]], f.dtype), size=3), call(f.wrap([0, 0], f.dtype), size=2, fill_value=7)]
S["unravel_index"] = lambda f: call(f.index(12, 5), (3, 4))
# --- windows
S["constant_pad_nd"] = lambda f: [call(f(2, 3, 4), (1, 2, -1, 0)), call(f(2, 3), (0, 1, 2, 0, ), 1.5)]
S["convolution"] = lambda f: [call(f(2, 4, 5, 3), f(6, 2, 3, 2), f(6), (2, 1), (1, 0), (1, 2), False, (0, 0), 2),
                              call(f(2, 4, 3), f(4, 1, 3), None, (2,), (1,), (1,), True, (1,), 2)]
S["conv1d"] = lambda f: [call(f(2, 3, 6), f(4, 3, 3), f(4), 2, 1), call(f(4, 5), f(4, 1, 2), None, 1, "same", 2, 4)]
S["conv2d"] = lambda f: [call(f(2, 2, 4, 5), f(3, 2, 3, 2), f(3), padding=1), call(f(2, 5, 4), f(4, 2, 1, 1), stride=2)]
S["conv3d"] = lambda f: call(f(1, 2, 3, 4, 3), f(2, 2, 2, 3, 2), f(2), 1, (1, 0, 1))
S["conv_transpose1d"] = lambda f: [call(f(2, 3, 4), f(3, 2, 3), f(2), 2, 1, 1), call(f(2, 3), f(2, 2, 2), None, 1, 0, 1, 2, 2)]
S["conv_transpose2d"] = lambda f: [call(f(2, 2, 3, 4), f(2, 3, 3, 2), f(3), (2, 1), 1), call(f(2, 3, 2), f(2, 1, 1, 1), stride=2)]
S["conv_transpose3d"] = lambda f: call(f(1, 2, 2, 3, 2), f(2, 2, 2, 1, 3), f(2), (1, 2, 1))
S["conv_tbc"] = lambda f: call(f(5, 2, 3), f(3, 3, 2), f(2), 1)
S["max_pool1d"] = lambda f: [call(f(2, 3, 7), 3, 2, 1), call(f(3, 6), 2)]
S["max_pool2d"] = lambda f: call(f(1, 2, 5, 4), (2, 3), 1, (1, 0))
S["max_pool3d"] = lambda f: call(f(1, 2, 3, 4, 3), 2)
S["max_pool1d_with_indices"] = S["max_pool1d"]
S["avg_pool1d"] = lambda f: call(f(2, 3, 7), 3, 2, 1)
_same("adaptive_avg_pool1d adaptive_max_pool1d", lambda f: [call(f(2, 3, 7), 3), call(f(3, 6), 2)])
S["pixel_shuffle"] = S["pixel_unshuffle"] = lambda f: call(f(1, 4, 2, 4), 2)
_same("channel_shuffle native_channel_shuffle", lambda f: call(f(1, 4, 2, 3), 2))
S["grid_sampler"] = S["grid_sampler_2d"] = lambda f: call(f(1, 2, 4, 3), f.unit(1, 3, 2, 2), 0, 0, False)
S["grid_sampler_3d"] = lambda f: call(f(1, 1, 3, 2, 3), f.unit(1, 2, 2, 1, 3), 0, 1, True)
# --- order
_same("sort argsort", lambda f: [call(f(3, 4)), call(f(3, 4), 0, True)])
S["msort"] = lambda f: call(f(3, 4))
S["topk"] = lambda f: [call(f(3, 4), 2), call(f(3, 4), 2, 0, False)]
S["kthvalue"] = lambda f: [call(f(3, 4), 2), call(f(3, 4), 1, 0, True)]
_same("median nanmedian", lambda f: [call(f(3, 4)), call(f(3, 4), 1), call(f(3, 4), 0, True)])
S["mode"] = lambda f: call(f(3, 4))
_same("quantile nanquantile", lambda f: [call(f(3, 4), 0.3), call(f(3, 4), f.unit(2), 1, True), call(f(3, 4), 0.3, 0, interpolation="nearest")])
_same("unique unique_consecutive", lambda f: [call(f.index(4, 9)), call(f.index(4, 9), return_inverse=True, return_counts=True),
                                              call(f.index(2, 4, 2), dim=0)])
S["searchsorted"] = lambda f: [call(f.wrap([1, 3, 5, 5, 7]), f.whole(3, 4)), call(f.wrap([1, 3, 5, 5, 7]), f.whole(3), right=True)]
S["bucketize"] = lambda f: call(f.whole(3, 4), f.wrap([1, 3, 5, 5, 7]))
S["bincount"] = lambda f: [call(f.index(5, 9)), call(f.index(5, 9), f(9), 8)]
S["histc"] = lambda f: [call(f(20), 5), call(f(20), 4, -1, 1)]
S["histogramdd"] = lambda f: [call(f(20, 2), [2, 3]), call(f(20, 2), 2, density=True, weight=f.positive(20))]
S["histogram"] = lambda f: call(f(20), 5)
# --- whole tensors
_same("allclose equal", lambda f: [call(f(3), f(3)), call(f.lib.ones(2), f.lib.ones(2))])
S["is_nonzero"] = lambda f: call(f(1))
S["native_layer_norm"] = lambda f: call(f(3, 4), (4,), f(4), f(4), 1e-5)
S["native_group_norm"] = lambda f: call(f(2, 4, 3), f(4), f(4), 2, 4, 3, 2, 1e-5)
S["native_batch_norm"] = lambda f: call(f(3, 2, 3), f(2), f(2), None, None, True, 0.1, 1e-5)
S["layer_norm"] = lambda f: call(f(3, 4), (4,), f(4), f(4))

S["segment_reduce"] = lambda f: [call(f(6, 2), how, lengths=f.wrap([1, 3, 2]), **more) for how in ("sum", "mean", "max", "min", "prod")
                                 for more in ({}, {"initial": 0.5})] + [call(f(2, 4), "sum", offsets=f.wrap([[0, 1, 4], [0, 3, 4]]), axis=1)]
S["gru_cell"] = lambda f: call(f(2, 3), f(2, 2), f(6, 3), f(6, 2), f(6), f(6))
_same("rnn_tanh_cell rnn_relu_cell", lambda f: call(f(2, 3), f(2, 2), f(2, 3), f(2, 2), f(2), f(2)))

HERMITIAN = {"cholesky", "potrf", "symeig"}      # they read a triangle of their matrix, and their gradient is that of a Hermitian one
EARLY = {"gesv", "gels", "potrf", "potri", "potrs", "trtrs", "btrisolve", "symeig", "eig"}      # names that PyTorch has dropped
RANDOM = {"bernoulli", "binomial", "dropout", "multinomial", "poisson"}      # their numbers have tests of their own


def calls(name, make):
    found = S[name](make)
    return found if isinstance(found, list) else [found]
