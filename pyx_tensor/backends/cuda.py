"""Permissions for CUDA's libraries."""
from ..core import settings
from ..core.protocol import permissions


class _Products:
    """What matrix products on CUDA devices may do for speed.

    Attributes:
        allow_tf32: float32's factors may be rounded to 10 bits; as `torch.set_float32_matmul_precision("high")`.
        allow_fp16_reduced_precision_reduction, allow_bf16_reduced_precision_reduction: sums may be added up in the half type.
    """

    _FIELDS = {"allow_tf32": "tf32", "allow_fp16_reduced_precision_reduction": "reduced_float16",
               "allow_bf16_reduced_precision_reduction": "reduced_bfloat16"}

    def __getattr__(self, name):
        if name not in self._FIELDS:
            raise AttributeError(f"Unknown attribute {name}")
        return getattr(permissions, self._FIELDS[name])

    def __setattr__(self, name, value):
        if name not in self._FIELDS:
            raise AttributeError(f"Unknown attribute {name}")
        if name == "allow_tf32":
            settings.set_float32_matmul_precision("high" if value else "highest")
        setattr(permissions, self._FIELDS[name], bool(value))


matmul = _Products()


def is_built():
    """True: CUDA devices are supported (`torch.cuda.is_available()` tells whether there are any)."""
    return True
