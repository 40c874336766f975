"""Data on the host that become tensors: numbers of Python, and rows of numbers by a rule."""
cimport numpy as cnp
from libc.string cimport memcpy, memset

from .device cimport Device, as_device
from .dtype cimport FLOATING, DType, bool_, default_float, float32, float64, from_type_num, int64
from .mode cimport INFERENCE, get_mode
from .tensor cimport TensorBase, new_tensor
from .device import make_device
from .protocol import OutOfMemoryError

cnp.import_array()

ctypedef fused real:
    float
    double

ctypedef fused element:
    float
    double
    cnp.int64_t
    cnp.npy_bool

cdef extern from *:
    """
    static int pyx_set_first(PyArrayObject* array, PyObject* value) { return PyArray_SETITEM(array, (char*)PyArray_DATA(array), value); }
    """
    int set_first "pyx_set_first"(cnp.ndarray array, object value) except -1

cdef Device host = make_device("cpu")

cdef enum:
    MAX_DIMS = 64


# --- memory -------------------------------------------------------------------------------------------------------
cpdef object host_array(str name, tuple shape, DType dtype):
    """An uninitialised ndarray; an OutOfMemoryError where memory doesn't suffice names the function `name`."""
    host.resolve()
    try:
        return host._backend.empty(shape, dtype.numpy)
    except (MemoryError, ValueError) as error:
        raise OutOfMemoryError(f"{name}(): {error}") from None


def from_host(cnp.ndarray array not None, DType dtype not None, device=None, bint requires_grad=False, out=None):
    """A tensor on a device (None: the default one) from an ndarray that nobody else holds; in `out` where that is given."""
    cdef Device target = as_device(device)
    cdef object result
    host.resolve()
    if from_type_num(cnp.PyArray_TYPE(array)) is not dtype:
        array = array.astype(dtype.numpy)
    if not cnp.PyArray_IS_C_CONTIGUOUS(array):
        array = array.copy()
    result = new_tensor(array, dtype, host.canonical)
    (<TensorBase>result).inference = get_mode() & INFERENCE != 0
    if target is not host.canonical:
        result = result.to(target)
    if out is not None:
        if out.shape != result.shape:
            out.resize_(tuple(result.shape))
        return out.copy_(result)
    if requires_grad:
        result.requires_grad = True
    return result


# --- by a rule ----------------------------------------------------------------------------------------------------
cdef void space(real* values, Py_ssize_t n, real start, real end) noexcept nogil:
    """As PyTorch: the first half counts from the start, the second from the end, so that both ends are exact."""
    cdef real step = (end - start) / <real>(n - 1) if n > 1 else 0
    cdef Py_ssize_t i
    for i in range(n):
        values[i] = start + step * <real>i if i < n // 2 or n == 1 else end - step * <real>(n - 1 - i)


def fill_linspace(cnp.ndarray out not None, double start, double end):
    """Numbers at equal distances from `start` to `end` into a row of float32 or float64."""
    if cnp.PyArray_TYPE(out) == cnp.NPY_FLOAT32:
        space(<float*>cnp.PyArray_DATA(out), cnp.PyArray_SIZE(out), <float>start, <float>end)
    else:
        space(<double*>cnp.PyArray_DATA(out), cnp.PyArray_SIZE(out), start, end)
    return out


def int_range(Py_ssize_t start, Py_ssize_t end, Py_ssize_t step):
    """The int64 numbers of `range(start, end, step)`, for a positive step."""
    cdef Py_ssize_t i, n = (end - start - 1) // step + 1 if end > start else 0
    cdef cnp.ndarray out = host_array("arange", (n,), int64)
    cdef cnp.int64_t* values = <cnp.int64_t*>cnp.PyArray_DATA(out)
    for i in range(n):
        values[i] = start + i * step
    return out


def float_range(double start, double step, Py_ssize_t count, DType dtype not None):
    """`count` numbers of float32 or float64, `step` apart."""
    cdef cnp.ndarray out = host_array("arange", (count,), dtype)
    cdef Py_ssize_t i
    if dtype is float32:
        for i in range(count):
            (<float*>cnp.PyArray_DATA(out))[i] = <float>(start + <double>i * step)
    else:
        for i in range(count):
            (<double*>cnp.PyArray_DATA(out))[i] = start + <double>i * step
    return out


def diagonal_of_ones(Py_ssize_t rows, Py_ssize_t columns, DType dtype not None):
    """A matrix with ones on its diagonal and zeros elsewhere."""
    cdef cnp.ndarray out = host_array("eye", (rows, columns), dtype)
    cdef size_t step = <size_t>(columns + 1) * dtype.itemsize
    cdef char* data = <char*>cnp.PyArray_DATA(out)
    cdef Py_ssize_t i
    memset(data, 0, cnp.PyArray_NBYTES(out))
    if rows and columns:
        set_first(out, 1)
    for i in range(1, min(rows, columns)):
        memcpy(data + i * step, data, dtype.itemsize)
    return out


# --- Python's numbers ---------------------------------------------------------------------------------------------
def only_python_numbers(data, int depth=0):
    """True for ints, floats and bools, and for lists and tuples of them and of one another, no deeper than a tensor may have dims."""
    if type(data) is not list and type(data) is not tuple:
        return type(data) is float or type(data) is int or type(data) is bool
    if depth == MAX_DIMS:       # it may hold itself
        return False
    for item in data:
        if not (type(item) is float or type(item) is int or type(item) is bool or (type(item) is list or type(item) is tuple) and only_python_numbers(item, depth + 1)):
            return False
    return True


cdef DType number_dtype(object number, DType before):
    """The dtype of Python numbers of which those `before` had that dtype (None: there were none); None for other things."""
    if type(number) is float:
        return default_float()
    if type(number) is int:
        return int64 if before is None or before is bool_ else before
    return None if type(number) is not bool else bool_ if before is None else before


cdef object numbers_dtype(object data, Py_ssize_t* shape, int ndim, int depth, DType found):
    """The dtype of numbers nested `ndim - depth` deep in lists and tuples of the sizes `shape`; None where they aren't so."""
    if depth == ndim:
        return number_dtype(data, found)
    if type(data) is not list and type(data) is not tuple or len(data) != shape[depth]:
        return None
    for item in data:
        found = number_dtype(item, found) if depth + 1 == ndim else numbers_dtype(item, shape, ndim, depth + 1, found)
        if found is None:
            return None
    return found


cdef element* write_numbers(object data, element* values) except NULL:
    """Nested numbers one after another; the place behind the last. OverflowError where an int has more than 64 bits."""
    if type(data) is list or type(data) is tuple:
        for item in data:
            values = write_numbers(item, values)
        return values
    if element is cnp.npy_bool:
        values[0] = data is True
    elif element is cnp.int64_t:
        values[0] = data
    else:
        values[0] = <element><double>data
    return values + 1


def array_of_numbers(data, DType wanted=None):
    """(ndarray, dtype) of nested Python numbers that are bools, ints or floats of common dtypes; None where it takes more thought.

    Args:
        wanted: the dtype where that isn't left to the numbers.
    """
    cdef Py_ssize_t[MAX_DIMS] shape
    cdef int ndim = 0, at
    cdef DType dtype
    cdef object part = data, array
    while type(part) is list or type(part) is tuple:
        if ndim == MAX_DIMS or not len(part):
            return None
        shape[ndim] = len(part)
        ndim += 1
        part = part[0]
    dtype = numbers_dtype(data, shape, ndim, 0, None)
    if dtype is None or wanted is not None and wanted is not dtype and not (wanted.category == FLOATING and dtype is not bool_):
        return None
    dtype = dtype if wanted is None else wanted
    if dtype is not float32 and dtype is not float64 and dtype is not int64 and dtype is not bool_:
        return None
    array = host_array("tensor", tuple([shape[at] for at in range(ndim)]), dtype)
    try:
        write_all(data, array)
    except OverflowError:
        return None
    return array, dtype


cdef int write_all(object data, cnp.ndarray array) except -1:
    cdef void* values = cnp.PyArray_DATA(array)
    cdef int kind = cnp.PyArray_TYPE(array)
    if kind == cnp.NPY_FLOAT32:
        write_numbers(data, <float*>values)
    elif kind == cnp.NPY_FLOAT64:
        write_numbers(data, <double*>values)
    elif kind == cnp.NPY_BOOL:
        write_numbers(data, <cnp.npy_bool*>values)
    else:
        write_numbers(data, <cnp.int64_t*>values)
    return 0
