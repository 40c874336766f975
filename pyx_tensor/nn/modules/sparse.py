"""Layers that look up rows."""
from .. import functional as F
from .. import init
from ...ops import namespace as ops
from ..parameter import Parameter
from .module import Module


class Embedding(Module):
    """A table of vectors, looked up by index.

    Args:
        num_embeddings, embedding_dim: number of vectors and their length.
        padding_idx: a row that starts at zero and gets no gradient.
        max_norm, norm_type: rows that are looked up and longer than ``max_norm`` are shortened to it in place.
        scale_grad_by_freq: divide a row's gradient by the number of times that it was looked up.
        sparse: the gradient of ``weight`` is a sparse tensor that lists the rows looked up.

    Shapes: input (*) of int32 or int64, output (*, embedding_dim), ``weight`` (num_embeddings, embedding_dim).

    >>> nn.Embedding(10, 3)(torch.tensor([[1, 2, 4, 5], [4, 3, 2, 9]])).size()
    torch.Size([2, 4, 3])
    """

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0,
                 scale_grad_by_freq=False, sparse=False, _weight=None, _freeze=False, device=None, dtype=None):
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = _row_index(padding_idx, num_embeddings)
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        if _weight is None:
            weight = ops.empty((num_embeddings, embedding_dim), device=device, dtype=dtype)
            self.weight = Parameter(weight, requires_grad=not _freeze)
            self.reset_parameters()
        else:
            if list(_weight.shape) != [num_embeddings, embedding_dim]:
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(_weight, requires_grad=not _freeze)

    def reset_parameters(self):
        """Draw new vectors from the standard normal distribution."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            init.zeros_(self.weight.detach()[self.padding_idx])

    def forward(self, input):
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
                           self.scale_grad_by_freq, self.sparse)

    def extra_repr(self):
        optional = dict(padding_idx=(self.padding_idx, None), max_norm=(self.max_norm, None),
                        norm_type=(self.norm_type, 2), scale_grad_by_freq=(self.scale_grad_by_freq, False))
        given = [f"{name}={value}" for name, (value, default) in optional.items() if value != default]
        return ", ".join([f"{self.num_embeddings}, {self.embedding_dim}", *given,
                          *(["sparse=True"] if self.sparse else [])])

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, max_norm=None, norm_type=2.0,
                        scale_grad_by_freq=False, sparse=False):
        """An embedding over the given table of shape (num_embeddings, embedding_dim), fixed unless ``freeze=False``."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse,
                   _weight=embeddings, _freeze=freeze)


def _row_index(padding_idx, rows):
    """``padding_idx`` counted from the start."""
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % rows
