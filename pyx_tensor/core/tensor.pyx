# cython: c_api_binop_methods=True
"""TensorBase: a backend's array, its place on a storage (storage.pyx) and in the recorded graph.

The public class `Tensor` (core/frontend.py) derives from it and gets its operations as methods. Here stand only the
fields, the operators and what must be quick.
"""
cimport cython
cimport numpy as cnp
import warnings

from cpython.buffer cimport PyObject_GetBuffer

from . cimport geometry
from .device cimport Device
from .dtype cimport FLOATING, DType, from_numpy_dtype, from_type_num
from .geometry cimport Geometry
from .graph cimport AccumulateGrad, GradSlot, Node
from .mode cimport INFERENCE, TRACK_DERIVED, get_mode
from .ndarray cimport pyx_first_element, pyx_shape_of, shape_of
from .slot cimport Slot, inherit_operators
from .storage cimport Storage, add_alias, keep_view, remove_alias, storage_of

from .dtype import by_name
from .memory_format import channels_last, channels_last_3d, lies_in
from .size import Size

cnp.import_array()

cdef extern from *:
    """
    static inline PyObject* pyx_new_instance(PyObject* type, PyObject* no_arguments) {
        return ((PyTypeObject*)type)->tp_new((PyTypeObject*)type, no_arguments, NULL);
    }
    """
    object pyx_new_instance(object type, object no_arguments)

cdef tuple _no_arguments = ()
cdef object _new_tuple = tuple.__new__      # Size without its check of the items
tensor_class = None
parameter_class = None


def register_classes(tensor, parameter):
    """Called once by core/frontend.py with the public classes (which have a metaclass: Cython's `type` means exactly `type`)."""
    global tensor_class, parameter_class
    if not (isinstance(tensor, type) and isinstance(parameter, type)):
        raise TypeError("register_classes expects two classes")
    tensor_class = <type>tensor
    parameter_class = <type>parameter
    inherit_operators(tensor_class, TensorBase)
    inherit_operators(parameter_class, TensorBase)


@cython.freelist(64)
cdef class Version:
    """Counts the writes to one family of views, so that a saved tensor can tell that it was changed."""


# --- making tensors -----------------------------------------------------------------------------------------------
cdef TensorBase new_tensor(object array, DType dtype, Device device):
    cdef TensorBase t = <TensorBase>pyx_new_instance(tensor_class, _no_arguments)
    t.array = array
    t.dtype = dtype
    t.device = device
    return t


cdef TensorBase wrap_array(object array, Device device):
    """A tensor on what a backend's entry returned."""
    cdef DType dtype
    if type(array) is cnp.ndarray:
        dtype = from_type_num(cnp.PyArray_TYPE(<cnp.ndarray>array))
        if dtype is None:
            dtype = from_numpy_dtype((<cnp.ndarray>array).dtype)
    else:
        dtype = by_name[device._backend.dtype_name(array)]
    return new_tensor(array, dtype, device)


def wrap(array, Device device not None):
    """A tensor on a backend's array, which it shares. In inference mode it is an inference tensor."""
    cdef TensorBase result
    device.resolve()
    result = wrap_array(array, device.canonical)
    result.inference = get_mode() & INFERENCE != 0
    return result


cdef TensorBase detached(TensorBase t):
    """The same memory and version, outside of the graph."""
    cdef TensorBase result = new_tensor(t.array, t.dtype, t.device)
    share(result, t)
    if get_mode() & TRACK_DERIVED:
        result.derived = t.requires or t.derived
    return result


# --- the graph and the steps of views --------------------------------------------------------------------------------------------------------
cdef bint has_node(TensorBase t) except -1:
    """True where the tensor is the output of a recorded function."""
    t.needs_grad()
    return t.node is not None and not isinstance(t.node, AccumulateGrad)


cdef int warn_of_inner_grad(TensorBase t) except -1:
    """Say why the result of a recorded function has no `grad`, unless it will have one after the next backward."""
    if not t.retains_grad:
        warnings.warn("this tensor is not a leaf Tensor: backward() doesn't fill its .grad. Call retain_grad() on it first, or read "
                      "the .grad of the leaf that was meant.", stacklevel=1)
    return 0


@cython.trashcan(True)
@cython.freelist(64)
cdef class ViewRecord:
    """How to make a view again from its base: the last step, and a link to the steps before."""


cdef ViewRecord next_step(ViewRecord parent, TensorBase base, object op, tuple args):
    cdef ViewRecord record = ViewRecord.__new__(ViewRecord)
    record.parent = parent
    record.base = base
    record.op = op
    record.args = args
    return record


cdef object _view_regenerator = None


def set_view_regenerator(function):
    """Called once by core/history.pyx: function(tensor) gives a view written to since a fresh node."""
    global _view_regenerator
    _view_regenerator = function


# --- operator slots -----------------------------------------------------------------------------------------------
cdef Slot _add, _sub, _mul, _div, _floordiv, _mod, _pow, _matmul, _and, _or, _xor, _lshift, _rshift
cdef Slot _eq, _ne, _lt, _le, _gt, _ge, _neg, _pos, _abs, _invert
cdef object _getitem, _setitem


def fill_operators(dict ops, getitem, setitem):
    """Called once by pyx_tensor.ops: the operations behind the operators, and the indexing functions."""
    global _add, _sub, _mul, _div, _floordiv, _mod, _pow, _matmul, _and, _or, _xor, _lshift, _rshift
    global _eq, _ne, _lt, _le, _gt, _ge, _neg, _pos, _abs, _invert, _getitem, _setitem
    _add, _sub, _mul, _div = ops["add"], ops["sub"], ops["mul"], ops["div"]
    _floordiv, _mod, _pow, _matmul = ops["floor_divide"], ops["remainder"], ops["pow"], ops["matmul"]
    _and, _or, _xor = ops["bitwise_and"], ops["bitwise_or"], ops["bitwise_xor"]
    _lshift, _rshift = ops["bitwise_left_shift"], ops["bitwise_right_shift"]
    _eq, _ne, _lt, _le, _gt, _ge = ops["eq"], ops["ne"], ops["lt"], ops["le"], ops["gt"], ops["ge"]
    _neg, _pos, _abs, _invert = ops["neg"], ops["positive"], ops["abs"], ops["bitwise_not"]
    _getitem, _setitem = getitem, setitem


cdef object real_number(object value, str name):
    """A number; a complex one counts where its imaginary part is 0."""
    if type(value) is not complex:
        return value
    if value.imag != 0:
        raise RuntimeError(f"value cannot be converted to type {name} without overflow: {value}")
    return value.real


@cython.no_gc_clear        # __dealloc__ needs the storage; cycles are broken at the nodes, slots and Python objects in them
@cython.binding(False)     # method descriptors check the type of self, bound functions do not
cdef class TensorBase:
    """The fields and operators of a tensor."""

    __array_priority__ = 1000

    def __dealloc__(self):
        if self.storage is not None:
            remove_alias(self.storage, &self.alias)
            keep_view(<void*>self.array)
        elif self.device is not None and self.device.recycle != NULL:
            self.device.recycle(<void*>self.array)      # its memory was never shared: the backend may use it again

    # -- shape
    cdef int ndim_(self) except -1:
        if type(self.array) is cnp.ndarray:
            return cnp.PyArray_NDIM(<cnp.ndarray>self.array)
        return len(self.array.shape)

    cdef tuple shape_(self):
        return shape_of(<cnp.ndarray>self.array) if type(self.array) is cnp.ndarray else tuple(self.array.shape)

    @property
    def shape(self):
        if type(self.array) is cnp.ndarray:
            return pyx_shape_of(Size, <cnp.ndarray>self.array)
        return _new_tuple(Size, self.shape_())

    @property
    def ndim(self):
        return self.ndim_()

    def dim(self):
        """Number of dimensions."""
        return self.ndim_()

    def size(self, dim=None):
        """The shape, or the size of one dim."""
        cdef tuple shape
        if dim is None:
            return self.shape
        shape = self.shape_()
        if not shape:
            raise IndexError("Dimension specified as 0 but tensor has no dimensions")
        return shape[geometry.wrap_dim(dim, len(shape))]

    def numel(self):
        """Number of elements."""
        cdef Geometry g
        if type(self.array) is cnp.ndarray:
            return cnp.PyArray_SIZE(<cnp.ndarray>self.array)
        geometry.load_shape(&g, self.array.shape)
        return geometry.numel(&g)

    def stride(self, dim=None):
        """Elements between neighbours along each dim, or along one."""
        cdef Geometry g
        load_geometry(self, &g)
        if dim is None:
            return tuple([g.strides[i] for i in range(g.ndim)])
        if g.ndim == 0:
            raise IndexError("Dimension specified as 0 but tensor has no dimensions")
        return g.strides[geometry.wrap_dim(dim, g.ndim)]

    def storage_offset(self):
        """Elements from the start of the storage to the first element."""
        cdef Geometry g
        load_geometry(self, &g)
        return g.offset

    def is_contiguous(self, memory_format=None):
        """True where the elements lie without gaps in row-major order, or that of an image format."""
        cdef Geometry g
        if memory_format is channels_last or memory_format is channels_last_3d:
            return lies_in(self.shape_(), self.stride(), memory_format)
        load_geometry(self, &g)
        return geometry.is_contiguous(&g)

    def _overlaps_itself(self):
        cdef Geometry g
        load_geometry(self, &g)
        return geometry.overlaps_itself(&g)

    def data_ptr(self):
        """Address of the first element (0 for an empty tensor)."""
        if type(self.array) is cnp.ndarray:
            return <size_t>cnp.PyArray_DATA(<cnp.ndarray>self.array) if self.numel() else 0
        if not self.device._backend.strided:
            raise NotImplementedError(f"data_ptr: arrays of device {self.device} have no address here")
        return self.device._backend.address(self.array) if self.numel() else 0

    # -- storage and version
    cdef Storage storage_(self):
        if self.storage is None:
            self.storage = storage_of(self.array, self.dtype, self.device)
            add_alias(self.storage, &self.alias, self)
        return self.storage

    cdef Version version_(self):
        if self.version is None:
            self.version = Version.__new__(Version)
        return self.version

    @property
    def _storage(self):
        return self.storage_()

    @property
    def _version(self):
        if self.inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self.version_().value

    def _bump_version(self):
        """Say that the memory has changed."""
        cdef Version version = self.version_()
        version.value += 1

    cdef int point_at(self, object array, Storage storage) except -1:
        """Make this tensor stand on other memory (of its own dtype and device)."""
        self.record()               # a view's shape may be all that tells how it came from its base
        if self.storage is not None:
            remove_alias(self.storage, &self.alias)
        self.array = array
        self.storage = storage
        if storage is not None:
            add_alias(storage, &self.alias, self)
        return 0

    def _point_at(self, array):
        """Make this tensor stand on `array`, an array of its device; its dtype follows."""
        cdef TensorBase other = wrap_array(array, self.device)
        self.dtype = other.dtype
        self.point_at(array, None)

    cdef int adopt(self, TensorBase other) except -1:
        """Become an alias of another tensor, outside of the graph."""
        check_layout(other)
        self.dtype = other.dtype
        self.device = other.device
        self.inference = other.inference
        self.point_at(other.array, other.storage_())
        self.version = other.version_()
        return 0

    def _become(self, TensorBase view not None):
        """Take the shape, strides and place in the graph of a view of this very tensor."""
        self.point_at(view.array, view.storage)
        if self.is_view:
            self.view = view.record()
            self.viewed = None
            self.is_view = view.is_view
            self.origin = view.origin
            self.recorded = view.recorded
        if view.requires:
            self.node = view.node
            self.nr = view.nr

    def _adopt(self, TensorBase other not None):
        self.adopt(other)

    # -- autograd record
    cdef bint needs_grad(self) except -1:
        """requires_grad, after bringing a view up to date with writes to its family."""
        if self.is_view and self.recorded != self.version.value:
            _view_regenerator(self)
        return self.requires

    @property
    def requires_grad(self):
        """True where gradients are computed for this tensor."""
        if self.is_view and self.origin:        # its node may be one that can't be made again
            return self.requires or self.base().needs_grad() and self.origin != MADE_IN_NO_GRAD
        return self.needs_grad()

    @requires_grad.setter
    def requires_grad(self, value):
        if value is not True and value is not False:
            raise RuntimeError(f"requires_grad must be a bool, got {type(value).__name__}")
        if value == self.needs_grad():
            return
        if has_node(self):
            raise RuntimeError("you can only change requires_grad flags of leaf variables.")
        if value and self.dtype.category < FLOATING:
            raise RuntimeError(f"only Tensors of floating point and complex dtype can require gradients, this one is {self.dtype}")
        if value and self.inference and not get_mode() & INFERENCE:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        self.requires = value

    @property
    def is_leaf(self):
        """True for tensors that no recorded function produced."""
        return not has_node(self)

    @property
    def grad_fn(self):
        """The node of the function that produced this tensor, None for a leaf."""
        return self.node if has_node(self) else None

    def _leave_graph(self):
        self.node = None
        self.nr = 0
        self.requires = False

    @property
    def output_nr(self):
        return self.nr

    @property
    def grad(self):
        """The gradient accumulated by `backward`, None before."""
        found = self.slot.grad if self.slot is not None else None
        if found is None and has_node(self):
            warn_of_inner_grad(self)
        return found

    @grad.setter
    def grad(self, value):
        if value is not None:
            check_grad(self, value)
        self.grad_slot().grad = value

    @grad.deleter
    def grad(self):
        self.grad_slot().grad = None

    def grad_slot(self):
        """Where this tensor's gradient is kept (made on first use)."""
        if self.slot is None:
            self.slot = GradSlot.__new__(GradSlot)
        return self.slot

    cdef int set_view(self, TensorBase parent, object op, tuple args, int origin) except -1:
        """Say that this tensor, which shares parent's memory and version, is `op` of it."""
        self.is_view = True
        self.origin = <Origin>(origin if origin or not parent.is_view else parent.origin)
        self.recorded = self.version.value
        if parent.is_view:
            self.view = next_step(parent.record(), parent.view.base, op, args)
        else:                       # most views are of no view and are never written to: they don't need a record
            self.viewed = parent
            self.view_op = <void*>op
            self.view_args = args
        return 0

    cdef ViewRecord record(self):
        """How this view comes from its base; None for what is no view."""
        if self.view is None and self.viewed is not None:
            self.view = next_step(None, self.viewed, <object>self.view_op, (self.shape_(),) if self.view_args is None else self.view_args)
        return self.view

    cdef TensorBase base(self):
        """The tensor that this one is a differentiable view of, or None."""
        return self.viewed if self.view is None else self.view.base

    def _is_view(self):
        return self.is_view

    @property
    def _base(self):
        """The tensor that this one is a differentiable view of, or None."""
        return self.base()

    def is_inference(self):
        return self.inference

    def _set_inference(self, bint value):
        self.inference = value

    @property
    def data(self):
        """The same memory outside of the graph, with a version of its own: writes through it are not noticed."""
        cdef TensorBase result = detached(self)
        result.version = None
        return result

    @data.setter
    def data(self, TensorBase value not None):
        if value.device is not self.device and has_node(self):
            raise RuntimeError("incompatible tensor type: the device of a non-leaf's data can't change")
        check_layout(value)
        if self.needs_grad() and value.dtype.category < FLOATING:
            raise RuntimeError(f"data set to a tensor that requires gradients must be floating point or complex dtype, got {value.dtype}")
        self.dtype = value.dtype
        self.device = value.device
        self.point_at(value.array, value.storage_())

    def _detached(self):
        return detached(self)

    # -- operators. With C's slots (c_api_binop_methods) either operand may be the tensor, and subclasses inherit the slot
    # itself: an operator costs no attribute look-up.
    def __add__(self, other): return _add.call2(self, other)
    def __sub__(self, other): return _sub.call2(self, other)
    def __mul__(self, other): return _mul.call2(self, other)
    def __truediv__(self, other): return _div.call2(self, other)
    def __floordiv__(self, other): return _floordiv.call2(self, other)
    def __mod__(self, other): return _mod.call2(self, other)
    def __pow__(self, other, modulo): return _pow.call2(self, other)
    def __matmul__(self, other): return _matmul.call2(self, other)
    def __and__(self, other): return _and.call2(self, other)
    def __or__(self, other): return _or.call2(self, other)
    def __xor__(self, other): return _xor.call2(self, other)
    def __lshift__(self, other): return _lshift.call2(self, other)
    def __rshift__(self, other): return _rshift.call2(self, other)
    def __iadd__(self, other): return _add.call2_(self, other)
    def __isub__(self, other): return _sub.call2_(self, other)
    def __imul__(self, other): return _mul.call2_(self, other)
    def __itruediv__(self, other): return _div.call2_(self, other)
    def __ifloordiv__(self, other): return _floordiv.call2_(self, other)
    def __imod__(self, other): return _mod.call2_(self, other)
    def __ipow__(self, other): return _pow.call2_(self, other)
    def __iand__(self, other): return _and.call2_(self, other)
    def __ior__(self, other): return _or.call2_(self, other)
    def __ixor__(self, other): return _xor.call2_(self, other)
    def __ilshift__(self, other): return _lshift.call2_(self, other)
    def __irshift__(self, other): return _rshift.call2_(self, other)
    def __neg__(self): return _neg.call1(self)
    def __pos__(self): return _pos.call1(self)
    def __abs__(self): return _abs.call1(self)
    def __invert__(self): return _invert.call1(self)
    def __eq__(self, other): return _eq.call2(self, other)
    def __ne__(self, other): return _ne.call2(self, other)
    def __lt__(self, other): return _lt.call2(self, other)
    def __le__(self, other): return _le.call2(self, other)
    def __gt__(self, other): return _gt.call2(self, other)
    def __ge__(self, other): return _ge.call2(self, other)

    # -- to Python's numbers
    cdef object number(self):
        """The one element of a tensor."""
        cdef int kind
        if type(self.array) is cnp.ndarray:
            kind = cnp.PyArray_TYPE(<cnp.ndarray>self.array)
            if kind < cnp.NPY_OBJECT or kind == cnp.NPY_FLOAT16:
                return pyx_first_element(<cnp.ndarray>self.array)
        value = self._host_array().reshape(()).item()
        return float(value) if self.dtype.category == FLOATING else value      # also of a type that NumPy doesn't know

    cdef object only_element(self):
        if self.numel() != 1:
            raise ValueError(f"only one element tensors can be converted to Python scalars, got shape {list(self.shape_())}")
        return self.number()

    def item(self):
        """The value of a one-element tensor as a Python number."""
        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        return self.number()

    def __bool__(self):
        if self.numel() != 1:
            what = "no values" if self.numel() == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
        return bool(self.number())

    def __float__(self):
        return float(real_number(self.only_element(), "double"))

    def __int__(self):
        return int(real_number(self.only_element(), "int64_t"))

    def __complex__(self):
        return complex(self.only_element())

    def __index__(self):
        if self.numel() != 1 or self.dtype.category >= FLOATING:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.number())

    def __hash__(self):
        return <Py_hash_t>(<size_t><void*>self >> 4)

    def __getitem__(self, index):
        return _getitem(self, index)

    def __setitem__(self, index, value):
        _setitem(self, index, value)

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        """The memory of a cpu tensor as a Python buffer. A tensor in the graph refuses: a buffer would drop it silently."""
        if self.needs_grad():
            raise BufferError("Can't give the buffer of a Tensor that requires grad. Use tensor.detach() instead.")
        if type(self.array) is not cnp.ndarray or self.device.type != "cpu":
            raise BufferError(f"a tensor on {self.device} has no buffer. Use Tensor.cpu() to copy it to host memory first.")
        self.storage_()                   # the memory is shared from now on
        PyObject_GetBuffer(self.array, buffer, flags)

    def __len__(self):
        cdef tuple shape = self.shape_()
        if not shape:
            raise TypeError("len() of a 0-d tensor")
        return shape[0]


cdef int check_layout(TensorBase t) except -1:
    """NotImplementedError for contents that aren't an array of the backend, which an object of another class couldn't read."""
    if type(t.array) is not cnp.ndarray and hasattr(t.array, "layout"):
        raise NotImplementedError(f"a tensor of layout {t.array.layout} can't become a Parameter or the data of another tensor; use to_dense() first")
    return 0


cdef int check_grad(TensorBase t, object grad) except -1:
    cdef TensorBase g
    if not isinstance(grad, TensorBase):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(grad).__name__}")
    g = <TensorBase>grad
    if g is t:
        raise RuntimeError("can't assign Variable as its own grad")
    if g.shape_() != t.shape_():
        raise RuntimeError(f"assigned grad has data of a different size: {list(g.shape_())}, expected {list(t.shape_())}")
    if g.dtype is not t.dtype:
        raise RuntimeError(f"assigned grad has data of a different type: {g.dtype}, expected {t.dtype}")
    if g.device is not t.device:
        raise RuntimeError(f"assigned grad has data located on a different device: {g.device}, expected {t.device}")
    return 0
