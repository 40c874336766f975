"""The default stream of random numbers, under PyTorch's name `torch.random`."""
import contextlib

from .ops.random import default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, device_type="cuda"):
    """In this block, what is drawn or seeded leaves no trace: the default stream goes on afterwards where it was before.

    There is one stream for all devices, so `devices` and `device_type` make no difference.

    >>> import pyx_tensor as torch
    >>> state = torch.get_rng_state()
    >>> with torch.random.fork_rng():
    ...     _ = torch.rand(3)
    >>> torch.equal(state, torch.get_rng_state())
    True
    """
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
