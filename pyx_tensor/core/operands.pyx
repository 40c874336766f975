"""What the call path does with operands: recognising them, scalars as arrays, shapes, and the checks before a write."""
cimport numpy as cnp
from libc.string cimport memcmp, memcpy
from operator import index

import numpy as np

from . cimport tensor as T
from .device cimport Device
from .dtype cimport BOOL, COMPLEX, FLOATING, INTEGRAL, DType
from .geometry cimport MAX_DIMS, wrap_dim
from .mode cimport INFERENCE, NO_GRAD, get_mode
from .history cimport check_writable
from .ndarray cimport is_dense
from .tensor cimport TensorBase
from .dtype import result_dtype
from .record import namespace, type_name

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


cdef bint is_plain(object x) noexcept:
    """The fast test: exactly a Tensor or a Parameter."""
    return type(x) is T.tensor_class or type(x) is T.parameter_class


cdef inline bint is_python_number(object x):
    """Looking for an attribute that isn't there is slow: these have none that matters."""
    return type(x) is int or type(x) is float or type(x) is bool or x is None or type(x) is str


cdef inline bint has_handler(object x):
    return isinstance(x, TensorBase) or hasattr(type(x), "__torch_function__")


cdef bint may_ask(object x):
    """An operand of a subclass, or a list with one, that might want to take over."""
    if is_python_number(x) or is_plain(x):
        return False
    if not isinstance(x, (list, tuple)):
        return has_handler(x)
    for inner in x:
        if not (is_python_number(inner) or is_plain(inner)) and has_handler(inner):
            return True
    return False


cdef bint all_plain(list args):
    """No operand might want to take over."""
    for x in args:
        if may_ask(x):
            return False
    return True


# --- scalars and shapes --------------------------------------------------------------------------------------------
cdef bint is_scalar(object x):
    return isinstance(x, (int, float, complex, np.generic))


cdef object ONE = 1      # a Python int: 64 bits don't fit a C one


cdef object wrapped_scalar(object value, DType dtype):
    """A Python scalar as PyTorch stores it in a tensor of `dtype`: integers wrap, floats lose their fraction."""
    cdef object modulus
    if dtype.category == INTEGRAL:
        if type(value) is not int and not isinstance(value, complex):
            value = int(value)           # NumPy's integers have 64 bits, too few for what follows
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


cdef dict _largest = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38, "complex64": 3.4028234663852886e38}


def integer_range(DType dtype not None):
    """The numbers that an integer tensor takes: unsigned ones take negative numbers too, which wrap."""
    bits = 8 * dtype.itemsize - dtype.is_signed
    high = (ONE << bits) - 1
    return (-high - 1 if dtype.is_signed else -high), high


cdef bint _overflows(object value, DType dtype):
    if isinstance(value, (complex, np.complexfloating)):
        if dtype.category <= FLOATING:
            return value.imag != 0 or _overflows(value.real, dtype)
        return _overflows(value.real, dtype) or _overflows(value.imag, dtype)
    if dtype.category == INTEGRAL:
        if value != value or value in (float("inf"), float("-inf")):
            return True
        low, high = integer_range(dtype)
        return not low <= int(value) <= high
    return dtype.name in _largest and value == value and _largest[dtype.name] < abs(value) != float("inf")


def check_scalar(str name, str argument, value, DType dtype not None):
    """RuntimeError where a number doesn't fit a dtype, as where it is written to every element; TypeError for what isn't a number."""
    if not is_scalar(value) or isinstance(value, np.generic) and value.dtype.kind not in "biufcV":
        raise TypeError(f"{name}(): argument '{argument}' must be Number, not {type(value).__name__}")
    if _overflows(value, dtype):
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow: {argument}={value!r} of {name}()")


cdef bint fits_surely(object value, DType dtype):
    """A Python number that any dtype of the tensor's category holds, so that nothing needs to be checked."""
    if type(value) is float:
        return (dtype.category == FLOATING and dtype.itemsize == 8) or (dtype.category >= FLOATING and dtype.itemsize >= 4 and -1e38 <= value <= 1e38)
    if type(value) is bool:
        return True
    return type(value) is int and (0 <= value <= 127 if dtype.category <= INTEGRAL and not dtype.is_signed else -128 <= value <= 127)


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


# The 0-dim arrays of the floats last used as operands, read-only since all of their readers share them.
cdef enum:
    NUMBERS = 64
cdef list numbers = [None] * NUMBERS
cdef double[NUMBERS] number_values


cdef object number_operand(object value, TensorBase t):
    """`as_array` of t's dtype and device, for an operand that its operation only reads."""
    cdef double number
    cdef unsigned long long bits
    cdef int at, type_num = (<cnp.dtype>t.dtype.numpy).type_num
    if type(t.array) is not cnp.ndarray:
        backend = t.device._backend
        return backend.number(wrapped_scalar(value, t.dtype), backend.dtypes[t.dtype.name], *(() if t.device.index is None else (t.device.ordinal,)))
    if type(value) is int and t.dtype.category >= FLOATING and -0x20000000000000 <= value <= 0x20000000000000:
        value = float(value)                # exactly
    if type(value) is not float or type_num >= 64:
        return as_array(value, t.dtype, t.device)
    number = value
    memcpy(&bits, &number, sizeof(double))
    at = (bits * <unsigned long long>0x9E3779B97F4A7C15ULL + <unsigned long long>type_num * 0x85EBCA77ULL) >> 58       # Fibonacci hashing
    found = numbers[at]
    if found is None or cnp.PyArray_TYPE(<cnp.ndarray>found) != type_num or memcmp(&number_values[at], &number, sizeof(double)):
        found = as_array(value, t.dtype, t.device)
        cnp.PyArray_CLEARFLAGS(<cnp.ndarray>found, cnp.NPY_ARRAY_WRITEABLE)
        numbers[at] = found
        number_values[at] = number
    return found


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


cdef bint alike_and_apart(object a, object b) noexcept:
    """Two row-major ndarrays of one shape, the first writable, that are the same memory or share none."""
    cdef cnp.ndarray x, y
    cdef char* left
    cdef char* right
    cdef int i
    if type(a) is not cnp.ndarray or type(b) is not cnp.ndarray:
        return False
    x, y = <cnp.ndarray>a, <cnp.ndarray>b
    if (cnp.PyArray_NDIM(x) != cnp.PyArray_NDIM(y) or not cnp.PyArray_ISWRITEABLE(x) or not cnp.PyArray_IS_C_CONTIGUOUS(x)
            or not cnp.PyArray_IS_C_CONTIGUOUS(y)):
        return False
    for i in range(cnp.PyArray_NDIM(x)):
        if cnp.PyArray_DIM(x, i) != cnp.PyArray_DIM(y, i):
            return False
    left, right = <char*>cnp.PyArray_DATA(x), <char*>cnp.PyArray_DATA(y)
    return left == right or left + cnp.PyArray_NBYTES(x) <= right or right + cnp.PyArray_NBYTES(y) <= left


cdef void extent(cnp.ndarray a, char** low, char** high) noexcept:
    """The first byte of an array with elements, and the first one behind it."""
    cdef Py_ssize_t span
    cdef int d
    low[0] = high[0] = <char*>cnp.PyArray_DATA(a)
    for d in range(cnp.PyArray_NDIM(a)):
        span = (cnp.PyArray_DIM(a, d) - 1) * cnp.PyArray_STRIDE(a, d)
        if span < 0:
            low[0] += span
        else:
            high[0] += span
    high[0] += cnp.PyArray_ITEMSIZE(a)


cdef bint may_overlap(TensorBase a, TensorBase b):
    """Could a write to a change b? (By the extents of their memory; True when in doubt.)"""
    cdef char* a_low
    cdef char* a_high
    cdef char* b_low
    cdef char* b_high
    if type(a.array) is cnp.ndarray and type(b.array) is cnp.ndarray:
        if not cnp.PyArray_SIZE(<cnp.ndarray>a.array) or not cnp.PyArray_SIZE(<cnp.ndarray>b.array):
            return False
        extent(a.array, &a_low, &a_high)
        extent(b.array, &b_low, &b_high)
        return a_low < b_high and b_low < a_high
    return a.array is b.array or (a.storage is not None and a.storage is b.storage)


cdef bint lies_across(TensorBase a, TensorBase b) except -1:
    """Two dense ndarrays share some of their memory, but aren't the same elements in the same order."""
    cdef cnp.ndarray x, y
    if type(a.array) is not cnp.ndarray or type(b.array) is not cnp.ndarray:
        return False
    x, y = a.array, b.array
    if not cnp.PyArray_SIZE(x) or not cnp.PyArray_SIZE(y) or not is_dense(x) or not is_dense(y):
        return False
    if (<char*>cnp.PyArray_DATA(x) + cnp.PyArray_NBYTES(x) <= <char*>cnp.PyArray_DATA(y)
            or <char*>cnp.PyArray_DATA(y) + cnp.PyArray_NBYTES(y) <= <char*>cnp.PyArray_DATA(x)):
        return False
    return not same_memory(a, b)


cdef str dtype_title(DType dtype):
    """'Float' for float32, as messages name it."""
    return type_name(dtype)[6:-6]


cdef int first_ndim(list args) except -1:
    for item in args:
        if isinstance(item, TensorBase):
            return (<TensorBase>item).ndim_()
        if type(item) in (list, tuple) and item and isinstance(item[0], TensorBase):
            return (<TensorBase>item[0]).ndim_()
    return 0


cdef list _every_dim = [tuple(range(n)) for n in range(MAX_DIMS + 1)]


cdef tuple all_dims(object dims, int ndim):
    """None, an int or a sequence of ints as sorted, non-negative, unique dims."""
    cdef list wrapped
    if dims is None:
        return <tuple>_every_dim[ndim]
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


cpdef object one_int(str name, str argument, object value):
    """An int, also of what can be an index (a tensor of one integer, NumPy's integers); TypeError for anything else."""
    if type(value) is int:
        return value
    if not isinstance(value, bool):
        try:
            return value if isinstance(value, int) else index(value)
        except TypeError:
            pass
    raise TypeError(f"{name}(): argument '{argument}' must be int, not {type(value).__name__}")


cdef object one_bool(str name, str argument, object value):
    """True or False, also NumPy's; TypeError for anything else."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise TypeError(f"{name}(): argument '{argument}' must be bool, not {type(value).__name__}")


cdef object ints(str name, str argument, object value):
    """An int, or a tuple of ints; what `one_int` takes counts as an int."""
    if isinstance(value, (np.ndarray, TensorBase)):
        value = value.tolist()
    if isinstance(value, (tuple, list)):
        return tuple([one_int(name, argument, item) for item in value])
    return one_int(name, argument, value)


cpdef object one_number(str name, str argument, object value):
    """A number, also of a 0-dim tensor; TypeError for anything else."""
    if is_scalar(value):
        return value
    if isinstance(value, TensorBase) and (<TensorBase>value).ndim_() == 0 and not (<TensorBase>value).needs_grad():
        return value.item()
    raise TypeError(f"{name}(): argument '{argument}' must be Number, not {type(value).__name__}")


cdef int category(object operand) except -1:
    if isinstance(operand, TensorBase):
        return (<TensorBase>operand).dtype.category
    if isinstance(operand, (bool, np.bool_)):
        return BOOL
    if isinstance(operand, (complex, np.complexfloating)):
        return COMPLEX
    return FLOATING if isinstance(operand, (float, np.floating)) else INTEGRAL


cdef object scaled(str name, object input, object other, object alpha):
    """alpha * other in the dtype of the sum, refused where alpha would widen its category."""
    cdef int highest, own
    cdef DType dtype
    if type(alpha) is int and alpha == 1:
        return other
    alpha = one_number(name, "alpha", alpha)
    own, highest = category(alpha), max(category(input), category(other))
    if own == COMPLEX and highest < COMPLEX:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    if own == FLOATING and highest < FLOATING:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if own == BOOL and highest > BOOL:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    dtype = result_dtype(input, other)
    if dtype.category == BOOL:
        return other if alpha else B.zeros_like(other) if isinstance(other, TensorBase) else False
    if dtype.category == INTEGRAL and not fits_surely(alpha, dtype):
        check_scalar(name, "alpha", alpha, dtype)
    if not isinstance(other, TensorBase):
        return other * alpha
    return B.mul(other if (<TensorBase>other).dtype is dtype else other.to(dtype), alpha)


# --- before and at a write ----------------------------------------------------------------------------------------
cdef int write_array(TensorBase target, TensorBase result) except -1:
    """Values of result into the memory of target, which has its shape."""
    backend = target.device._backend
    if type(target.array) is cnp.ndarray and not cnp.PyArray_ISWRITEABLE(<cnp.ndarray>target.array):
        raise RuntimeError(f"{target.dtype} tensor of shape {list(target.shape_())} stands on read-only memory and can't be written in place")
    if backend.mutable:
        backend.copy_(target.array, result.array)
        return 0
    if target.is_view or (target.storage is not None and len(target.storage.tensors) > 1):
        raise RuntimeError(f"backend {target.device.type!r} can't write in place to a tensor that shares its memory with others")
    target.point_at(result.array if result.dtype is target.dtype else cast_array(result, target.dtype), None)
    return 0


cdef int check_no_overlap(TensorBase t) except -1:
    if type(t.array) is cnp.ndarray and not is_dense(t.array) and t._overlaps_itself():
        raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                           "Please clone() the tensor before performing the operation.")
    return 0


cdef int check_no_inference(TensorBase t) except -1:
    """Tensors made in inference mode are written there alone: their writes aren't counted."""
    if t.inference and not get_mode() & INFERENCE:
        raise RuntimeError("Inplace update to inference tensor outside InferenceMode is not allowed.")
    return 0


def prepare_write(TensorBase t not None):
    """The checks before any write to t's memory outside of an operation; then count the write."""
    check_no_inference(t)
    if not get_mode() & (NO_GRAD | INFERENCE):
        check_writable(t, False)
    check_no_overlap(t)
    if type(t.array) is cnp.ndarray and not cnp.PyArray_ISWRITEABLE(<cnp.ndarray>t.array):
        raise RuntimeError(f"{t.dtype} tensor of shape {list(t.shape_())} stands on read-only memory and can't be written in place")
    t._bump_version()


def by_device_and_dtype(tensors not None):
    """Those of the tensors that have a gradient, in one list for each pair of device and dtype."""
    cdef dict lists = {}
    cdef list members = None
    cdef Device device = None
    cdef DType dtype = None
    cdef TensorBase t
    for t in tensors:
        if t.grad is None:
            continue
        if t.dtype is not dtype or t.device is not device:
            device, dtype = t.device, t.dtype
            members = lists.setdefault((device, dtype), [])
        members.append(t)
    return list(lists.values())


def prepare_writes(tensors not None):
    """`prepare_write` for each of a list of tensors."""
    for tensor in tensors:
        prepare_write(tensor)
