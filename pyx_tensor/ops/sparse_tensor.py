"""Sparse tensors of coordinates: what one is, how it is built, and how gradients go through its values.

A `SparseTensor` is a Tensor whose array is a `Coordinates`: the places and the values, two dense tensors outside of the
graph. No operation of the table knows it: the call path hands operands that aren't plain tensors to their class, and
`__torch_function__` looks the operation up in `HANDLERS`, filled by sparse_math.py and the modules that it imports, which
compute on the values. In the graph a sparse tensor is one input or output as any other; `Values` and `Build`, two Functions, are the
way from it to a dense tensor of values and back, and everything between is recorded as usual. Gradients of sparse tensors
are sparse, on the same places.
"""
import math
from importlib import import_module

from ..autograd.function import Function
from ..core import printing
from ..core.dtype import get_default_dtype
from ..core.frontend import Tensor
from ..core.memory_format import sparse_coo
from ..core.mode import is_grad_enabled
from ..core.record import namespace as B
from ..core.record import type_name
from ..core.signature import Raw, T
from ..core.size import Size
from ..core.tensor import TensorBase, wrap
from .sparse_memory import WithoutMemory
from .sparse_places import BOOL, INT64, matches, unique_places

HANDLERS = {}        # name of an operation, in place with '_' -> function of its arguments, some of them sparse


def handles(*names):
    """Decorates what sparse tensors do for operations of the table."""
    def enter(function):
        HANDLERS.update(dict.fromkeys(names, function))
        return function
    return enter


def handler(name):
    """What sparse tensors do for an operation, None where they can't do it."""
    if not HANDLERS:
        import_module(".sparse_math", __package__)
    return HANDLERS.get(name)


class Coordinates:
    """The contents of a sparse tensor, where dense ones have an array.

    Attributes:
        indices: int64 (sparse dims, nnz). values: (nnz, *dense dims).
        coalesced: the places are sorted and each occurs once.
    """

    __slots__ = ("indices", "values", "shape", "coalesced", "dtype")
    __array_ufunc__ = None
    layout = sparse_coo

    def __init__(self, indices, values, shape, coalesced):
        self.indices, self.values, self.shape, self.coalesced = indices, values, tuple(shape), coalesced
        self.dtype = values.array.dtype

    def __array__(self, *args, **kwargs):
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")


def _refusal(name, tensor):
    kind = f"{'Sparse' if tensor.is_sparse else 'SparseCsr'}{tensor.device.type.upper()}"
    return NotImplementedError(f"Could not run 'aten::{name}' with arguments from the '{kind}' backend: it isn't available for tensors of layout "
                               f"{tensor.layout}. Use Tensor.to_dense() first.")


def _why_no_tensors(func, name, args, error):
    """What to raise where a handler stumbled over an operand: what it was instead of a tensor, or else the error itself."""
    signature = func.op.signature if hasattr(func, "op") else None
    for parameter, kind, value in zip(signature.params, signature.kinds, args) if signature else ():
        if kind in (T, Raw) and not isinstance(value, TensorBase):
            return TypeError(f"{name}(): argument '{parameter}' must be Tensor, not {type(value).__name__}")
    wrong = [value for value in args if isinstance(value, (list, tuple, int, float))]
    return TypeError(f"{name}(): can't be done with sparse tensors and a {type(wrong[0]).__name__}") if wrong else error


def _unavailable(name):
    def method(self, *args, **kwargs):
        raise _refusal(name, self)
    method.__name__ = name
    return method


class SparseTensor(WithoutMemory, Tensor):
    """A tensor of layout `sparse_coo`: zero except at places that are listed. Made by `sparse_coo_tensor` or `to_sparse`."""

    attributes_ask = False

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = func.op.name if hasattr(func, "op") else func.__name__
        found = cls._handler(name)
        if found is not None:
            try:
                return cls._result_of(name, found(*args, **(kwargs or {})))
            except AttributeError as error:
                raise _why_no_tensors(func, name, args, error) from None
        found = [item for arg in args for item in (arg if isinstance(arg, (list, tuple)) else (arg,)) if isinstance(item, SparseTensor)]
        if not found:
            raise NotImplementedError(f"{name}: out= can't be a sparse tensor")
        raise _refusal(name, found[0])

    _handler = staticmethod(handler)

    @classmethod
    def _result_of(cls, name, result):
        return result

    @property
    def layout(self):
        return sparse_coo

    @property
    def is_sparse(self):
        return True

    # -- what it consists of
    def _indices(self):
        return self.array.indices

    def _values(self):
        return self.array.values.detach()

    def _nnz(self):
        """The number of places listed."""
        return self.array.indices.shape[1]

    def sparse_dim(self):
        """How many leading dims the places have."""
        return self.array.indices.shape[0]

    def dense_dim(self):
        """How many dims the values have."""
        return self.array.values.ndim - 1

    def is_coalesced(self):
        """Whether the places are known to be sorted and to occur once each."""
        return self.array.coalesced

    def _check_coalesced(self, what):
        if not self.array.coalesced:
            raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")

    def indices(self):
        """The places (sparse dims, nnz) of a coalesced tensor."""
        self._check_coalesced("indices")
        return self.array.indices

    def values(self):
        """The values (nnz, *dense dims) of a coalesced tensor, differentiable."""
        self._check_coalesced("values")
        return values_of(self)

    def coalesce(self):
        """The same tensor with places sorted and values at the same place added up."""
        return coalesced(self)

    def _coalesced_(self, value):
        self.array.coalesced = bool(value)
        return self

    def to_dense(self, dtype=None, *, masked_grad=None):
        """The strided tensor of the same values. Its gradient is sparse, at the same places, unless `masked_grad` is False."""
        return dense(self, dtype) if masked_grad in (None, True) else everywhere(self, dtype)

    # -- as every tensor
    def _become_sparse(self, other):
        """Take over the contents (in place) and the history of another sparse tensor."""
        if self.requires_grad and self.is_leaf and is_grad_enabled():
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        if other.requires_grad:
            self.requires_grad = True
        elif is_grad_enabled():
            self._leave_graph()
        self._become(other)
        self._bump_version()
        return self

    def _detached(self):
        parts = self.array
        return build(parts.indices, parts.values.detach(), parts.shape, parts.coalesced, type(self))

    def detach(self):
        return self._detached()

    @property
    def data(self):
        return self._detached()

    def __getitem__(self, index):
        result = self
        dim = 0
        for item in index if isinstance(index, tuple) else (index,):
            if isinstance(item, int) and not isinstance(item, bool):
                result = B.select(result, dim, item)
            elif isinstance(item, slice) and item == slice(None):
                dim += 1
            else:
                raise _refusal("index", self)
        return result

    def __setitem__(self, index, value):
        raise _refusal("index_put_", self)

    def __iter__(self):
        return iter(B.unbind(self, 0))

    def __deepcopy__(self, memo):
        if not self.is_leaf:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.")
        result = B.clone(self.detach())
        result.requires_grad = self.requires_grad
        memo[id(self)] = result
        return result

    def __reduce_ex__(self, protocol):
        parts = self.array
        return _rebuild, (parts.indices, parts.values, parts.shape, parts.coalesced, self.requires_grad, type(self))

    def type(self, dtype=None, non_blocking=False):
        if dtype is not None:
            return super().type(dtype, non_blocking)
        place = "torch.sparse" if self.device.type == "cpu" else f"torch.{self.device.type}.sparse"
        return type_name(self.dtype).replace("torch", place, 1)

    def __repr__(self, *, tensor_contents=None):
        default = get_default_dtype()
        return printing.format_sparse(
            {name: part._host_array() for name, part in self._shown_parts().items()}, shape=self.array.shape, count=self._nnz(), layout=self.layout.name,
            dtype_name=self.dtype.name, is_default_dtype=self.dtype in (default, default.to_complex()),
            device=None if self.device.type == "cpu" else str(self.device), requires_grad=self.requires_grad, grad_fn_name=self._source_name())

    def _shown_parts(self):
        return dict(indices=self.array.indices, values=self.array.values)


for _name in ("zero_", "copy_"):
    setattr(SparseTensor, _name, lambda self, *args, _name=_name, **kwargs: handler(_name)(self, *args, **kwargs))
for _name in ("fill_", "resize_", "resize_as_", "set_", "fill_diagonal_", "contiguous"):
    setattr(SparseTensor, _name, _unavailable(_name))


def _rebuild(indices, values, shape, is_coalesced, requires_grad, kind=SparseTensor):
    return build(indices, values, shape, is_coalesced, kind).requires_grad_(requires_grad)


# --- building -----------------------------------------------------------------------------------------------------
def build(indices, values, shape, is_coalesced=False, kind=SparseTensor):
    """A sparse tensor on these very tensors, outside of the graph and unchecked."""
    result = wrap(Coordinates(indices, values, shape, is_coalesced), values.device)
    result.__class__ = kind
    return result


def empty(shape, sparse_dims, dtype, device):
    """A sparse tensor without any place."""
    return build(B.zeros((sparse_dims, 0), dtype=INT64, device=device), B.zeros((0, *shape[sparse_dims:]), dtype=dtype, device=device), shape, True)


def values_at(tensor, indices):
    """The values of a dense or sparse tensor at places, differentiable; 0 where a sparse one has none."""
    if not isinstance(tensor, SparseTensor):
        if not indices.shape[0]:
            return B.expand(B.unsqueeze(tensor, 0), (indices.shape[1], *tensor.shape))
        return B.index(tensor, list(B.unbind(indices, 0)))
    tensor = coalesced(tensor)
    found, position = matches(tensor.array.indices, indices, tensor.shape)
    values = values_of(tensor)
    if not values.shape[0]:
        return B.zeros((indices.shape[1], *values.shape[1:]), dtype=values.dtype, device=values.device)
    kept = B.reshape(found, (-1,) + (1,) * (values.ndim - 1))
    return B.masked_fill(B.index_select(values, 0, position), B.logical_not(kept), 0)


class Build(Function):
    """From values to a sparse tensor."""

    @staticmethod
    def forward(ctx, values, indices, shape, is_coalesced, kind):
        ctx.indices = indices
        return build(indices, values.detach(), shape, is_coalesced, kind)

    @staticmethod
    def backward(ctx, g):
        return values_at(g, ctx.indices), None, None, None, None


class Values(Function):
    """From a sparse tensor to its values. What arrives at one place by several values is the same for each: their mean."""

    @staticmethod
    def forward(ctx, tensor):
        ctx.parts, ctx.kind = tensor.array, type(tensor)
        return tensor.array.values.detach()

    @staticmethod
    def backward(ctx, g):
        parts = ctx.parts
        if parts.coalesced:
            return made(g, parts.indices, parts.shape, True, ctx.kind)
        indices, places, count = unique_places(parts.indices, parts.shape)
        share = B.index_add(B.zeros((count,), dtype=g.dtype, device=g.device), 0, places, B.ones((g.shape[0],), dtype=g.dtype, device=g.device))
        g = B.div(_sum_by_place(g, places, count), B.reshape(share, (-1,) + (1,) * (g.ndim - 1)))
        return made(g, indices, parts.shape, True)


Build._backward_title, Values._backward_title = "SparseCooTensorWithDimsAndTensorsBackward0", "ValuesBackward0"


def made(values, indices, shape, is_coalesced=False, kind=SparseTensor):
    """A sparse tensor of values that may be in the graph."""
    if values.requires_grad and is_grad_enabled():
        return Build.apply(values, indices, shape, is_coalesced, kind)
    return build(indices, values.detach() if values.requires_grad else values, shape, is_coalesced, kind)


def values_of(tensor):
    """All its values as a dense tensor, in the graph where the sparse one is."""
    return Values.apply(tensor) if tensor.requires_grad and is_grad_enabled() else tensor.array.values


def rebuilt(tensor, values, indices=None, shape=None, is_coalesced=None):
    """Like a tensor, with other values."""
    parts = tensor.array
    return made(values, parts.indices if indices is None else indices, parts.shape if shape is None else shape,
                parts.coalesced if is_coalesced is None else is_coalesced)


def _sum_by_place(values, places, count):
    if values.dtype.name == "bool":
        return _sum_by_place(values.to(INT64), places, count).to(BOOL)
    return B.index_add(B.zeros((count, *values.shape[1:]), dtype=values.dtype, device=values.device), 0, places, values)


def coalesced(tensor):
    """The tensor itself where its places are unique and sorted."""
    parts = tensor.array
    if parts.coalesced:
        return tensor
    indices, places, count = unique_places(parts.indices, parts.shape)
    return made(_sum_by_place(values_of(tensor), places, count), indices, parts.shape, True)


def dense(tensor, dtype=None):
    """The strided tensor of the same values."""
    tensor = coalesced(tensor)
    values, parts = values_of(tensor), tensor.array
    zeros = B.zeros(parts.shape, dtype=values.dtype, device=values.device)
    if not parts.indices.shape[0]:
        result = B.add(zeros, B.sum(values, 0))
    elif not parts.indices.shape[1]:
        result = zeros if not values.requires_grad else B.add(zeros, B.sum(values))
    else:
        result = B.index_put(zeros, list(B.unbind(parts.indices, 0)), values)
    return result if dtype is None else result.to(dtype)


class Unmasked(Function):
    """`dense`, with a gradient at all places: what linear functions pass to a sparse tensor."""

    @staticmethod
    def forward(ctx, tensor):
        return dense(tensor.detach())

    @staticmethod
    def backward(ctx, g):
        return g


Unmasked._backward_title = "ToDenseBackward0"


def everywhere(tensor, dtype=None):
    """The strided tensor of the same values, differentiable at all places and not only those listed."""
    result = Unmasked.apply(tensor)
    return result if dtype is None else result.to(dtype)


def in_graph(tensor):
    """Whether what is computed from a sparse tensor is to be recorded."""
    return isinstance(tensor, SparseTensor) and tensor.requires_grad and is_grad_enabled()


def check_shape(shape):
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension in {list(shape)}")
    if math.prod(shape) >= 2**63:
        raise RuntimeError(f"a sparse tensor's places are numbered in 64 bits; shape {list(shape)} has too many")
    return Size(shape)


def as_sparse(function, value):
    if not isinstance(value, SparseTensor):
        found = f"layout {value.layout}" if isinstance(value, TensorBase) else type(value).__name__
        raise RuntimeError(f"{function}: expected a sparse tensor, got {found}")
    return value
