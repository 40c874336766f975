"""The orders in which elements can lie, and the layouts of tensors."""


class _Named:
    """One object a name, printed and pickled by it."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"

    def __reduce__(self):
        return self.name


class memory_format(_Named):
    """`contiguous_format` (row-major), `preserve_format` (as the input), and PyTorch's channels-last names."""


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")


class layout(_Named):
    """How a tensor keeps its elements: `strided`, an array with strides, or `sparse_coo`, a list of places and values.

    The other names are PyTorch's; no tensor has them.
    """


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr, sparse_csc, sparse_bsr, sparse_bsc = (layout(f"sparse_{kind}") for kind in ("csr", "csc", "bsr", "bsc"))
