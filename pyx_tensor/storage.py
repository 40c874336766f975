"""PyTorch's module of storages: see `Tensor.storage` and `Tensor.untyped_storage`."""
from .ops.storage import TypedStorage, UntypedStorage  # noqa: F401
