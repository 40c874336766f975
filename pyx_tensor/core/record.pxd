from .dtype cimport DType
from .device cimport Device
from .graph cimport Edge, Node
from .tensor cimport TensorBase, Version

cdef enum:
    MAX_PARAMS = 32

cdef enum Kind:                       # as in signature.py
    PLAIN = 0
    TENSOR = 1
    RAW = 2
    TENSORS = 3
    RAWS = 4
    DIM = 5
    DIMS = 6
    TYPE = 7
    SIZES = 8
    INT = 9
    NUMBER = 10
    BOOLEAN = 11
    INTS = 12

cdef Edge edge_of(TensorBase t)

cdef class SavedValue:
    cdef object array
    cdef DType dtype
    cdef Device device
    cdef Version version
    cdef Py_ssize_t recorded          # the version when it was saved
    cdef Node node                    # None for an output of the node that saves it
    cdef int nr
    cdef bint requires, is_output, derived
    cdef object packed, unpack_hook   # set by saved-tensor hooks
    cdef TensorBase unpack(self, Node owner)
    cdef str complaint(self, Node owner)

cdef class Rule:
    cdef object function              # the vjp
    cdef tuple targets                # positions of the parameters whose gradient it gives
    cdef unsigned int mask            # the same as bits
    cdef bint single
    cdef int n_sources
    cdef int source[MAX_PARAMS]       # what each vjp parameter means
    cdef int index[MAX_PARAMS]

cdef class Gradient:
    cdef object naming                # of nodes: a name without its ending, two or three names, or a function
    cdef type node_type               # of all calls, made on the first; None where the arguments decide
    cdef readonly int n_params
    cdef int kinds[MAX_PARAMS]
    cdef int position[MAX_PARAMS]     # of the parameter's edge, where no parameter is a list
    cdef bint has_lists, saves_output, needs_shapes
    cdef tuple rules
    cdef tuple stand_ins              # per hidden output: the parameter whose place in the graph it has, or -1
    cdef tuple differentiable         # per output
    cdef int n_edges                  # tensor parameters, where none is a list
    cdef int n_outputs                # visible ones
    cdef tuple edges(self, OpNode node, list args)
    cdef tuple edges_of_lists(self, OpNode node, list args)
    cdef type type_for(self, list args)
    cdef OpNode prepare(self, list args, TensorBase overwritten)
    cdef int connect(self, OpNode node, object results, tuple aux) except -1
    cdef object save_hidden(self, OpNode node, object hidden, int k)

cdef class OpNode(Node):
    cdef Gradient gradient
    cdef unsigned int needs           # parameters with a gradient, as bits
    cdef list saved                   # SavedValue, list of them, or a plain argument; None where not needed
    cdef list shapes
    cdef list starts                  # first edge of each parameter, for operations that take lists
    cdef object output                # SavedValue or tuple of them
    cdef tuple aux
    cdef tuple out_like               # (shape, dtype, device) of each of several outputs
    cdef bint freed
    cdef object resolve(self, object item)
    cdef object materialize(self, list grads)
    cdef int deliver(self, list out, int param, object result) except -1

cdef SavedValue save(TensorBase t, bint is_output)
cdef bint any_needs_grad(list args) except -1
cdef int mark_derived(object results, list args, bint recorded) except -1
