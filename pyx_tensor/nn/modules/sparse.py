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


class EmbeddingBag(Module):
    """The sum, mean or maximum of the vectors of each bag of indices; 0 for an empty bag.

    Args:
        num_embeddings, embedding_dim: number of vectors and their length.
        max_norm, norm_type: rows that are looked up and longer than ``max_norm`` are shortened to it in place.
        scale_grad_by_freq: divide a row's gradient by the number of times that it was looked up.
        mode: 'sum', 'mean' or 'max'.
        sparse: the gradient of ``weight`` is a sparse tensor that lists the rows looked up.
        include_last_offset: offsets hold the end of the last bag too.
        padding_idx: an index that counts as not there; its row starts at zero.

    Shapes: input (bags, size), or (indices) with offsets (bags); output (bags, embedding_dim).

    >>> nn.EmbeddingBag(10, 3)(torch.tensor([1, 2, 4, 5, 4, 3, 2, 9]), torch.tensor([0, 4])).size()
    torch.Size([2, 3])
    """

    def __init__(self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean", sparse=False,
                 _weight=None, include_last_offset=False, padding_idx=None, device=None, dtype=None):
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.max_norm, self.norm_type = num_embeddings, embedding_dim, max_norm, norm_type
        self.scale_grad_by_freq, self.mode, self.sparse, self.include_last_offset = scale_grad_by_freq, mode, sparse, include_last_offset
        self.padding_idx = _row_index(padding_idx, num_embeddings, "padding_idx must be within num_embeddings")
        if _weight is None:
            self.weight = Parameter(ops.empty((num_embeddings, embedding_dim), device=device, dtype=dtype))
            self.reset_parameters()
        else:
            if list(_weight.shape) != [num_embeddings, embedding_dim]:
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(_weight)

    reset_parameters = Embedding.reset_parameters

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse,
                               per_sample_weights, self.include_last_offset, self.padding_idx)

    def extra_repr(self):
        optional = dict(max_norm=(self.max_norm, None), norm_type=(self.norm_type, 2), scale_grad_by_freq=(self.scale_grad_by_freq, False))
        given = [f"{name}={value}" for name, (value, default) in optional.items() if value != default]
        given.append(f"mode={self.mode!r}")
        if self.padding_idx is not None:
            given.append(f"padding_idx={self.padding_idx}")
        return ", ".join([f"{self.num_embeddings}, {self.embedding_dim}", *given])

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean", sparse=False,
                        include_last_offset=False, padding_idx=None):
        """Bags over the given table of shape (num_embeddings, embedding_dim), fixed unless ``freeze=False``."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        bags = cls(rows, columns, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings, include_last_offset, padding_idx)
        bags.weight.requires_grad = not freeze
        return bags


def _row_index(padding_idx, rows, message="Padding_idx must be within num_embeddings"):
    """``padding_idx`` counted from the start."""
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise AssertionError(message)
    return padding_idx % rows
