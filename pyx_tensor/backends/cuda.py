"""Permissions for CUDA's libraries; kept, and without effect."""
from types import SimpleNamespace

matmul = SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True)


def is_built():
    """True: CUDA devices are supported (`torch.cuda.is_available()` tells whether there are any)."""
    return True
