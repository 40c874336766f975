from .device cimport Device
from .dtype cimport DType
from .record cimport MAX_PARAMS
from .slot cimport Slot
from .tensor cimport TensorBase

cdef enum Promote:                    # how the tensors' dtypes give the compute dtype
    NONE = 0                          # each tensor keeps its own
    COMMON = 1                        # PyTorch's promotion
    FLOAT = 2                         # the same, integers and bool to the default floating type
    SUM = 3                           # integers and bool to int64
    FLOAT_ONLY = 4                    # integers and bool are refused
    SAME = 5                          # dtypes that differ are refused

cdef enum Numbers:                    # which tensor operands may be Python numbers, as long as one is a tensor
    NO_NUMBER = 0
    AFTER_FIRST = 1
    ANY_NUMBER = 2
    KEPT_NUMBER = 3                   # any, and the body gets it as it is: the dtype it computes in isn't the promoted one

cdef class Parameters(Slot):
    cdef readonly str name
    cdef readonly object signature
    cdef readonly Promote promote
    cdef public object refuse         # function(*args) -> why values are refused that a kernel would take, or None
    cdef public Numbers numbers       # which operands may be Python numbers
    cdef int n_params
    cdef bint has_dims                # there are parameters of the kinds DIM or DIMS
    cdef Py_ssize_t n_positional, required   # parameters by position; those up to the last without a default
    cdef int sizes_at                 # the parameter that takes any number of ints, -1: none
    cdef tuple keywords               # the names of the parameters behind them
    cdef list defaults
    cdef dict where                   # parameter name -> position
    cdef object missing               # stands for 'no default'
    cdef int kinds[MAX_PARAMS]
    cdef int set_parameters(self, object signature, Promote promote) except -1
    cdef list bind(self, tuple args, dict kwargs)
    cdef list with_tensors(self, list args, Device device)
    cdef bint takes_number(self, int i) noexcept
    cdef int check_some_tensor(self, list args) except -1
    cdef Device join(self, Device device, TensorBase t, bint* moved)
    cdef object one_dim(self, object dim, int ndim)
    cdef DType compute_dtype(self, list args)
    cdef DType check_same(self, list args)
    cdef DType adjust(self, DType dtype)
    cdef Device common_device(self, list args)
    cdef int check_values(self, list args) except -1
    cdef int normalise(self, list args) except -1
    cdef bint place_numbers(self, list args, list arrays, TensorBase like) except -1
    cdef bint is_exact(self, int at, object value) noexcept
    cdef object one_value(self, int at, object value)
    cdef list kernel_args(self, list args, DType compute, Device device)
