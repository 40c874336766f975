"""Element types, and PyTorch's rules for the type of a result (by category and dimension, never by value)."""
cimport cython
import numpy as np
cimport numpy as cnp
from cpython.ref cimport PyObject
from ml_dtypes import bfloat16 as _ml_bfloat16

cnp.import_array()


@cython.binding(False)     # method descriptors check the type of self, bound functions do not
cdef class DType:
    """An element type such as `float32`. One object each: compare with `is` or `==`."""

    def __init__(self, str name, int code, Category category, numpy_dtype):
        self.name = name
        self.code = code
        self.category = category
        self.numpy = np.dtype(numpy_dtype)
        self.itemsize = self.numpy.itemsize
        self.shift = self.itemsize.bit_length() - 1
        self.is_signed = category >= FLOATING or name.startswith("int")

    @property
    def is_floating_point(self):
        return self.category == FLOATING

    @property
    def is_complex(self):
        return self.category == COMPLEX

    def to_complex(self):
        """The complex type whose parts are of this type (float16 and bfloat16 have none: complex64)."""
        if self.category == COMPLEX:
            return self
        if self.category == FLOATING:
            return complex128 if self is float64 else complex64
        raise RuntimeError(f"{self} has no complex counterpart")

    def to_real(self):
        """The type of the real part."""
        if self is complex64:
            return float32
        return float64 if self is complex128 else self

    def __repr__(self):
        return f"torch.{self.name}"

    def __hash__(self):
        return self.code

    def __reduce__(self):
        return _by_name, (self.name,)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


def _by_name(name):
    return by_name[name]


bool_ = DType("bool", 0, BOOL, np.bool_)
uint8 = DType("uint8", 1, INTEGRAL, np.uint8)
int8 = DType("int8", 2, INTEGRAL, np.int8)
int16 = DType("int16", 3, INTEGRAL, np.int16)
int32 = DType("int32", 4, INTEGRAL, np.int32)
int64 = DType("int64", 5, INTEGRAL, np.int64)
uint16 = DType("uint16", 6, INTEGRAL, np.uint16)
uint32 = DType("uint32", 7, INTEGRAL, np.uint32)
uint64 = DType("uint64", 8, INTEGRAL, np.uint64)
float16 = DType("float16", 9, FLOATING, np.float16)
bfloat16 = DType("bfloat16", 10, FLOATING, _ml_bfloat16)
float32 = DType("float32", 11, FLOATING, np.float32)
float64 = DType("float64", 12, FLOATING, np.float64)
complex64 = DType("complex64", 13, COMPLEX, np.complex64)
complex128 = DType("complex128", 14, COMPLEX, np.complex128)

dtypes = (bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64,
          float16, bfloat16, float32, float64, complex64, complex128)
by_name = {d.name: d for d in dtypes}
# PyTorch's second names for the same objects.
aliases = {"half": float16, "float": float32, "double": float64, "short": int16, "int": int32, "long": int64,
           "cfloat": complex64, "cdouble": complex128}

# By NumPy's type number; that of bfloat16 is given at run time.
cdef PyObject* _of_num[64]      # borrowed: `dtypes` keeps them
cdef int _bfloat16_num = bfloat16.numpy.num
cdef dict _of_descr = {}


cdef _fill_numbers():
    cdef int i
    for d in dtypes:
        _of_descr[d.numpy] = d
        if d is not bfloat16:
            _of_num[<int>d.numpy.num] = <PyObject*>d
    # The C types that share a width (long and long long) have two numbers for one element type.
    for code in "bBhHiIlLqQ":
        descr = np.dtype(code)
        _of_num[<int>descr.num] = <PyObject*>by_name[descr.name]


_fill_numbers()


cdef DType from_type_num(int num):
    """The element type with NumPy's type number `num`, or None."""
    if 0 <= num < 64:
        return <DType>_of_num[num] if _of_num[num] != NULL else None
    return bfloat16 if num == _bfloat16_num else None


cdef DType from_numpy_dtype(object descr):
    """The element type of a numpy.dtype; TypeError where PyTorch has none."""
    cdef DType found = from_type_num((<cnp.dtype>descr).type_num) if isinstance(descr, np.dtype) else None
    if found is None:
        raise TypeError(
            f"can't convert np.ndarray of type {descr}. The only supported types are: "
            + ", ".join(d.name for d in dtypes) + ".")
    return found


def of_numpy(descr):
    """The element type of a NumPy dtype, type or name."""
    return from_numpy_dtype(np.dtype(descr))


# --- default type -------------------------------------------------------------------------------------------------
cdef DType _default = float32


cdef DType default_float():
    return _default


cdef DType default_complex():
    return complex128 if _default is float64 else complex64


def get_default_dtype():
    """The floating type that new tensors of Python floats get (float32 until `set_default_dtype`)."""
    return _default


def set_default_dtype(d):
    """Set the floating type of new tensors made from Python floats.

    Raises TypeError where `d` isn't a floating-point dtype.
    """
    global _default
    if not isinstance(d, DType) or (<DType>d).category != FLOATING:
        raise TypeError(f"only floating-point types are supported as the default type, got {d!r}")
    _default = d


# --- promotion ----------------------------------------------------------------------------------------------------
cdef DType _promote_integers(DType a, DType b):
    if (not a.is_signed and a.itemsize > 1) or (not b.is_signed and b.itemsize > 1):
        raise RuntimeError(
            f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote {a} and {b}")
    if a.is_signed == b.is_signed:
        return a if a.itemsize >= b.itemsize else b
    signed, unsigned = (a, b) if a.is_signed else (b, a)
    return signed if (<DType>signed).itemsize > (<DType>unsigned).itemsize else int16


cdef DType _promote(DType a, DType b):
    if a is b:
        return a
    if a.category != b.category:
        high, low = (a, b) if a.category > b.category else (b, a)
        if (<DType>high).category == COMPLEX and low is float64:
            return complex128
        return high
    if a.category == INTEGRAL:
        return _promote_integers(a, b)
    if a.itemsize == b.itemsize:          # float16 with bfloat16: the smallest type that holds both
        return float32
    return a if a.itemsize > b.itemsize else b


cdef DType promote(DType a, DType b):
    return a if a is b else _promote(a, b)


PYTHON_NUMBERS = {bool: bool_, int: int64, float: float64, complex: complex128}


def read_dtype(str function, dtype, str argument="dtype"):
    """A dtype argument: a dtype, None, or a type of Python's numbers, which stands for the widest dtype of its kind."""
    if dtype is None or isinstance(dtype, DType):
        return dtype
    if not isinstance(dtype, type) or dtype not in PYTHON_NUMBERS:
        raise TypeError(f"{function}(): argument '{argument}' must be torch.dtype, not {type(dtype).__name__}")
    return PYTHON_NUMBERS[dtype]


def promote_types(DType type1 not None, DType type2 not None):
    """The smallest type that holds values of both, as PyTorch's table gives it.

    >>> promote_types(by_name["int32"], by_name["float16"])
    torch.float16
    """
    return promote(type1, type2)


def can_cast(DType from_ not None, DType to not None):
    """True where PyTorch allows results of type `from_` to be written to type `to`.

    Refused: complex to real, floating to integral, anything but bool to bool.
    """
    if from_.category == BOOL:
        return True
    return from_.category <= to.category


cdef DType _combine(DType high, DType low):
    """The type of a group of operands of higher priority with one of lower: the lower decides by category alone."""
    if high is None:
        return low
    if low is None or high.category == COMPLEX:
        return high
    if high.category == FLOATING:
        if low.category == COMPLEX:
            return complex128 if high is float64 else complex64
        return high
    if high.category == BOOL or low.category >= FLOATING:
        return promote(high, low)
    return high


cdef class Promotion:
    """Collects operands and gives the type of their result.

    Tensors with dimensions come before 0-dim tensors, these before Python scalars; a later group counts only where
    its category (bool < integral < floating < complex) is higher.
    """

    cdef int add_tensor(self, DType dtype, int ndim) except -1:
        if ndim:
            self.dims = dtype if self.dims is None else promote(self.dims, dtype)
        else:
            self.zero_dims = dtype if self.zero_dims is None else promote(self.zero_dims, dtype)
        return 0

    cdef int add_scalar(self, object value) except -1:
        cdef DType dtype
        if isinstance(value, bool):
            dtype = bool_
        elif isinstance(value, int):
            dtype = int64
        elif isinstance(value, float):
            dtype = _default
        elif isinstance(value, complex):
            dtype = default_complex()
        else:
            dtype = from_numpy_dtype(value.dtype)
        self.scalars = dtype if self.scalars is None else promote(self.scalars, dtype)
        return 0

    cdef DType result(self):
        return _combine(_combine(self.dims, self.zero_dims), self.scalars)


def result_dtype(*operands):
    """The dtype of an operation on tensors and Python numbers."""
    cdef Promotion promotion = Promotion.__new__(Promotion)
    for x in operands:
        if isinstance(getattr(x, "dtype", None), DType):
            promotion.add_tensor(x.dtype, x.ndim)
        else:
            promotion.add_scalar(x)
    return promotion.result()
