"""Joining and splitting of dimensions."""
from .module import Module


class Flatten(Module):
    """Joins the dimensions ``start_dim`` to ``end_dim`` (both included) into one.

    >>> nn.Flatten()(torch.randn(32, 1, 5, 5)).size()
    torch.Size([32, 25])
    """

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self):
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits the dimension ``dim`` into the sizes ``unflattened_size``, of which one may be -1.

    >>> nn.Unflatten(1, (2, 5, 5))(torch.randn(2, 50)).size()
    torch.Size([2, 2, 5, 5])
    """

    def __init__(self, dim, unflattened_size):
        super().__init__()
        if isinstance(dim, str):
            raise NotImplementedError("Unflatten: named dimensions are not supported")
        if not isinstance(dim, int):
            raise TypeError("unflattened_size must be a tuple of tuples, but found type " + type(dim).__name__)
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError("unflattened_size must be a tuple of ints, but found type "
                            + type(unflattened_size).__name__)
        for place, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(f"unflattened_size must be tuple of ints, but found element of type "
                                f"{type(size).__name__} at pos {place}")
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input):
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self):
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
