"""AdamW, by the name of PyTorch's module."""
from .adam import AdamW  # noqa: F401
