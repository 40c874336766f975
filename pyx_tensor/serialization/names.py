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


# our module -> PyTorch's, where a layer stands in another file there
_PLACES = {"pyx_tensor.nn.modules.attention": "torch.nn.modules.activation"}


def public_module(name):
    """The name of one of our modules in files: 'torch.nn.modules.linear' for 'pyx_tensor.nn.modules.linear'."""
    if name.partition(".")[0] != "pyx_tensor":
        return name
    return _PLACES.get(name) or "torch" + name.removeprefix("pyx_tensor")


def own_module(name):
    """The way back."""
    return "pyx_tensor" + name.removeprefix("torch") if name.partition(".")[0] == "torch" else name
