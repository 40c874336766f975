"""Mixed precision on the CPU, by PyTorch's older names; `torch.amp` has the newer ones."""
from ..amp.older import names_for

__all__ = ["GradScaler", "autocast"]

autocast, GradScaler = names_for("cpu")
