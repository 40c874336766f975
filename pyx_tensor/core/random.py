"""PyTorch's CPU random stream: `Generator` and the functions on the default one, over NumPy arrays."""
import secrets

import numpy as np

from . import distributions
from .mt19937 import Engine

# What get_state() and set_state() carry: PyTorch's state of a CPU generator, 5056 bytes.
STATE = np.dtype([
    ("seed", "<u8"), ("left", "<i4"), ("seeded", "<i4"), ("next", "<u8"), ("words", "<u8", 624),
    ("normal_x", "<f8"), ("normal_y", "<f8"), ("normal_rho", "<f8"), ("normal_is_valid", "<i4"), ("padding", "<i4"),
    ("float_normal", "<f4"), ("float_normal_is_valid", "?"), ("float_padding", "V3"),
])


def _as_seed(seed):
    """`seed` as an unsigned 64-bit integer; negative ones count from 2**64."""
    if not -2**63 <= seed < 2**64:
        raise ValueError(f"seed must lie in [-2**63, 2**64), got {seed}")
    return seed % 2**64


class Generator(Engine):
    """A stream of pseudo-random numbers, PyTorch's for the same seed."""

    device = "cpu"

    def manual_seed(self, seed):
        """Start the stream anew from `seed`, an integer of [-2**63, 2**64). Returns the generator."""
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        self._seed(_as_seed(seed.__index__()))
        return self

    def seed(self):
        """Start the stream anew from a seed that the operating system chooses, and return that seed."""
        seed = secrets.randbits(64)
        self._seed(seed)
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
        return self

    def clone_state(self):
        """A new generator that continues as this one would."""
        return type(self)().set_state(self.get_state())

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
    fill_integers = distributions.fill_integers
    permutation = distributions.permutation


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
