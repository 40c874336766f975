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


def public_module(name):
    """The name of one of our modules in files: 'torch.nn.modules.linear' for 'pyx_tensor.nn.modules.linear'."""
    return "torch" + name.removeprefix("pyx_tensor") if name.partition(".")[0] == "pyx_tensor" else name


def own_module(name):
    """The way back."""
    return "pyx_tensor" + name.removeprefix("torch") if name.partition(".")[0] == "torch" else name
