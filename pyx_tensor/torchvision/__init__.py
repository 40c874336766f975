"""torchvision's name of `pyx_tensor.vision`, for programs that say `pyx_tensor.torchvision.models`: the same modules under both names."""
import sys

from ..vision import models

for _name, _module in list(sys.modules.items()):
    if _name.startswith(models.__name__):
        sys.modules[_name.replace("vision", "torchvision", 1)] = _module
