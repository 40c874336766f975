"""Operations whose result shares its input's memory, and reading by integers and slices."""
from cpython.ref cimport Py_INCREF

from .dtype cimport FLOATING, DType, int64
from .geometry cimport AS_STRIDED, RETYPE, VIEW, Geometry, apply_view, view_as
from .mode cimport INFERENCE, INTERCEPT, NO_GRAD, PROFILE, TRACK_DERIVED, get_mode
from .op cimport Op, intercepted
from .operands cimport all_plain, is_plain
from .record cimport OpNode, mark_derived
from .storage cimport check_bounds
from .tensor cimport MADE_IN_NO_GRAD, MULTI_OUTPUT, PLAIN_VIEW, TensorBase, load_geometry
from .viewing cimport make_retyped_view, make_view
from .record import namespace

cdef object B = namespace


cdef class ViewOp(Op):
    """An operation whose result shares its input's memory; what it does to shape and strides stands in geometry.pyx."""

    def set_kind(self, int kind):
        self.view_kind = kind
        Py_INCREF(self)             # lives for ever: a view names its operation by a bare pointer

    cdef object run(self, list args):
        if get_mode() & (INTERCEPT | PROFILE) or not all_plain(args):
            result = intercepted(self, args)
            if result is not NotImplemented:
                return result
        return self.dispatch(args)

    cdef object dispatch(self, list args):
        if not isinstance(args[0], TensorBase):
            raise TypeError(f"{self.name}(): argument 'input' must be Tensor, not {type(args[0]).__name__}")
        if self.view_kind == VIEW and len(args[1]) == 1 and isinstance(args[1][0], DType):
            return B._view_dtype(args[0], args[1][0])
        return self.view(<TensorBase>args[0], tuple(args[1:]), PLAIN_VIEW)

    cdef object run_out(self, list args, object out):
        """`out=`, which early PyTorch had here too: a copy of the view in the memory of a tensor that is given."""
        result = self.run(args)
        if not isinstance(out, TensorBase):
            raise TypeError(f"{self.name}(): argument 'out' must be Tensor, not {type(out).__name__}")
        if out.dtype is not result.dtype:
            raise RuntimeError(f"Expected out tensor to have dtype {result.dtype}, but got {out.dtype} instead")
        if out.shape != result.shape:
            out.resize_(tuple(result.shape))
        return out.copy_(result)

    cdef object view(self, TensorBase t, tuple args, int origin):
        cdef Geometry g
        cdef TensorBase result
        cdef OpNode node
        cdef unsigned int mode = get_mode()
        cdef bint needed = not mode & (NO_GRAD | INFERENCE) and t.needs_grad()
        if self.view_kind == RETYPE:
            if not isinstance(args[0], DType):
                raise TypeError(f"{self.name}(): argument 'dtype' must be torch.dtype, not {type(args[0]).__name__}")
            result = make_retyped_view(t, args[0])
            needed = needed and result.dtype.category >= FLOATING and result.dtype.category != t.dtype.category
        else:
            load_geometry(t, &g)
            apply_view(self.view_kind, &g, args)
            if self.view_kind == AS_STRIDED:      # all other views stay inside of their input
                check_bounds(&g, t.storage_().nbytes >> t.dtype.shift)
            result = make_view(t, &g)
        if result.storage is not None:
            result.set_view(t, self, args, MADE_IN_NO_GRAD if mode & NO_GRAD and not origin else origin)
        if needed:
            node = self.gradient.prepare([t, *args], None)
            result.node = node
            result.requires = True
        if mode & TRACK_DERIVED:
            mark_derived(result, [t], needed)
        return result

    def replay(self, TensorBase t not None, tuple args):
        """The same view of another tensor of the same shape."""
        return self.view(t, args, PLAIN_VIEW)

    def one_of_many(self, TensorBase t not None, tuple args):
        """A view that is one of several results of one call: it refuses writes that would need recording."""
        return self.view(t, args, MULTI_OUTPUT)

    def parts(self, TensorBase t not None, int dim, lengths):
        """Of a slice: views of consecutive parts of a dim, as several results of one call."""
        cdef Py_ssize_t start = 0, length
        cdef list views = []
        for length in lengths:
            views.append(self.view(t, (dim, start, start + length, 1), MULTI_OUTPUT))
            start += length
        return tuple(views)

    def each(self, TensorBase t not None, int dim):
        """Of a selection: views of all indices of a dim, as several results of one call."""
        return tuple([self.view(t, (dim, i), MULTI_OUTPUT) for i in range(t.shape_()[dim])])

    cdef object call1(self, object a):
        return self.of(<TensorBase>a, ()) if is_plain(a) else self.run([a])

    cdef object of_sizes(self, TensorBase t, object sizes):
        """`of` where the sizes are the only argument. The commonest view, of no view and unrecorded, keeps no argument: its shape says the same."""
        cdef Geometry g
        cdef TensorBase result
        cdef unsigned int mode = get_mode()
        if self.view_kind != VIEW or mode & ~NO_GRAD or t.is_view or t.requires:
            return self.of(t, (sizes,))
        load_geometry(t, &g)
        view_as(&g, sizes)
        result = make_view(t, &g)
        if result.storage is not None:
            result.set_view(t, self, None, MADE_IN_NO_GRAD if mode & NO_GRAD else PLAIN_VIEW)
        return result

    cdef object of(self, TensorBase t, tuple args):
        """The view of a plain tensor: at once where nobody wants to see the call."""
        return self.run([t, *args]) if get_mode() & (INTERCEPT | PROFILE) else self.view(t, args, PLAIN_VIEW)


def sizes_function(ViewOp op not None):
    """For a view (input, sizes) whose sizes are one sequence or any number of ints."""
    def call(input, *sizes, size=None, dims=None, dtype=None, implicit=False):
        if len(sizes) > 1 and is_plain(input):
            return op.of_sizes(<TensorBase>input, sizes)
        if not sizes:
            named = size if size is not None else dims if dims is not None else dtype
            sizes = () if named is None else (named,)
        if not sizes or not is_plain(input):
            return op(input, *sizes)
        first = sizes[0]
        if isinstance(first, DType):
            return op(input, first)
        return op.of_sizes(<TensorBase>input, sizes if isinstance(first, int) or hasattr(first, "__index__") else first)
    return call


def view_function(ViewOp op not None):
    """For any other view."""
    cdef Py_ssize_t n = op.n_params - 1
    def call(*args, **kwargs):
        if len(args) == n + 1 and not kwargs and is_plain(args[0]):
            return op.of(<TensorBase>args[0], args[1:])
        return op.invoke(args, kwargs)
    return call


def getitem_function(ViewOp select not None, ViewOp index not None, Op gather not None, general):
    """`x[index]`: ints, slices, None, Ellipsis and a tensor of positions at once, the rest by the general function."""
    def getitem(x, key):
        if not is_plain(x) or get_mode() & INTERCEPT:
            return general(x, key)
        if type(key) is int:
            return select.of(<TensorBase>x, (0, key)) if (<TensorBase>x).ndim_() else general(x, key)
        if type(key) is slice:
            return index.of(<TensorBase>x, (key,))
        if type(key) is tuple and is_basic(<tuple>key):
            return index.of(<TensorBase>x, (key,))
        if key is None:
            return index.of(<TensorBase>x, ((key,),))
        places = places_of(<TensorBase>x, key)
        return general(x, key) if places is None else gather.run([x, places])
    return getitem


cdef list places_of(TensorBase x, object key):
    """The positions that an index names, one a dim, where it is of int64 tensors and whole slices alone (None); None for any other."""
    cdef list places = []
    cdef bint any_tensor = False
    for item in key if type(key) is tuple else (key,):
        if is_plain(item) and (<TensorBase>item).dtype is int64 and (<TensorBase>item).ndim_():
            any_tensor = True
            places.append(item)
        elif type(item) is slice and item.start is None and item.stop is None and item.step is None:
            places.append(None)
        else:
            return None
    return places if any_tensor and len(places) <= x.ndim_() else None


cdef bint is_basic(tuple key):
    cdef bint ellipsis_seen = False
    for item in key:
        if item is Ellipsis:
            if ellipsis_seen:
                return False
            ellipsis_seen = True
        elif not (type(item) is int or type(item) is slice or item is None):
            return False
    return True
