"""Random numbers of CUDA tensors. One stream of numbers serves all devices, so that a script gives the same ones wherever it runs."""
from ..core import random as _random
from ..ops import random as _ops
from ._devices import device_count, index_of, is_available

__all__ = ["get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all", "set_rng_state", "set_rng_state_all"]


def manual_seed(seed):
    """Seed the random numbers of CUDA tensors, which is `torch.manual_seed`. Does nothing without CUDA."""
    seed = int(seed)
    if is_available():
        _random.manual_seed(seed)


def manual_seed_all(seed):
    """As `manual_seed`, for all devices."""
    manual_seed(seed)


def seed():
    """Seed from the system's entropy. Does nothing without CUDA."""
    if is_available():
        _ops.seed()


def seed_all():
    """As `seed`, for all devices."""
    seed()


def initial_seed():
    """The seed last given; RuntimeError without CUDA."""
    index_of(None, "initial_seed")
    return _ops.initial_seed()


def get_rng_state(device="cuda"):
    """The state of the stream, as `torch.get_rng_state`; RuntimeError without CUDA."""
    index_of(device, "get_rng_state")
    return _ops.get_rng_state()


def get_rng_state_all():
    """`get_rng_state` of each device."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state(new_state, device="cuda"):
    """Go on from a state of `get_rng_state`."""
    index_of(device, "set_rng_state")
    _ops.set_rng_state(new_state)


def set_rng_state_all(new_states):
    """`set_rng_state` of each device."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
