"""Operations and their one call path:

parse -> fast test -> device check -> promotion -> the backend's entry -> wrap -> record.

An `Op` is a definition (see `definitions.py` for the decorators) with a table of entries, one per backend. What it
calls is the backend's method of its name, or else the definition's body, which is written in terms of other operations.
"""
import warnings

cimport numpy as cnp
import numpy as np

from .device cimport Device, as_device, default_device
from .dtype cimport BOOL, COMPLEX, FLOATING, INTEGRAL, DType, Promotion
from .dtype cimport bool_ as bool_dtype, default_float, from_numpy_dtype, int64
from .geometry cimport RETYPE, VIEW, Geometry, apply_view, load_shape, set_contiguous, shape_tuple, wrap_dim
from . cimport tensor as T
from .mode cimport INFERENCE, INTERCEPT, NO_GRAD, TRACK_DERIVED, get_mode
from .record cimport DIM, DIMS, RAW, RAWS, SIZES, TENSOR, TENSORS, TYPE
from .record cimport Gradient, OpNode, any_needs_grad, check_writable, connect_written, mark_derived
from .tensor cimport MADE_IN_NO_GRAD, MULTI_OUTPUT, PLAIN_VIEW, TensorBase, Version, ViewRecord
from .tensor cimport is_dense, load_geometry, make_retyped_view, make_view, new_tensor, wrap_array
from . import mode as _mode
from . import registry
from .record import namespace

cnp.import_array()

cdef extern from *:
    """
    #include "numpy/arrayobject.h"
    static int pyx_set_scalar(PyArrayObject* array, PyObject* value) {
        return PyArray_SETITEM(array, (char*)PyArray_DATA(array), value);
    }
    """
    int pyx_set_scalar(cnp.ndarray array, object value) except -1
    object PyArray_EMPTY_0 "PyArray_EMPTY" (int ndim, cnp.npy_intp* dims, int type_num, int fortran)

cdef object B = namespace
cdef object _intercept = None       # function(op, args, out) for operands that are neither Tensor nor Parameter


def set_interceptor(function):
    """Called once by core/frontend.py: function(op, args) -> result or NotImplemented, for subclasses and profilers."""
    global _intercept
    _intercept = function


cdef bint is_plain(object x) noexcept:
    """The fast test: exactly a Tensor or a Parameter."""
    return type(x) is T.tensor_class or type(x) is T.parameter_class


cdef bint all_plain(list args):
    """No operand is of a subclass that might want to take over."""
    for item in args:
        if not is_plain(item) and (isinstance(item, TensorBase) or hasattr(type(item), "__torch_function__")):
            return False
        if type(item) is list or type(item) is tuple:
            for inner in item:
                if isinstance(inner, TensorBase) and not is_plain(inner):
                    return False
    return True


# --- operands -----------------------------------------------------------------------------------------------------
cdef bint is_scalar(object x):
    return isinstance(x, (int, float, complex, np.generic))


cdef object ONE = 1      # a Python int: 64 bits don't fit a C one


cdef object wrapped_scalar(object value, DType dtype):
    """A Python scalar as PyTorch stores it in a tensor of `dtype`: integers wrap, floats lose their fraction."""
    cdef object modulus
    if dtype.category == INTEGRAL:
        if isinstance(value, float):
            value = int(value)
        if not -0x8000000000000000 <= value <= 0xFFFFFFFFFFFFFFFF:
            raise RuntimeError("value cannot be converted to type int64_t without overflow")
        modulus = ONE << (8 * dtype.itemsize)
        value = value % modulus
        if dtype.is_signed and value >> (8 * dtype.itemsize - 1):
            value -= modulus
    elif dtype.category == FLOATING and isinstance(value, int):
        try:
            value = float(value)
        except OverflowError:
            value = float("inf") if value > 0 else float("-inf")
    return value


cdef object as_array(object value, DType dtype, Device device):
    """A 0-dim array on the device that holds a Python scalar."""
    cdef object array
    if device._backend.array_type is cnp.ndarray and (<cnp.dtype>dtype.numpy).type_num < 64:
        array = cnp.PyArray_EMPTY(0, NULL, (<cnp.dtype>dtype.numpy).type_num, 0)
        if type(value) is not float or dtype.category < FLOATING:
            value = wrapped_scalar(value, dtype)
        pyx_set_scalar(<cnp.ndarray>array, value)
        return array
    value = wrapped_scalar(value, dtype)
    if device.index is None:
        return device._backend.full((), value, device._backend.dtypes[dtype.name])
    return device._backend.full((), value, device._backend.dtypes[dtype.name], device.ordinal)


cdef object cast_array(TensorBase t, DType dtype):
    return t.device._backend.cast(t.array, t.device._backend.dtypes[dtype.name])


cdef object shapes_message(str op, list args):
    """PyTorch's message where shapes don't broadcast, or None where they do."""
    shapes = [(<TensorBase>a).shape_() for a in args if isinstance(a, TensorBase)]
    if len(shapes) < 2:
        return None
    a = shapes[0]
    for b in shapes[1:]:
        n = max(len(a), len(b))
        left, right = (1,) * (n - len(a)) + tuple(a), (1,) * (n - len(b)) + tuple(b)
        for i in range(n - 1, -1, -1):
            if left[i] != right[i] and left[i] != 1 and right[i] != 1:
                return (f"The size of tensor a ({left[i]}) must match the size of tensor b ({right[i]}) at non-singleton "
                        f"dimension {i}")
        a = tuple([max(l, r) if l and r else 0 for l, r in zip(left, right)])
    return None


cdef str different_devices(Device a, Device b):
    return f"Expected all tensors to be on the same device, but found at least two devices, {a} and {b}!"


cdef bint broadcasts_to(tuple shape, tuple target):
    cdef Py_ssize_t i, lead = len(target) - len(shape)
    if lead < 0:
        return False
    for i in range(len(shape)):
        if shape[i] != 1 and shape[i] != target[lead + i]:
            return False
    return True


cdef bint same_memory(TensorBase a, TensorBase b) except -1:
    """The same elements in the same order."""
    cdef cnp.ndarray x, y
    cdef int i
    if a is b or a.array is b.array:
        return True
    if type(a.array) is not cnp.ndarray or type(b.array) is not cnp.ndarray:
        return False
    x, y = a.array, b.array
    if cnp.PyArray_DATA(x) != cnp.PyArray_DATA(y) or cnp.PyArray_NDIM(x) != cnp.PyArray_NDIM(y) or a.dtype is not b.dtype:
        return False
    for i in range(cnp.PyArray_NDIM(x)):
        if cnp.PyArray_DIM(x, i) != cnp.PyArray_DIM(y, i) or cnp.PyArray_STRIDE(x, i) != cnp.PyArray_STRIDE(y, i):
            return False
    return True


cdef bint may_overlap(TensorBase a, TensorBase b):
    """Could a write to a change b? (By the extents of their memory; True when in doubt.)"""
    if type(a.array) is cnp.ndarray and type(b.array) is cnp.ndarray:
        return np.may_share_memory(a.array, b.array)
    return a.array is b.array or (a.storage is not None and a.storage is b.storage)


# --- operations ---------------------------------------------------------------------------------------------------
cdef class Op(Slot):
    """An operation of the table."""

    def __init__(self, signature, *, str entry, bint primitive, dict vjp, tuple aux, bint nograd, Promote promote, str result,
                 returns, tuple differentiable, str grad_name, bint alpha, explain):
        cdef int i
        self.name = signature.name
        self.entry_name = entry
        self.signature = signature
        self.definition = signature.function
        self.primitive = primitive
        self.nograd = nograd
        self.promote = promote
        self.result = result
        self.returns = returns
        self.takes_alpha = alpha
        self.explain = explain
        self.n_aux = len(aux)
        self.n_params = len(signature.params)
        self.plain_positional = signature.n_positional == self.n_params and signature.sizes_at < 0
        for i in range(self.n_params):
            self.kinds[i] = signature.kinds[i]
        if vjp:
            self.gradient = Gradient(grad_name, signature, vjp, aux, differentiable)
        self.table = []
        self.takes_out = []

    def __repr__(self):
        return f"<operation {self.name}>"

    # -- the table
    cdef int resolve(self, int slot, object backend) except -1:
        """Fill the column of a backend: its method of the operation's name, if it has one."""
        while len(self.table) <= slot:
            self.table.append(None)
            self.takes_out.append(None)
        entry = getattr(backend, self.entry_name, None) if self.entry_name is not None else None
        self.table[slot] = entry
        code = getattr(entry, "__code__", None)
        names = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount] if code is not None else ()
        self.takes_out[slot] = "out" in names
        return 0

    cdef object entry(self, Device device):
        if device.slot >= len(self.table) or self.takes_out[device.slot] is None:
            self.resolve(device.slot, device._backend)
        return self.table[device.slot]

    def register(self, Device device not None, entry):
        """Make `entry(*arrays, *arguments)` what this operation runs on the device's backend."""
        device.resolve()
        self.resolve(device.slot, device._backend)
        self.table[device.slot] = entry
        code = getattr(entry, "__code__", None)
        self.takes_out[device.slot] = code is not None and "out" in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]

    def has_entry(self, Device device not None):
        """True where the device's backend has a kernel of its own for this operation."""
        device.resolve()
        return self.entry(device.canonical) is not None

    # -- the hot shapes
    cdef object call1(self, object a):
        cdef TensorBase t
        cdef unsigned int mode = get_mode()
        if is_plain(a) and not mode & ~NO_GRAD:
            t = <TensorBase>a
            if self.promote < FLOAT or self.promote == SAME or t.dtype.category >= FLOATING:
                entry = self.entry(t.device)
                if entry is not None:
                    if mode & NO_GRAD or not t.needs_grad() or self.nograd:
                        return wrap_array(entry(t.array), t.device)
                    if self.gradient is not None and self.n_aux == 0:
                        return self.recorded(wrap_array(entry(t.array), t.device), [a])
        return self.run([a])

    cdef object call2(self, object a, object b):
        cdef TensorBase t, u
        cdef unsigned int mode = get_mode()
        if is_plain(a) and not mode & ~NO_GRAD:
            t = <TensorBase>a
            if is_plain(b):
                u = <TensorBase>b
                if t.dtype is u.dtype and t.device is u.device and (self.promote < FLOAT or self.promote == SAME or t.dtype.category >= FLOATING):
                    entry = self.entry(t.device)
                    if entry is not None:
                        if mode & NO_GRAD or self.nograd or not (t.needs_grad() or u.needs_grad()):
                            return wrap_array(self.guarded(entry, t, u), t.device)
                        if self.gradient is not None:
                            return self.recorded(wrap_array(self.guarded(entry, t, u), t.device), [a, b])
            elif (type(b) is float or type(b) is int) and t.dtype.category >= FLOATING and self.promote != NONE and self.promote != SAME:
                entry = self.entry(t.device)
                if entry is not None:
                    if mode & NO_GRAD or self.nograd or not t.needs_grad():
                        return wrap_array(entry(t.array, as_array(b, t.dtype, t.device)), t.device)
                    if self.gradient is not None:
                        return self.recorded(wrap_array(entry(t.array, as_array(b, t.dtype, t.device)), t.device), [a, b])
        return self.operate([a, b])

    cdef object call2_(self, object a, object b):
        return self.run_inplace([a, b], True)

    cdef object reduce(self, TensorBase t, object dim, object keepdim):
        """A reduction of a plain tensor with the usual arguments."""
        cdef list args
        cdef tuple dims
        entry = self.entry(t.device)
        if entry is None or not (self.promote < FLOAT or t.dtype.category >= FLOATING) or (dim is not None and type(dim) is not int):
            return None
        dims = all_dims(dim, t.ndim_())
        try:
            result = wrap_array(entry(t.array, dims, keepdim), t.device)
        except (ValueError, TypeError) as error:
            raise self.explained(error, [t]) from None
        if get_mode() & NO_GRAD or self.nograd or not t.needs_grad():
            return result
        if self.gradient is None:
            return None
        args = [t, dims, keepdim]
        if self.n_params > 3:
            args.append(None)
        return self.recorded(result, args)

    cdef object guarded(self, object entry, TensorBase t, TensorBase u):
        try:
            return entry(t.array, u.array)
        except (ValueError, TypeError, ZeroDivisionError) as error:
            raise self.explained(error, [t, u]) from None

    cdef object recorded(self, TensorBase result, list args):
        cdef OpNode node = self.gradient.prepare(args, None)
        self.gradient.connect(node, result, None)
        return result

    cdef object operate(self, list args):
        """As an operator: NotImplemented, not an error, for an operand that can't be a tensor."""
        for item in args:
            if not (isinstance(item, (TensorBase, cnp.ndarray)) or is_scalar(item) or hasattr(item, "__torch_function__")):
                return NotImplemented
        return self.run(args)

    cdef object explained(self, object error, list args):
        """PyTorch's error for what an entry refused."""
        if isinstance(error, ZeroDivisionError):
            return RuntimeError("ZeroDivisionError")
        message = self.explain(*args) if self.explain is not None else shapes_message(self.name, args)
        if message is not None:
            return RuntimeError(message)
        if isinstance(error, TypeError):
            for arg in args:
                if isinstance(arg, TensorBase):
                    return NotImplementedError(f"\"{self.name}\" not implemented for '{T_name((<TensorBase>arg).dtype)}': {error}")
        return RuntimeError(f"{self.name}: {error}") if type(error) is ValueError else error

    # -- the general path
    def __call__(self, *args, **kwargs):
        """Call with PyTorch's arguments; `out=` gives the tensor(s) to write to."""
        if not kwargs and len(args) == self.n_params and self.plain_positional:
            return self.run(list(args))
        out = kwargs.pop("out", None) if kwargs else None
        bound = self.signature.bind(args, kwargs)
        return self.run(bound) if out is None else self.run_out(bound, out)

    def in_place(self, *args, **kwargs):
        """The form that writes its result to its first argument."""
        alpha = kwargs.pop("alpha", None) if self.takes_alpha else None
        bound = self.signature.bind(args, kwargs)
        if alpha is not None:
            bound[1] = scaled(bound[0], bound[1], alpha)
        return self.run_inplace(bound, False)

    cdef object run(self, list args):
        cdef unsigned int mode = get_mode()
        cdef bint record
        cdef Device device
        if mode & INTERCEPT or not all_plain(args):
            result = _intercept(self, args)
            if result is not NotImplemented:
                return result
        device = self.common_device(args)
        self.normalise(args)
        record = self.gradient is not None and not mode & (NO_GRAD | INFERENCE) and any_needs_grad(args)
        entry = self.entry(device)
        if entry is None or (self.gradient is None and not self.nograd and not mode & NO_GRAD and any_needs_grad(args)):
            if self.primitive:
                return self.unavailable(device, args)
            return self.finish_default(args, device, record)
        compute = self.compute_dtype(args)
        try:
            raw = entry(*self.kernel_args(args, compute, device))
        except (ValueError, TypeError, ZeroDivisionError) as error:
            raise self.explained(error, args) from None
        return self.finish(raw, device, args, record)

    cdef object run_default(self, list args):
        cdef Py_ssize_t n = self.signature.n_positional
        if n == self.n_params:
            return self.definition(B, *args)
        return self.definition(B, *args[:n], **dict(zip(self.signature.params[n:], args[n:])))

    cdef object finish_default(self, list args, Device device, bint record):
        """The definition's body over tensors. Where a vjp is given, the body itself isn't recorded."""
        cdef unsigned int before
        if self.gradient is None:
            result = self.run_default(args)
            return self.returns(result) if self.returns is not None and type(result) is tuple else result
        before = _mode.swap_bits(NO_GRAD, NO_GRAD)
        try:
            result = self.run_default(args)
        finally:
            _mode.swap_bits(NO_GRAD, before)
        return self.finish(result, device, args, record)

    cdef object finish(self, object raw, Device device, list args, bint record):
        """Wrap what an entry or a default gave, split off hidden outputs, record."""
        cdef object results, aux = None
        cdef OpNode node
        if raw is None:
            return None                     # an entry that only writes to its operands
        if type(raw) is tuple or type(raw) is list:
            raw = tuple([r if isinstance(r, TensorBase) or r is None else wrap_array(r, device) for r in raw])
            if self.n_aux:
                aux = raw[len(raw) - self.n_aux:]
                raw = raw[:len(raw) - self.n_aux]
            results = raw[0] if len(raw) == 1 and self.returns is None and self.n_aux else raw
        else:
            results = raw if isinstance(raw, TensorBase) else wrap_array(raw, device)
        if record:
            node = self.gradient.prepare(args, None)
            self.gradient.connect(node, results, aux)
        elif get_mode() & INFERENCE:
            for t in (results if type(results) is tuple else (results,)):
                (<TensorBase>t).inference = True
        if get_mode() & TRACK_DERIVED and not self.nograd:
            mark_derived(results, args, record)
        if self.returns is not None and type(results) is tuple:
            return self.returns(results)
        return results

    cdef object unavailable(self, Device device, list args):
        backend = device._backend
        if not backend.fallback_to_cpu:
            raise NotImplementedError(f"operation {self.name!r} isn't available on backend {device.type!r}: it has no kernel for it "
                                      "and the operation has no default")
        warnings.warn(f"operation {self.name!r} runs on the CPU: backend {device.type!r} has no kernel for it")
        cpu = as_device("cpu")
        moved = [a.to(cpu) if isinstance(a, TensorBase) else [x.to(cpu) for x in a] if type(a) is list else a for a in args]
        result = self.run(moved)
        return result.to(device) if isinstance(result, TensorBase) else type(result)([r.to(device) for r in result])

    # -- steps
    cdef Device common_device(self, list args):
        """The device of all tensor operands; 0-dim CPU tensors go with any. Arrays and lists of tensors are looked into."""
        cdef Device device = None
        cdef TensorBase t
        cdef int i, kind
        cdef bint moved = False
        for i in range(self.n_params):
            kind = self.kinds[i]
            if kind == TENSOR or kind == RAW:
                value = args[i]
                if isinstance(value, TensorBase):
                    device = self.join(device, <TensorBase>value, &moved)
                elif isinstance(value, cnp.ndarray):
                    args[i] = T.wrap_array(value, default_device())
                elif value is not None and not (kind == TENSOR and is_scalar(value) and self.promote != NONE and self.promote != SAME):
                    raise TypeError(f"{self.name}(): argument '{self.signature.params[i]}' must be Tensor, not {type(value).__name__}")
            elif kind == TENSORS or kind == RAWS:
                value = args[i]
                if isinstance(value, TensorBase) or not isinstance(value, (list, tuple)):
                    raise TypeError(f"{self.name}(): argument '{self.signature.params[i]}' must be tuple of Tensors, not "
                                    f"{type(value).__name__}")
                for item in value:
                    if isinstance(item, TensorBase):
                        device = self.join(device, <TensorBase>item, &moved)
                    elif item is not None:
                        raise TypeError(f"expected Tensor as element of argument '{self.signature.params[i]}' of {self.name}(), but got "
                                        f"{type(item).__name__}")
        if device is None:
            return default_device()
        if moved:
            for i in range(self.n_params):
                if isinstance(args[i], TensorBase) and (<TensorBase>args[i]).device is not device:
                    if (<TensorBase>args[i]).ndim_():
                        raise RuntimeError(different_devices(device, (<TensorBase>args[i]).device))
                    args[i] = args[i].to(device)
        return device

    cdef Device join(self, Device device, TensorBase t, bint* moved):
        if device is None or device is t.device:
            return t.device
        moved[0] = True
        if t.device.type == "cpu" and t.ndim_() == 0:
            return device
        if device.type == "cpu" and t.ndim_() > 0:
            # what came before must have been 0-dim; the others are checked as they come
            return t.device
        raise RuntimeError(different_devices(device, t.device))

    cdef int normalise(self, list args) except -1:
        """Dims counted from the front, dtypes read."""
        cdef int i, kind, ndim = 0
        cdef bint known = False
        for i in range(self.n_params):
            kind = self.kinds[i]
            if kind == DIM or kind == DIMS:
                if not known:
                    ndim = first_ndim(args)
                    known = True
                args[i] = self.one_dim(args[i], ndim) if kind == DIM else all_dims(args[i], ndim)
            elif kind == TYPE and args[i] is not None and not isinstance(args[i], DType):
                raise TypeError(f"{self.name}(): argument '{self.signature.params[i]}' must be torch.dtype, not {type(args[i]).__name__}")
        return 0

    cdef object one_dim(self, object dim, int ndim):
        if dim is None:
            return None
        if isinstance(dim, bool) or not hasattr(dim, "__index__"):
            raise TypeError(f"{self.name}(): argument 'dim' must be int, not {type(dim).__name__}")
        return wrap_dim(dim, ndim)

    cdef DType adjust(self, DType dtype):
        """The compute dtype for promoted operands."""
        if self.promote >= FLOAT and dtype.category < FLOATING:
            if self.promote == FLOAT:
                return default_float()
            if self.promote == SUM:
                return int64
            raise RuntimeError(f"{self.name}(): could not infer output dtype. Input dtype must be either a floating point or complex "
                               f"dtype. Got: {T_name(dtype)}")
        return dtype

    cdef DType check_same(self, list args):
        """RuntimeError where the tensors' dtypes differ."""
        cdef DType first = None
        cdef int i
        for i in range(self.n_params):
            if self.kinds[i] == TENSOR and isinstance(args[i], TensorBase):
                if first is None:
                    first = (<TensorBase>args[i]).dtype
                elif (<TensorBase>args[i]).dtype is not first:
                    raise RuntimeError(f"{self.name}(): expected operands to have the same dtype, but got: {first} != {args[i].dtype}")
        return None

    cdef DType compute_dtype(self, list args):
        """The dtype that all tensors of kind T are cast to (None: each keeps its own)."""
        cdef Promotion promotion
        cdef int i, kind
        if self.promote == NONE:
            return None
        if self.promote == SAME:
            return self.check_same(args)
        promotion = Promotion.__new__(Promotion)
        for i in range(self.n_params):
            kind = self.kinds[i]
            if kind == TENSOR:
                if isinstance(args[i], TensorBase):
                    promotion.add_tensor((<TensorBase>args[i]).dtype, (<TensorBase>args[i]).ndim_())
                elif args[i] is not None:
                    promotion.add_scalar(args[i])
            elif kind == TENSORS:
                for item in args[i]:
                    promotion.add_tensor((<TensorBase>item).dtype, (<TensorBase>item).ndim_())
            elif kind == TYPE and args[i] is not None:
                return self.adjust(<DType>args[i])
        return self.adjust(promotion.result())

    cdef list kernel_args(self, list args, DType compute, Device device):
        """What the entry gets: arrays for tensors, 0-dim arrays for scalars, the rest as it is."""
        cdef list out = []
        cdef TensorBase t
        cdef int i, kind
        for i in range(self.n_params):
            kind = self.kinds[i]
            value = args[i]
            if kind == TENSOR or kind == RAW:
                if isinstance(value, TensorBase):
                    t = <TensorBase>value
                    out.append(t.array if kind == RAW or compute is None or t.dtype is compute else cast_array(t, compute))
                else:
                    out.append(None if value is None else as_array(value, compute, device))
            elif kind == TENSORS:
                out.append([(<TensorBase>v).array if compute is None or (<TensorBase>v).dtype is compute else cast_array(v, compute)
                            for v in value])
            elif kind == RAWS:
                out.append([None if v is None else (<TensorBase>v).array for v in value])
            elif kind != TYPE:
                out.append(value)
        return out

    # -- writing forms
    cdef object run_inplace(self, list args, bint operator):
        """`input.op_(...)`: PyTorch's checks, then the result into the input's memory, its version and its history."""
        cdef TensorBase target
        cdef unsigned int mode = get_mode()
        cdef bint record
        cdef OpNode node = None
        cdef Version version
        if not isinstance(args[0], TensorBase):
            raise TypeError(f"{self.name}_(): argument 'input' must be Tensor, not {type(args[0]).__name__}")
        if operator:
            for item in args:
                if not (isinstance(item, (TensorBase, cnp.ndarray)) or is_scalar(item)):
                    return NotImplemented
        target = <TensorBase>args[0]
        record = not mode & (NO_GRAD | INFERENCE) and not self.nograd
        if record:
            if target.inference:
                raise RuntimeError("Inplace update to inference tensor outside InferenceMode is not allowed.")
            record = any_needs_grad(args)
            check_writable(target, record)
        check_no_overlap(target)
        if record and self.gradient is None:
            # composite: its parts are recorded on a copy (they may keep their input, which is overwritten below)
            result = self.run([B.clone(target), *args[1:]])
            self.check_result(target, result)
            return target.copy_(result)
        self.common_device(args)
        if record:
            bound = list(args)
            self.normalise(bound)
            node = self.gradient.prepare(bound, target)
        self.run_into(list(args), target, True)
        version = target.version_()
        version.value += 1
        if record:
            if self.gradient.saves_output:
                node.output = T_save_output(target, node)
            connect_written(target, node)
        if mode & TRACK_DERIVED:
            mark_derived(target, args, record)
        return target

    cdef object run_into(self, list args, TensorBase target, bint inplace):
        """Compute under no-grad and write to target's memory; directly where the entry takes `out`."""
        cdef Device device = target.device
        cdef DType compute
        cdef unsigned int before
        cdef TensorBase result
        self.common_device(args)
        self.normalise(args)
        entry = self.entry(device)
        if entry is not None and self.takes_out[device.slot] and self.result == "same" and device._backend.mutable:
            compute = self.compute_dtype(args)
            if (compute is None or compute is target.dtype) and self.fits(args, target):
                try:
                    entry(*self.kernel_args(args, compute, device), out=target.array)
                except (ValueError, TypeError, ZeroDivisionError) as error:
                    raise self.explained(error, args) from None
                return target
        before = _mode.swap_bits(NO_GRAD, NO_GRAD)
        try:
            raw = self.run(args)
        finally:
            _mode.swap_bits(NO_GRAD, before)
        result = <TensorBase>raw
        self.check_result(target, result)
        write_array(target, result)
        return target

    cdef bint fits(self, list args, TensorBase target) except -1:
        """The result has exactly the target's shape and dtype, and no operand lies crosswise over it."""
        cdef tuple shape = target.shape_()
        cdef int i
        cdef bint full = False
        for i in range(self.n_params):
            if self.kinds[i] >= TENSORS and self.kinds[i] <= RAWS:
                return False
            if (self.kinds[i] == TENSOR or self.kinds[i] == RAW) and isinstance(args[i], TensorBase):
                other = (<TensorBase>args[i]).shape_()
                full = full or other == shape
                if not broadcasts_to(other, shape):
                    return False
                if not same_memory(<TensorBase>args[i], target) and may_overlap(<TensorBase>args[i], target):
                    return False
        return full and cnp.PyArray_ISWRITEABLE(<cnp.ndarray>target.array) if type(target.array) is cnp.ndarray else full

    cdef int check_result(self, TensorBase target, TensorBase result) except -1:
        if result.dtype.category > target.dtype.category and not (result.dtype.category == INTEGRAL and target.dtype.category == BOOL and False):
            raise RuntimeError(f"result type {T_name(result.dtype)} can't be cast to the desired output type {T_name(target.dtype)}")
        if result.shape_() != target.shape_():
            raise RuntimeError(f"output with shape {list(target.shape_())} doesn't match the broadcast shape {list(result.shape_())}")
        return 0

    cdef object run_out(self, list args, object out):
        """`op(..., out=tensor)`: no gradient; `out` is resized where its shape differs."""
        cdef unsigned int before
        if not get_mode() & NO_GRAD and (any_needs_grad(args) or any_needs_grad([out] if isinstance(out, TensorBase) else list(out))):
            raise RuntimeError(f"{self.name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                               "arguments requires grad.")
        before = _mode.swap_bits(NO_GRAD, NO_GRAD)
        try:
            if get_mode() & TRACK_DERIVED:
                mark_derived(out, args, False)
            if isinstance(out, TensorBase):
                check_no_overlap(<TensorBase>out)
                self.direct_or_copied(args, <TensorBase>out)
                return out
            results = self.run(args)
            if not isinstance(results, tuple) or len(results) != len(out):
                raise TypeError(f"{self.name}(): argument 'out' must be Tensor, not tuple of {len(out)}")
            for t, r in zip(out, results):
                write_out(self, t, r)
            return self.returns(out) if self.returns is not None else tuple(out)
        finally:
            _mode.swap_bits(NO_GRAD, before)

    cdef int direct_or_copied(self, list args, TensorBase out) except -1:
        cdef Version version
        cdef DType compute
        self.common_device(args)
        if self.result == "same" and out.device._backend.mutable:
            entry = self.entry(out.device)
            if entry is not None and self.takes_out[out.device.slot]:
                bound = list(args)
                self.normalise(bound)
                compute = self.compute_dtype(bound)
                if compute is out.dtype and self.fits(bound, out):
                    entry(*self.kernel_args(bound, compute, out.device), out=out.array)
                    version = out.version_()
                    version.value += 1
                    return 0
        result = self.run(args)
        if isinstance(result, tuple):
            raise TypeError(f"{self.name}(): argument 'out' must be tuple of Tensors, not Tensor")
        return write_out(self, out, result)


cdef int write_out(Op op, TensorBase out, TensorBase result) except -1:
    if result.dtype.category > out.dtype.category:
        raise RuntimeError(f"result type {T_name(result.dtype)} can't be cast to the desired output type {T_name(out.dtype)}")
    if result.device is not out.device:
        raise RuntimeError(different_devices(result.device, out.device))
    if result.shape_() != out.shape_():
        if out.numel():
            warnings.warn(f"An output with one or more elements was resized since it had shape {list(out.shape_())}, which does not "
                          f"match the required output shape {list(result.shape_())}. This behavior is deprecated, and in a future "
                          "PyTorch release outputs will not be resized unless they have zero elements.", stacklevel=3)
        out.resize_(result.shape_())
    write_array(out, result)
    out._bump_version()
    return 0


cdef int write_array(TensorBase target, TensorBase result) except -1:
    """Values of result into the memory of target, which has its shape."""
    backend = target.device._backend
    if type(target.array) is cnp.ndarray and not cnp.PyArray_ISWRITEABLE(<cnp.ndarray>target.array):
        raise RuntimeError(f"{target.dtype} tensor of shape {list(target.shape_())} stands on read-only memory and can't be written in place")
    if backend.mutable:
        backend.copy_(target.array, result.array)
        return 0
    if target.view is not None or (target.storage is not None and len(target.storage.tensors) > 1):
        raise RuntimeError(f"backend {target.device.type!r} can't write in place to a tensor that shares its memory with others")
    target.point_at(result.array if result.dtype is target.dtype else cast_array(result, target.dtype), None)
    return 0


cdef int check_no_overlap(TensorBase t) except -1:
    if type(t.array) is cnp.ndarray and not is_dense(t.array) and t._overlaps_itself():
        raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                           "Please clone() the tensor before performing the operation.")
    return 0


def prepare_write(TensorBase t not None):
    """The checks before any write to t's memory outside of an operation; then count the write."""
    if not get_mode() & (NO_GRAD | INFERENCE):
        check_writable(t, False)
    check_no_overlap(t)
    if type(t.array) is cnp.ndarray and not cnp.PyArray_ISWRITEABLE(<cnp.ndarray>t.array):
        raise RuntimeError(f"{t.dtype} tensor of shape {list(t.shape_())} stands on read-only memory and can't be written in place")
    t._bump_version()


cdef object T_save_output(TensorBase t, OpNode node):
    """The value just written to t, as the output 0 of the node that wrote it."""
    cdef bint requires = t.requires
    cdef int nr = t.nr
    t.requires = True
    t.nr = 0
    try:
        return save_output(t)
    finally:
        t.requires = requires
        t.nr = nr


cdef object save_output(TensorBase t):
    from .record import save_tensor
    return save_tensor(t, True)


cdef str T_name(DType dtype):
    from .record import type_name
    return type_name(dtype)[6:-6]


cdef int first_ndim(list args) except -1:
    for item in args:
        if isinstance(item, TensorBase):
            return (<TensorBase>item).ndim_()
        if type(item) in (list, tuple) and item and isinstance(item[0], TensorBase):
            return (<TensorBase>item[0]).ndim_()
    return 0


cdef tuple all_dims(object dims, int ndim):
    """None, an int or a sequence of ints as sorted, non-negative, unique dims."""
    cdef list wrapped
    if dims is None:
        return tuple(range(ndim))
    if not isinstance(dims, (list, tuple)):
        return (wrap_dim(dims, ndim),) if ndim else (wrap_dim(dims, ndim),)[:0]
    if not dims:
        return tuple(range(ndim))
    wrapped = [wrap_dim(d, ndim) for d in dims]
    wrapped.sort()
    for i in range(len(wrapped) - 1):
        if wrapped[i] == wrapped[i + 1]:
            raise RuntimeError(f"dim {wrapped[i]} appears multiple times in the list of dims")
    return tuple(wrapped) if ndim else ()


# --- views --------------------------------------------------------------------------------------------------------
cdef class ViewOp(Op):
    """An operation whose result shares its input's memory; what it does to shape and strides stands in geometry.pyx."""

    def set_kind(self, int kind):
        self.view_kind = kind

    cdef object run(self, list args):
        if get_mode() & INTERCEPT or not all_plain(args):
            result = _intercept(self, args)
            if result is not NotImplemented:
                return result
        if not isinstance(args[0], TensorBase):
            raise TypeError(f"{self.name}(): argument 'input' must be Tensor, not {type(args[0]).__name__}")
        if self.view_kind == VIEW and len(args[1]) == 1 and isinstance(args[1][0], DType):
            return B._view_dtype(args[0], args[1][0])
        return self.view(<TensorBase>args[0], tuple(args[1:]), PLAIN_VIEW)

    cdef object view(self, TensorBase t, tuple args, int origin):
        cdef Geometry g
        cdef TensorBase result
        cdef ViewRecord record
        cdef OpNode node
        cdef unsigned int mode = get_mode()
        cdef bint needed = not mode & (NO_GRAD | INFERENCE) and t.needs_grad()
        if self.view_kind == RETYPE:
            result = make_retyped_view(t, args[0])
            needed = needed and result.dtype.category >= FLOATING and result.dtype.category != t.dtype.category
        else:
            load_geometry(t, &g)
            apply_view(self.view_kind, &g, args)
            result = make_view(t, &g)
        if result.storage is not None:
            record = ViewRecord.__new__(ViewRecord)
            record.parent = t.view
            record.base = t if t.view is None else t.view.base
            record.op = self
            record.args = args
            record.origin = <T.Origin>(MADE_IN_NO_GRAD if mode & NO_GRAD and not origin else origin)
            if t.view is not None and t.view.origin and not record.origin:
                record.origin = t.view.origin
            record.recorded = result.version.value
            result.view = record
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

    cdef object call1(self, object a):
        return self.view(<TensorBase>a, (), PLAIN_VIEW) if is_plain(a) else self.run([a])


# --- the functions that users call --------------------------------------------------------------------------------
def unary_function(Op op not None):
    def call(input, *, out=None):
        return op.call1(input) if out is None else op.run_out([input], out)
    return call


def binary_function(Op op not None):
    if op.takes_alpha:
        return scaling_function(op)

    def call(input, other, *, out=None):
        if out is not None:
            return op.run_out([input, other], out)
        result = op.call2(input, other)
        return op.run([input, other]) if result is NotImplemented else result      # raises, with the argument's name
    return call


def scaling_function(Op op):
    """A binary function with `alpha`, which scales the second operand."""
    def call(input, other, *, alpha=None, out=None):
        if alpha is not None:
            other = scaled(input, other, alpha)
        if out is not None:
            return op.run_out([input, other], out)
        result = op.call2(input, other)
        return op.run([input, other]) if result is NotImplemented else result
    return call


cdef object scaled(object input, object other, object alpha):
    """alpha * other, refused where that would make integers floats."""
    if type(alpha) is int and alpha == 1:
        return other
    if isinstance(alpha, float) and not any([isinstance(x, TensorBase) and (<TensorBase>x).dtype.category >= FLOATING or isinstance(x, float)
                                             for x in (input, other)]):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    return B.mul(other, alpha) if isinstance(other, TensorBase) else other * alpha


def reduction_function(Op op not None):
    """For (input, dim=None, keepdim=False): all parameters of the definition in this order, dtype last if there is one."""
    cdef bint typed = len(op.signature.params) > 3, takes_dims = op.kinds[1] == DIMS
    def call(input, dim=None, keepdim=False, *, dtype=None, out=None, **names):
        cdef list args
        if out is None and dtype is None and takes_dims and not names and is_plain(input) and not get_mode() & ~NO_GRAD:
            result = op.reduce(<TensorBase>input, dim, keepdim)
            if result is not None:
                return result
        if names or (dtype is not None and not typed):
            if dtype is not None:
                names["dtype"] = dtype
            names.setdefault("dim", dim) if "axis" not in names else None
            names.setdefault("keepdim", keepdim) if "keepdims" not in names else None
            args = op.signature.bind((input,), names)
        else:
            args = [input, dim, keepdim, dtype] if typed else [input, dim, keepdim]
        return op.run(args) if out is None else op.run_out(args, out)
    return call


def sizes_function(ViewOp op not None):
    """For a view (input, sizes) whose sizes are one sequence or any number of ints."""
    def call(input, *sizes, **kwargs):
        if kwargs or not sizes or not is_plain(input):
            return op(input, *sizes, **kwargs)
        if len(sizes) == 1 and not isinstance(sizes[0], int):
            sizes = sizes[0]
            if isinstance(sizes, DType):
                return op(input, sizes)
        return op.view(<TensorBase>input, (sizes,), PLAIN_VIEW)
    return call


def general_function(Op op not None):
    def call(*args, **kwargs):
        return op(*args, **kwargs)
    return call


def in_place_function(Op op not None):
    def call(*args, **kwargs):
        return op.in_place(*args, **kwargs)
    return call


def getitem_function(ViewOp select not None, ViewOp index not None, general):
    """`x[index]`: ints, slices, None and Ellipsis at once, the rest by the general function."""
    def getitem(x, key):
        if not is_plain(x):
            return general(x, key)
        if type(key) is int:
            return select.view(<TensorBase>x, (0, key), PLAIN_VIEW) if (<TensorBase>x).ndim_() else general(x, key)
        if type(key) is slice:
            return index.view(<TensorBase>x, ((key,),), PLAIN_VIEW)
        if type(key) is tuple and is_basic(<tuple>key):
            return index.view(<TensorBase>x, (key,), PLAIN_VIEW)
        return general(x, key)
    return getitem


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
