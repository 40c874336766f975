"""Classes that PyTorch keeps for programs of old."""
import warnings

from .loss import NLLLoss
from .module import Module


class Container(Module):
    """A module with the given children, by name. Deprecated; any :class:`Module` holds children."""

    def __init__(self, **kwargs):
        super().__init__()
        warnings.warn("`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. Subclass that instead.", FutureWarning,
                      stacklevel=2)
        for name, module in kwargs.items():
            self.add_module(name, module)


class NLLLoss2d(NLLLoss):
    """The deprecated name of :class:`NLLLoss`, which takes images too."""

    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
        warnings.warn("`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement.", FutureWarning, stacklevel=2)
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class DataParallel(Module):
    """A module under the name `module`, which PyTorch would run on several GPUs at once; here it runs where its parameters are.

    Args:
        module: what is run. device_ids, output_device, dim: without effect.
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module, self.device_ids = module, []

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)
