from .device cimport Device
from .dtype cimport DType
from .record cimport MAX_PARAMS, Gradient
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

cdef class Op(Slot):
    cdef readonly str name
    cdef readonly str entry_name      # of the backends' methods; None: no backend is asked
    cdef readonly object signature
    cdef readonly object definition   # the function below the decorator; the default, unless `primitive`
    cdef readonly bint primitive
    cdef readonly bint nograd         # says that it has no gradient
    cdef readonly Promote promote
    cdef readonly str result          # 'same' as the compute dtype, or what else the entry gives
    cdef readonly Gradient gradient   # None: composite, or without a gradient
    cdef readonly object returns      # namedtuple class of several outputs, or None
    cdef public object refuse         # function(*args) -> why values are refused that a kernel would take, or None
    cdef readonly object explain      # function(*args) -> PyTorch's message for arguments that an entry refused, or None
    cdef readonly int n_aux
    cdef public Numbers numbers       # which operands may be Python numbers
    cdef public object early          # function(args, kwargs) -> both as today, for calls in early PyTorch's spelling, or None
    cdef public bint exact_out        # `out=` has the result's dtype, no wider one
    cdef public bint over_input       # the result is the input but for some elements: an entry may write these over it
    cdef public object writer         # function(B, *args) that does the in-place form, or None
    cdef readonly bint takes_alpha    # the second operand can be scaled
    cdef int n_params
    cdef bint simple                  # tensors and plain arguments only
    cdef bint writes_same             # the result has the compute dtype
    cdef Py_ssize_t n_positional, required   # parameters by position; those up to the last without a default
    cdef int sizes_at                 # the parameter that takes any number of ints, -1: none
    cdef tuple keywords               # the names of the parameters behind them
    cdef list defaults
    cdef dict where                   # parameter name -> position
    cdef object missing               # stands for 'no default'
    cdef int kinds[MAX_PARAMS]
    cdef list table                   # per backend: entry or None
    cdef list takes_out               # per backend: does the entry take `out`
    cdef int resolve(self, int slot, object backend) except -1
    cdef object entry(self, Device device)
    cdef object guarded(self, object entry, TensorBase t, TensorBase u)
    cdef object recorded(self, TensorBase result, list args)
    cdef object reduce(self, TensorBase t, object dim, object keepdim)
    cdef object operate(self, list args)
    cdef object explained(self, object error, list args)
    cdef object invoke(self, tuple args, dict kwargs)
    cdef list bind(self, tuple args, dict kwargs)
    cdef object run(self, list args)
    cdef object dispatch(self, list args)
    cdef object dispatch_inplace(self, list args, bint operator)
    cdef object dispatch_out(self, list args, object out)
    cdef object run_plain(self, list args)
    cdef list with_tensors(self, list args, Device device)
    cdef object finish_default(self, list args, Device device, bint record)
    cdef object unavailable(self, Device device, list args)
    cdef bint takes_number(self, int i) noexcept
    cdef int check_some_tensor(self, list args) except -1
    cdef Device join(self, Device device, TensorBase t, bint* moved)
    cdef object one_dim(self, object dim, int ndim)
    cdef object run_inplace(self, list args, bint operator)
    cdef object run_out(self, list args, object out)
    cdef object run_default(self, list args)
    cdef object finish(self, object raw, Device device, list args, bint record)
    cdef DType compute_dtype(self, list args)
    cdef DType check_same(self, list args)
    cdef DType adjust(self, DType dtype)
    cdef Device common_device(self, list args)
    cdef int normalise(self, list args) except -1
    cdef bint is_exact(self, int at, object value) noexcept
    cdef object one_value(self, int at, object value)
    cdef list kernel_args(self, list args, DType compute, Device device)

cdef tuple REFUSALS                   # what entries raise for arguments that they can't take
cdef bint lacks_dtype(Op op, object error)
cdef object intercepted(Op op, list args, str form=*, object out=*)
