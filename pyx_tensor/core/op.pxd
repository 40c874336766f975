from .device cimport Device
from .parameters cimport Parameters
from .record cimport Gradient
from .tensor cimport TensorBase

cdef class Operands:
    cdef TensorBase first
    cdef TensorBase like              # the first of those that promote
    cdef bint mixed                   # their dtypes differ
    cdef bint has_numbers             # there are Python's among them
    cdef bint recorded                # the operation would be, if an operand needs a gradient
    cdef bint needs_grad
    cdef bint take(self, object value, bint promotes) except -1
    cdef list take_all(self, object values, bint promotes)

cdef class Op(Parameters):
    cdef readonly str entry_name      # of the backends' methods; None: no backend is asked
    cdef readonly object definition   # the function below the decorator; the default, unless `primitive`
    cdef readonly bint primitive
    cdef readonly bint nograd         # says that it has no gradient
    cdef readonly str result          # 'same' as the compute dtype, or what else the entry gives
    cdef readonly Gradient gradient   # None: composite, or without a gradient
    cdef readonly object returns      # namedtuple class of several outputs, or None
    cdef readonly object explain      # function(*args) -> PyTorch's message for arguments that an entry refused, or None
    cdef readonly int n_aux
    cdef public object early          # function(args, kwargs) -> both as today, for calls in early PyTorch's spelling, or None
    cdef public bint exact_out        # `out=` has the result's dtype, no wider one
    cdef public bint over_input       # the result is the input but for some elements: an entry may write these over it
    cdef public object writer         # function(B, *args) that does the in-place form, or None
    cdef readonly bint takes_alpha    # the second operand can be scaled
    cdef bint writes_same             # the result has the compute dtype
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
    cdef object run(self, list args)
    cdef object dispatch(self, list args)
    cdef object dispatch_inplace(self, list args, bint operator)
    cdef object dispatch_out(self, list args, object out)
    cdef object run_plain(self, list args)
    cdef object run_seen(self, list args, list arrays, Operands seen)
    cdef object finish_default(self, list args, Device device, bint record)
    cdef object unavailable(self, Device device, list args)
    cdef object run_inplace(self, list args, bint operator)
    cdef object run_out(self, list args, object out)
    cdef object run_default(self, list args)
    cdef object finish(self, object raw, Device device, list args, bint record)

cdef tuple REFUSALS                   # what entries raise for arguments that they can't take
cdef bint lacks_dtype(Op op, object error)
cdef object intercepted(Op op, list args, str form=*, object out=*)
