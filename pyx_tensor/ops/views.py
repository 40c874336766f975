"""Views in terms of other views, forms that change a tensor's own shape, and parts written back."""
import itertools

from ..core.definitions import composes, functions, methods, op, operations, properties
from ..core.definitions import view as view_op
from ..core.mode import is_grad_enabled
from ..core.record import namespace as B
from ..core.signature import Dim, Ints, T


# --- the same memory as another dtype -----------------------------------------------------------------------------
@view_op("retype", lambda B, g: B._view_dtype(B.contiguous(g), g.dtype.to_real() if g.dtype.is_complex else g.dtype.to_complex()),
         hidden=True, grad_name="ViewAsReal")
def _view_dtype(B, input: T, dtype):
    """The memory of the tensor as another dtype; the last dim shrinks or grows where the sizes of elements differ."""


@op()
def view_as_real(B, input: T):
    """A view of a complex tensor with a last dim of size 2 for the real and the imaginary parts."""
    if not input.dtype.is_complex:
        raise RuntimeError(f"view_as_real is only supported for complex tensors, got {input.dtype}")
    if not input.device.backend.strided:
        return B.stack([B._real(input), B._imag(input)], -1)
    return B._view_dtype(B.unsqueeze(input, -1), input.dtype.to_real())


@op()
def view_as_complex(B, input: T):
    """A view of a real tensor, whose last dim has size 2, as a complex tensor without that dim."""
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"view_as_complex is only supported for floating point tensors, but got a tensor of scalar type: {input.dtype}")
    if not input.ndim or input.shape[-1] != 2:
        raise RuntimeError(f"Tensor must have a last dimension of size 2, got shape {list(input.shape)}")
    if not input.device.backend.strided:
        return B.complex(B.select(input, -1, 0), B.select(input, -1, 1))
    if input.stride(-1) != 1 or any(s % 2 for s in input.stride()[:-1]) or input.storage_offset() % 2:
        raise RuntimeError(f"Tensor must have a last dimension with stride 1, and even strides and offset otherwise, got strides {list(input.stride())}")
    return B.squeeze(B._view_dtype(input, input.dtype.to_complex()), -1)


@op()
def real(B, input: T):
    """The real part as a view; a real tensor itself."""
    if not input.dtype.is_complex:
        return input
    return B.select(B.view_as_real(input), -1, 0)


@op()
def imag(B, input: T):
    """The imaginary part of a complex tensor, as a view."""
    if not input.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return B.select(B.view_as_real(input), -1, 1)


@op(public=("resolve_conj", "resolve_neg"))
def resolve_conj(B, input: T):
    """The tensor itself: conjugates and negatives are always computed here."""
    return input


def _assigns(part):
    def write(self, value):
        functions[part](self).copy_(value)
    return write


# --- transposed ---------------------------------------------------------------------------------------------------
def _reversed(self):
    """The dims in reverse order."""
    return functions["permute"](self, tuple(range(self.ndim))[::-1])


def _matrix(self):
    """The last two dims exchanged."""
    if self.ndim < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor.")
    return functions["transpose"](self, -2, -1)


def _hermitian(self):
    """The conjugate transpose of a matrix."""
    if self.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor.")
    return functions["conj"](functions["transpose"](self, 0, 1)) if self.ndim else functions["conj"](self)


def _matrix_hermitian(self):
    """The last two dims exchanged, and the conjugate."""
    if self.ndim < 2:
        raise RuntimeError(f"tensor.mH is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor.")
    return functions["adjoint"](self)


properties.update(T=(_reversed, None), mT=(_matrix, None), H=(_hermitian, None), mH=(_matrix_hermitian, None))
properties.update({part: (lambda self, part=part: functions[part](self), _assigns(part)) for part in ("real", "imag")})


# --- forms that change the tensor's own shape ---------------------------------------------------------------------
def _own_shape(name):
    """`name_`: the tensor becomes its own view."""
    function = functions[name]

    def form(self, *args, **kwargs):
        if self.requires_grad and self.is_leaf and is_grad_enabled():
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        self._become(function(self, *args, **kwargs))
        return self
    form.__name__ = form.__qualname__ = name + "_"
    form.__doc__ = f"`{name}` of the tensor itself: its shape and strides change, its memory stays."
    methods[name + "_"] = form


for _name in ("squeeze", "unsqueeze", "transpose", "swapaxes", "swapdims", "t", "as_strided"):
    _own_shape(_name)


# --- split --------------------------------------------------------------------------------------------------------
def _splitter(name, least, dim, message):
    def define(B, input: T, indices_or_sections: Ints):
        if input.ndim < least:
            raise RuntimeError(f"torch.{name} requires a tensor with at least {least} dimension{'s' * (least > 1)}, but got a tensor with "
                               f"{input.ndim} dimensions!")
        at = 0 if dim == 1 and input.ndim == 1 else dim
        parts = indices_or_sections
        if isinstance(parts, int) and (parts <= 0 or input.shape[at] % parts):
            raise RuntimeError(f"torch.{name} attempted to split along dimension {at}, but the size of the dimension {input.shape[at]} is not divisible "
                               f"by the split_size {parts}!")
        return B.tensor_split(input, parts, at)
    define.__name__, define.__doc__ = name, f"`tensor_split` along the {message}; a number of sections must divide its size."
    return op()(define)


hsplit = _splitter("hsplit", 1, 1, "second dim (of vectors the only one)")
vsplit = _splitter("vsplit", 2, 0, "first dim")
dsplit = _splitter("dsplit", 3, 2, "third dim")


def _parts(B, input, sizes, dim):
    ends = list(itertools.accumulate(sizes, initial=0))
    return tuple([B._slice(input, dim, a, b, 1) for a, b in zip(ends[:-1], ends[1:])])


@op()
def unsafe_chunk(B, input: T, chunks, dim: Dim = 0):
    """`chunk` whose parts may be written in place under autograd."""
    return _parts(B, input, [part.shape[dim] for part in B.chunk(input.detach(), chunks, dim)], dim)


@op()
def unsafe_split(B, input: T, split_size, dim: Dim = 0):
    """`split` whose parts may be written in place under autograd."""
    return _parts(B, input, [part.shape[dim] for part in B.split(input.detach(), split_size, dim)], dim)


# --- a view's copy ------------------------------------------------------------------------------------------------
def _copying(name):
    def copy(*args, **kwargs):
        result = B.__dict__[name](*args, **kwargs)
        return tuple(map(B.clone, result)) if isinstance(result, tuple) else B.clone(result)
    copy.__name__ = copy.__qualname__ = name.strip("_") + "_copy"
    copy.__doc__ = f"`{name}` with memory of its own."
    composes(copy)


for _name in ("alias", "as_strided", "diagonal", "expand", "narrow", "permute", "select", "split", "split_with_sizes", "squeeze", "t", "transpose", "unbind",
              "unfold", "unsqueeze", "view", "view_as_real", "view_as_complex"):
    _copying(_name)


# --- parts written back -------------------------------------------------------------------------------------------
def _same_shape(name, src, view):
    if src.shape != view.shape:
        raise RuntimeError(f"{name}: expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = {list(view.shape)}")


def _written(B, input, src, name, operation, args):
    """A copy of `input` in which the view that `operation` makes with `args` holds `src`."""
    _same_shape(name, src, operations[operation].replay(input.detach(), args))
    return B._view_scatter(input, src, operation, args)


@op(hidden=True, grad_name="ViewScatter", vjp=dict(
    input=lambda B, g, src_shape, operation, args: B._view_scatter(g, B.zeros(src_shape, dtype=g.dtype, device=g.device), operation, args),
    src=lambda B, g, operation, args: operations[operation].replay(g, args)))
def _view_scatter(B, input: T, src: T, operation, args):
    """A copy of `input` in which a view holds `src`."""
    if not input.device.backend.mutable:
        places = operations[operation].replay(B.arange(input.numel(), device=input.device).reshape(tuple(input.shape)), args)
        flat = B._index_put(B.reshape(input, (-1,)), [B.reshape(places, (-1,))], B.reshape(src, (-1,)).to(input.dtype), False)
        return B.reshape(flat, tuple(input.shape))
    result = B.clone(input)
    operations[operation].replay(result, args).copy_(src)
    return result


@op()
def select_scatter(B, input: T, src: T, dim, index):
    """A copy of `input` with `src` at one index of a dim."""
    return _written(B, input, src, "select_scatter", "select", (dim, index))


@op()
def slice_scatter(B, input: T, src: T, dim=0, start=None, end=None, step=1):
    """A copy of `input` with `src` in a range of indices of a dim."""
    return _written(B, input, src, "slice_scatter", "_slice", (dim, start, end, step))


@op()
def diagonal_scatter(B, input: T, src: T, offset=0, dim1=0, dim2=1):
    """A copy of `input` with `src` on a diagonal."""
    return _written(B, input, src, "diagonal_scatter", "diagonal", (offset, dim1, dim2))


@op()
def as_strided_scatter(B, input: T, src: T, size, stride, storage_offset=None):
    """A copy of `input` with `src` in a strided view of it."""
    return _written(B, B.contiguous(input), src, "as_strided_scatter", "as_strided", (tuple(size), tuple(stride), storage_offset or 0))
