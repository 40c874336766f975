from .device cimport Device
from .dtype cimport DType
from .geometry cimport Geometry
from .graph cimport GradSlot, Node
from .storage cimport Alias, Storage, add_alias, locate

cdef class Version:
    cdef readonly Py_ssize_t value    # counts the writes to a family of views

cdef enum Origin:                     # how a view came to be, where writing through it is refused
    PLAIN_VIEW = 0
    MULTI_OUTPUT = 1                  # one of several views of one call
    MADE_IN_NO_GRAD = 2
    IN_CUSTOM_FUNCTION = 3            # made, or returned as it came, by the forward of a user's Function

cdef class ViewRecord:
    cdef readonly TensorBase base     # never itself a differentiable view
    cdef readonly ViewRecord parent   # the steps before this one
    cdef readonly object op           # the view operation, replayed as op.replay(tensor, args)
    cdef readonly tuple args

cdef class TensorBase:
    cdef readonly object array        # the backend's array
    cdef readonly DType dtype
    cdef readonly Device device
    cdef Node node                    # what produced it, or its AccumulateGrad
    cdef int nr                       # which output of `node`
    cdef bint requires                # requires_grad as last recorded
    cdef bint inference
    cdef bint derived                 # computed, unrecorded, from a differentiable input of a user's Function
    cdef GradSlot slot                # where `grad` is kept
    cdef Version version
    cdef Storage storage
    cdef bint is_view                 # a differentiable view; the next fields tell of what
    cdef Origin origin
    cdef Py_ssize_t recorded          # version at which the node was valid
    cdef ViewRecord view              # the steps from its base, made when first asked for (`record`) where there is but one:
    cdef TensorBase viewed            # ... then these say the same
    cdef void* view_op
    cdef tuple view_args              # None: a view of the shape that it has
    cdef Alias alias                  # its place in the storage's list
    cdef int ndim_(self) except -1
    cdef tuple shape_(self)
    cdef object number(self)
    cdef object only_element(self)
    cdef Storage storage_(self)
    cdef Version version_(self)
    cdef bint needs_grad(self) except -1
    cdef int set_view(self, TensorBase parent, object op, tuple args, int origin) except -1
    cdef ViewRecord record(self)
    cdef TensorBase base(self)
    cdef int adopt(self, TensorBase other) except -1
    cdef int point_at(self, object array, Storage storage) except -1

cdef type tensor_class
cdef type parameter_class
cdef TensorBase new_tensor(object array, DType dtype, Device device)
cdef TensorBase wrap_array(object array, Device device)
cdef TensorBase detached(TensorBase t)
cdef bint has_node(TensorBase t) except -1

# Shape, strides and offset of a tensor in its storage, in elements.
cdef inline int load_geometry(TensorBase t, Geometry* g) except -1:
    return locate(g, t.array, t.dtype, t.device, t.storage)

# Let a new tensor, whose array is on another's memory, stand on its storage and count its writes with it.
cdef inline int share(TensorBase t, TensorBase other) except -1:
    t.storage = other.storage if other.storage is not None else other.storage_()
    add_alias(t.storage, &t.alias, t)
    t.version = other.version if other.version is not None else other.version_()
    t.inference = other.inference
    return 0
