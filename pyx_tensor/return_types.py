"""The named tuples that operations with several results return, by PyTorch's names: `torch.return_types.sort`."""
from .core.definitions import operations

_found = {operation.returns.__name__: operation.returns for operation in operations.values() if operation.returns is not None}
globals().update(_found)
__all__ = sorted(_found)
