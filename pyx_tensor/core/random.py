"""PyTorch's CPU random stream: `Generator` and the functions on the default one, over NumPy arrays."""
import functools
import os
import sys

import ml_dtypes
import numpy as np

from . import distributions, rejection
from .mt19937 import Engine

# What get_state() and set_state() carry: PyTorch's state of a CPU generator, 5056 bytes.
STATE = np.dtype([
    ("seed", "<u8"), ("left", "<i4"), ("seeded", "<i4"), ("next", "<u8"), ("words", "<u8", 624),
    ("normal_x", "<f8"), ("normal_y", "<f8"), ("normal_rho", "<f8"), ("normal_is_valid", "<i4"), ("padding", "<i4"),
    ("float_normal", "<f4"), ("float_normal_is_valid", "?"), ("float_padding", "V3"),
])


_INT64 = np.dtype(np.int64)

# Ranges from here on are drawn from 64-bit words: a remainder of a 32-bit word would favour small values.
WIDE_RANGE = 2**28


@functools.cache
def _significand(dtype):
    """Bits of the significand of a floating dtype, the implicit one included."""
    return 1 - round(np.log2(float(ml_dtypes.finfo(dtype).eps)))


def _is_floating(dtype):
    return dtype.kind in "fV"


@functools.cache
def _integer_limits(dtype):
    """The range of integers that a dtype is filled with: all of an integer type, what is exact in a floating one."""
    if dtype == bool:
        return 0, 1
    if _is_floating(dtype):
        return -2**_significand(dtype), 2**_significand(dtype)
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def _representable_range(dtype, low, high):
    """`[low, high)` narrowed so that rounding to a floating dtype does not leave it."""
    above, below = dtype.type(low + 1), dtype.type(high - 1)
    if int(above) < low:
        low = int(np.nextafter(above, dtype.type(np.inf)))
    if int(below) >= high:
        high = int(np.nextafter(below, dtype.type(-np.inf)))
    return low, high


def _check_within(dtype, name, value):
    if _is_floating(dtype):
        most = int(float(ml_dtypes.finfo(dtype).max))
        least = -most
    else:
        least, most = _integer_limits(dtype)
    if not least <= value <= most:
        raise RuntimeError(f"{name} is out of bounds for {dtype}: {value} is not in [{least}, {most}]")


def _as_seed(seed):
    """`seed` as an unsigned 64-bit integer; negative ones count from 2**64."""
    if not -2**63 <= seed < 2**64:
        raise ValueError(f"seed must lie in [-2**63, 2**64), got {seed}")
    return seed % 2**64


class Generator(Engine):
    """A stream of pseudo-random numbers, PyTorch's for the same seed."""
    _side = None         # (the state where it left this stream, the generator), see _side_stream

    def __init__(self, device="cpu"):
        if device != "cpu":
            raise RuntimeError(f"this generator's device is cpu, not {device}")
        self.device = device

    def manual_seed(self, seed):
        """Start the stream anew from `seed`, an integer of [-2**63, 2**64). Returns the generator."""
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        self._seed(_as_seed(seed.__index__()))
        self._side = None
        return self

    def seed(self):
        """Start the stream anew from a seed that the operating system chooses, and return that seed."""
        seed = int.from_bytes(os.urandom(8), "little")
        self._seed(seed)
        self._side = None
        return seed

    def get_state(self):
        """The state as a uint8 array of PyTorch's layout."""
        seed, left, position, words, double_normal, float_normal = self._snapshot()
        state = np.zeros((), STATE)
        state["seed"], state["left"], state["seeded"], state["next"], state["words"] = seed, left, 1, position, words
        if double_normal is not None:
            state["normal_y"], state["normal_is_valid"] = double_normal, 1
        if float_normal is not None:
            state["float_normal"], state["float_normal_is_valid"] = float_normal, True
        return state.reshape(1).view(np.uint8)

    def set_state(self, state):
        """Continue from `state`, a uint8 array that get_state() returned. Returns the generator."""
        state = np.asarray(state)
        if state.dtype != np.uint8:
            raise TypeError(f"RNG state must be an array of uint8, got {state.dtype}")
        if state.size != STATE.itemsize:
            raise RuntimeError(f"Expected a CPUGeneratorImplState of size {STATE.itemsize} but found the input RNG state size to be {state.size}")
        fields = np.ascontiguousarray(state).reshape(-1).view(STATE)[0]
        if fields["seeded"] != 1 or fields["next"] > 624:
            raise RuntimeError("Invalid mt19937 state")
        double_normal = float(fields["normal_y"]) if fields["normal_is_valid"] else None
        float_normal = float(fields["float_normal"]) if fields["float_normal_is_valid"] else None
        try:
            self._restore(int(fields["seed"]), int(fields["left"]), int(fields["next"]), fields["words"].astype(np.uint32),
                          double_normal, float_normal)
        except ValueError as error:
            raise RuntimeError(f"Invalid mt19937 state: {error}") from None
        self._side = None
        return self

    def clone_state(self):
        """A new generator that continues as this one would."""
        return type(self)().set_state(self.get_state())

    def _side_stream(self):
        """A generator that begins where this one stands and leaves it there; until this one moves or starts anew, it is the same one."""
        state = Generator.get_state(self)
        if self._side is None or not np.array_equal(self._side[0], state):
            self._side = state, self.clone_state()
        return self._side[1]

    def __copy__(self):
        return self.clone_state()

    def __deepcopy__(self, memo):
        return self.clone_state()

    def __reduce__(self):
        return _restored, (type(self), self.get_state())

    fill_uniform = distributions.fill_uniform
    fill_normal = distributions.fill_normal
    fill_log_normal = distributions.fill_log_normal
    fill_exponential = distributions.fill_exponential
    fill_cauchy = distributions.fill_cauchy
    fill_geometric = distributions.fill_geometric
    fill_double_uniform = distributions.fill_double_uniform
    fill_bernoulli = distributions.fill_bernoulli
    fill_bernoulli_array = distributions.fill_bernoulli_array
    poisson = rejection.poisson
    binomial = rejection.binomial
    standard_gamma = rejection.standard_gamma
    dirichlet = rejection.dirichlet

    def fill_random(self, out, low=None, high=None):
        """Fill with integers of [low, high).

        Without `high`: up to the largest of the dtype (2**significand for floating ones). Without `low` too: from 0; `low=-2**63`
        then stands for all 64 bits.
        """
        dtype = out.dtype
        if dtype is _INT64 and type(low) is type(high) is int and -2**62 < low < high < 2**62:
            return distributions.fill_integers(self, out, low, high - low, high - low >= WIDE_RANGE)
        if dtype.kind not in "biufV":
            raise NotImplementedError(f"random_ is not implemented for {dtype}")
        least, most = _integer_limits(dtype)
        if low is None and high is None:
            wide = dtype in (np.int64, np.float64)
            return distributions.fill_integers(self, out, 0, most + 1, wide)
        low = 0 if low is None else low
        if high is None:
            if low == -2**63:
                return self._fill_all_bits(out)
            high = most + 1
        if low >= high:
            raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
        if _is_floating(dtype):
            low, high = _representable_range(dtype, low, high)
        _check_within(dtype, "from", low)
        _check_within(dtype, "to - 1", high - 1)
        return distributions.fill_integers(self, out, low, high - low, high - low >= WIDE_RANGE)

    def _fill_all_bits(self, out):
        if out.dtype not in (np.int64, np.float64, np.float32, ml_dtypes.bfloat16):
            raise RuntimeError(f"the full range of 64 bits is for int64, float64, float32 and bfloat16, not {out.dtype}")
        return distributions.fill_integers(self, out, 0, 0, True)

    def randperm(self, n, dtype=np.int64):
        """0 … n - 1 in random order."""
        if dtype == np.int64 and 0 <= n < 2**62:
            return distributions.permutation(self, n)
        dtype = np.dtype(dtype)
        if n < 0:
            raise RuntimeError(f"n must be non-negative, got {n}")
        if dtype.kind not in "iufV":
            raise NotImplementedError(f"randperm is not implemented for {dtype}")
        largest = _integer_limits(dtype)[1]
        if n > largest + 1:
            raise RuntimeError(f"n cannot be greater than {largest + 1} for {dtype}, got {n}")
        return distributions.permutation(self, n).astype(dtype, copy=False)

    def multinomial(self, probs, num_samples, replacement=False):
        """Indices (int64) drawn along the last dimension of a 1-d or 2-d floating array, with these weights.

        Ties between rounded keys (only float16 and bfloat16 have many) are won by the smaller index.
        """
        _check_weights(probs, num_samples, replacement)
        if num_samples == 1 or not replacement:
            keys = self._exponential_keys(probs)
            return _largest(keys, num_samples)
        sums = np.cumsum(probs, axis=-1, dtype=np.promote_types(probs.dtype, np.float32))
        sums = (sums / sums[..., -1:]).astype(np.float64)
        sums[..., -1] = 1.0
        uniforms = self.fill_uniform(np.empty((*probs.shape[:-1], num_samples)))
        if probs.ndim == 1:
            return sums.searchsorted(uniforms)
        return np.array([row.searchsorted(u) for row, u in zip(sums, uniforms)], np.int64).reshape(uniforms.shape)

    def _exponential_keys(self, probs):
        """Weights over exponential variables: in descending order of these, indices come as drawn without replacement."""
        keys = self.fill_exponential(np.empty_like(probs))
        with np.errstate(divide="ignore", invalid="ignore"):
            return (probs / keys).astype(np.promote_types(probs.dtype, np.float32), copy=False)


def _largest(keys, count):
    """Positions of the `count` largest of non-negative keys along the last dimension, in descending order, ties by position."""
    keys = np.fmax(keys, 0) + 0.0       # no weight over 0 isn't a number, and a negative zero's bits are out of order
    if count == 1:
        return keys.argmax(-1, keepdims=True)
    if keys.dtype != np.float32 or keys.shape[-1] > 1 << 32:
        return np.argsort(-keys, axis=-1, kind="stable")[..., :count]
    # the bits of floats that aren't negative are in their order: a number of the key's complement and the position holds both, and is quick to select by
    packed = (~np.ascontiguousarray(keys).view(np.uint32)).astype(np.uint64) << np.uint64(32) | np.arange(keys.shape[-1], dtype=np.uint64)
    packed = np.partition(packed, count - 1, axis=-1)[..., :count]
    packed.sort(axis=-1)
    return (packed & np.uint64(0xffff_ffff)).astype(np.int64)


def _check_weights(probs, num_samples, replacement):
    if not _is_floating(probs.dtype):
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {probs.dtype}")
    if probs.ndim not in (1, 2) or probs.shape[-1] == 0:
        raise RuntimeError(f"prob_dist must be 1 or 2 dim and not empty, got shape {list(probs.shape)}")
    if num_samples <= 0:
        raise RuntimeError(f"cannot sample n_sample <= 0 samples, got {num_samples}")
    if not replacement and num_samples > probs.shape[-1]:
        raise RuntimeError(f"cannot sample n_sample > prob_dist.size(-1) samples without replacement: {num_samples} > {probs.shape[-1]}")
    if not distributions.lie_up_to(probs, sys.float_info.max):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not probs.any(-1).all():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def _restored(cls, state):
    return cls().set_state(state)


default_generator = Generator()
default_generator.seed()


def manual_seed(seed):
    """Seed the default generator with `seed` (anything that int() takes) and return it."""
    return default_generator.manual_seed(int(seed))


def seed():
    """Seed the default generator from the operating system and return the seed."""
    return default_generator.seed()


def initial_seed():
    """The seed that the default generator was last started with."""
    return default_generator.initial_seed()


def get_rng_state():
    """The default generator's state as a uint8 array of PyTorch's layout (5056 bytes)."""
    return default_generator.get_state()


def set_rng_state(state):
    """Continue the default generator from `state`."""
    default_generator.set_state(state)
