"""The older names of mixed precision, which PyTorch has once for each kind of device: `torch.cuda.amp`, `torch.cpu.amp`."""
import warnings

from .autocast_mode import autocast as _autocast
from .grad_scaler import GradScaler as _GradScaler


def names_for(device):
    """The classes `autocast` and `GradScaler` of a kind of device, which say that they are deprecated."""
    def warn(name):
        warnings.warn(f"`torch.{device}.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('{device}', args...)` instead.",
                      FutureWarning, stacklevel=3)

    class autocast(_autocast):
        __doc__ = f"""`torch.autocast("{device}", …)`."""

        def __init__(self, enabled=True, dtype=None, cache_enabled=True):
            warn("autocast")
            super().__init__(device, dtype, enabled, cache_enabled)

    class GradScaler(_GradScaler):
        __doc__ = f"""`torch.amp.GradScaler("{device}", …)`."""

        def __init__(self, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
            warn("GradScaler")
            super().__init__(device, init_scale=init_scale, growth_factor=growth_factor, backoff_factor=backoff_factor,
                             growth_interval=growth_interval, enabled=enabled)

    for made in (autocast, GradScaler):
        made.__module__, made.__qualname__ = f"{__package__.partition('.')[0]}.{device}.amp", made.__name__      # for pickles
    return autocast, GradScaler
