"""Mixed precision on CUDA devices, by PyTorch's older names; `torch.amp` has the newer ones."""
import functools
import warnings

from .. import amp as _amp

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def _deprecated(name):
    warnings.warn(f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('cuda', args...)` instead.",
                  FutureWarning, stacklevel=3)


class autocast(_amp.autocast):
    """`torch.autocast("cuda", …)`."""

    def __init__(self, enabled=True, dtype=None, cache_enabled=True):
        _deprecated("autocast")
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(_amp.GradScaler):
    """`torch.amp.GradScaler("cuda", …)`."""

    def __init__(self, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        _deprecated("GradScaler")
        super().__init__("cuda", init_scale=init_scale, growth_factor=growth_factor, backoff_factor=backoff_factor, growth_interval=growth_interval,
                         enabled=enabled)


custom_fwd = functools.partial(_amp.custom_fwd, device_type="cuda")
custom_bwd = functools.partial(_amp.custom_bwd, device_type="cuda")
