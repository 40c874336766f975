"""The names under which PyTorch's files speak of dtypes and storages."""
from ..core.dtype import by_name

# Storage class in a file -> dtype
STORAGES = {
    "FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16", "LongStorage": "int64",
    "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8", "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64", "ComplexDoubleStorage": "complex128",
}
STORAGE_OF = {dtype: storage for storage, dtype in STORAGES.items()}


class StorageType:
    """Stands for `torch.FloatStorage` and its kin in a pickle."""

    def __init__(self, name):
        self.name = name
        self.dtype = by_name[STORAGES[name]]


storage_types = {name: StorageType(name) for name in STORAGES}
