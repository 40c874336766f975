"""Copies and conversions as users call them: the parsers, and a short way for plain tensors that nobody looks on at."""
cimport numpy as cnp

from .copying cimport can_view, converted, copied, copied_in_order
from .device cimport Device, as_device
from .dtype cimport DType
from .mode cimport AUTOCAST, INTERCEPT, NO_GRAD, PROFILE, get_mode
from .op cimport Op
from .operands cimport is_plain
from .tensor cimport TensorBase
from .viewop cimport ViewOp
from .dtype import read_dtype
from .memory_format import contiguous_format, format_of, preserve_format, strides_in
from .record import namespace

cnp.import_array()

cdef object B = namespace


cdef bint in_order(object x) noexcept:
    """A plain tensor on an ndarray in row-major order, whose calls nobody wants to see."""
    return (is_plain(x) and type((<TensorBase>x).array) is cnp.ndarray and cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>(<TensorBase>x).array)
            and not get_mode() & (INTERCEPT | PROFILE))


cdef bint dims_in_order(object x) noexcept:
    """The same, with or without gaps between the elements: a dense tensor in its order of dims is row-major."""
    cdef cnp.ndarray array
    cdef int d
    if in_order(x):             # whatever the strides of dims of one element are
        return True
    if not is_plain(x) or type((<TensorBase>x).array) is not cnp.ndarray or get_mode() & (INTERCEPT | PROFILE):
        return False
    array = <cnp.ndarray>(<TensorBase>x).array
    for d in range(cnp.PyArray_NDIM(array)):
        if cnp.PyArray_STRIDE(array, d) <= 0 or d and cnp.PyArray_STRIDE(array, d) > cnp.PyArray_STRIDE(array, d - 1):
            return False
    return True


def clone_function(Op op not None):
    def call(input, *, memory_format=preserve_format, out=None):
        cdef unsigned int mode = get_mode()
        cdef TensorBase result = None
        if out is not None:
            return op.run_out([input, memory_format], out)
        if not mode & ~NO_GRAD and is_plain(input):
            if memory_format is contiguous_format or memory_format is preserve_format and in_order(input):
                result = copied(<TensorBase>input)
            elif memory_format is preserve_format:
                result = copied_in_order(<TensorBase>input)
        if result is None:
            return op.run([input, memory_format])
        return op.recorded(result, [input, memory_format]) if not mode & NO_GRAD and (<TensorBase>input).needs_grad() else result
    return call


def contiguous_function(Op op not None):
    def call(input, memory_format=None, *, out=None):
        if out is not None:
            return op.run_out([input, memory_format], out)
        return input if memory_format is None and in_order(input) else op.run([input, memory_format])
    return call


def reshape_function(Op op not None, ViewOp view not None):
    """`reshape(input, sizes)`: at once a view where strides allow that, else of a copy."""
    def call(input, *sizes, **names):
        cdef bint ordered = in_order(input)
        if names or not sizes or not ordered and (not is_plain(input) or get_mode() & ~NO_GRAD):
            return op.invoke((input, *sizes), names)
        first = sizes[0]
        if not isinstance(first, int) and not hasattr(first, "__index__"):
            sizes = first
        if not ordered and not can_view(<TensorBase>input, sizes):
            input = B.clone(input, memory_format=contiguous_format)
        return view.of_sizes(<TensorBase>input, sizes)
    return call


cdef object as_type_and_place(Op conversion, TensorBase t, DType dtype, Device device, bint non_blocking):
    """A plain tensor as another dtype and/or on another device (None: as it is), itself where that changes nothing."""
    cdef unsigned int mode = get_mode()
    if dtype is t.dtype:
        dtype = None
    if device is t.device:
        device = None
    if dtype is None and device is None:
        return t
    if mode & ~NO_GRAD:
        return conversion.run([t, dtype, device, non_blocking])
    result = converted(t, dtype, device, non_blocking)
    return conversion.recorded(result, [t, dtype, device, non_blocking]) if not mode & NO_GRAD and t.needs_grad() else result


cdef object by_place(str name, object given, object named):
    """An argument of `to` that stands by place, where it mustn't stand by name too."""
    if named is not None and named is not False:
        raise TypeError(f"to() got multiple values for argument '{name}'")
    if named is False and not isinstance(given, bool):
        raise TypeError(f"to(): argument '{name}' must be bool, not {type(given).__name__}")
    return given


cdef object in_format(object given, object result, object format):
    """What a conversion of `given` gave, in a memory format."""
    if format is None or format is preserve_format:
        return result
    shape, strides = tuple(result.shape), result.stride()
    fits = format_of(shape, strides) is format if result is given else strides == strides_in(shape, format)
    return result if fits else B.clone(result, memory_format=format)


def to_method(Op conversion not None, general):
    """`Tensor.to`; `general(tensor, dtype, device, copy, non_blocking)` does what the short way can't."""
    def to(self, *args, dtype=None, device=None, non_blocking=False, copy=False, memory_format=None):
        cdef Py_ssize_t n = len(args), read = 1
        if n and (isinstance(args[0], DType) or isinstance(args[0], type)):
            dtype = by_place("dtype", args[0], dtype)
        elif n and isinstance(args[0], TensorBase):
            dtype = by_place("dtype", (<TensorBase>args[0]).dtype, dtype)
            device = by_place("device", (<TensorBase>args[0]).device, device)
        elif n:
            device = by_place("device", args[0], device)
            if n > 1:
                dtype = by_place("dtype", args[1], dtype)
                read = 2
        if n > read:
            non_blocking = by_place("non_blocking", args[read], non_blocking)
        if n > read + 1:
            copy = by_place("copy", args[read + 1], copy)
        if n > read + 2:
            raise TypeError(f"to() takes at most {read + 2} arguments by place after such a first one, got {n}")
        if device is not None:
            device = as_device(device)
        dtype = read_dtype("to", dtype)
        if copy or not is_plain(self) or get_mode() & (INTERCEPT | PROFILE | AUTOCAST):
            result = general(self, dtype, device, copy, bool(non_blocking))
        else:
            result = as_type_and_place(conversion, <TensorBase>self, dtype, device, bool(non_blocking))
        return result if memory_format is None else in_format(self, result, memory_format)
    return to


def type_method(Op conversion not None, DType dtype not None, general):
    """`Tensor.float` and its kin."""
    def convert(self, memory_format=None):
        if not is_plain(self) or get_mode() & (INTERCEPT | PROFILE | AUTOCAST):
            result = general(self, dtype, None, False, False)
        else:
            result = as_type_and_place(conversion, <TensorBase>self, dtype, None, False)
        return result if memory_format is None else in_format(self, result, memory_format)
    return convert
