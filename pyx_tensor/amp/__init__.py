"""Mixed precision: `autocast` chooses a smaller dtype where it does no harm, `GradScaler` keeps small gradients from vanishing.

>>> import pyx_tensor as torch
>>> with torch.autocast("cpu"):
...     product = torch.ones(2, 2) @ torch.ones(2, 2)
>>> product.dtype
torch.bfloat16
"""
from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
