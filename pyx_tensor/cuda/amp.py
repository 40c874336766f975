"""Mixed precision on CUDA devices, by PyTorch's older names; `torch.amp` has the newer ones."""
import functools

from .. import amp as _amp
from ..amp.older import names_for

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

autocast, GradScaler = names_for("cuda")
custom_fwd = functools.partial(_amp.custom_fwd, device_type="cuda")
custom_bwd = functools.partial(_amp.custom_bwd, device_type="cuda")
