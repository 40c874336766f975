"""The names under which PyTorch's files speak of dtypes and storages."""
from ..core.dtype import by_name
from ..ops.storage import storage_types

# Storage class in a file -> dtype; "UntypedStorage" counts in bytes
STORAGES = {name: kind.dtype for name, kind in storage_types.items()}
STORAGES["UntypedStorage"] = by_name["uint8"]
STORAGE_OF = {kind.dtype: name for name, kind in storage_types.items()}


class StorageType:
    """Stands for `torch.FloatStorage` and its kin in a file that is read."""

    def __init__(self, name):
        self.name = name
        self.dtype = STORAGES[name]
        self.is_typed = name != "UntypedStorage"


by_storage_name = {name: StorageType(name) for name in STORAGES}


# Layers that stand in another file than PyTorch's: its file, below torch.nn.modules -> their names
_PLACES = {
    "activation": "MultiheadAttention", "channelshuffle": "ChannelShuffle", "fold": "Fold Unfold", "pixelshuffle": "PixelShuffle PixelUnshuffle",
    "upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d", "batchnorm": "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d",
    "conv": "LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d",
    "instancenorm": "LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d", "linear": "LazyLinear",
    "linear_cross_entropy_options": "LinearCrossEntropyOptions", "container": "Container", "loss": "NLLLoss2d",
}
_place_of = {name: f"torch.nn.modules.{file}" for file, names in _PLACES.items() for name in names.split()}


def public_module(module, name=None):
    """The module in which files have something of ours: 'torch.nn.modules.linear' for what is in 'pyx_tensor.nn.modules.linear'."""
    if module.partition(".")[0] != "pyx_tensor":
        return module
    if module.startswith("pyx_tensor.nn.") and name in _place_of:
        return _place_of[name]
    return "torch" + module.removeprefix("pyx_tensor")


def own_module(name):
    """The way back."""
    return "pyx_tensor" + name.removeprefix("torch") if name.partition(".")[0] == "torch" else name
