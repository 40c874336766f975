"""The recorded graph: nodes (functions applied) and edges to what produced their inputs."""
cimport cython
from cpython.object cimport PyObject, PyTypeObject

from .hooks import RemovableHandle

cdef unsigned long long _sequence = 0
cdef tuple NO_ARGUMENTS = ()


cdef unsigned long long next_sequence() noexcept:
    """Numbers nodes as they are made. A node's edges lead to older nodes only, which gives the engine its order."""
    global _sequence
    _sequence += 1
    return _sequence


@cython.freelist(64)
cdef class GradSlot:
    """Where a gradient is kept: shared by a tensor and the node that fills it, so that neither refers to the other."""


@cython.trashcan(True)
@cython.freelist(256)
cdef class Edge:
    """Leads from an input of a node to the node that produced it, with what the gradient must look like there."""


cdef Edge make_edge(Node node, int nr, tuple shape, DType dtype, Device device):
    cdef Edge edge = Edge.__new__(Edge)
    edge.node = node
    edge.nr = nr
    edge.shape = shape
    edge.dtype = dtype
    edge.device = device
    return edge


cdef dict _node_types = {}


cdef type node_type(type base, str name):
    """The subclass of a class of nodes whose nodes have this name."""
    cdef type found = _node_types.get((base, name))
    if found is None:
        found = _node_types[base, name] = type(name, (base,), {"__slots__": (), "__module__": "pyx_tensor.autograd.graph"})
    return found


cdef Node new_node(type kind):
    """`kind()`, without the look-up of a constructor."""
    return <Node>(<PyTypeObject*>kind).tp_new(kind, <PyObject*>NO_ARGUMENTS, NULL)


@cython.trashcan(True)
@cython.binding(False)     # method descriptors check the type of self, bound functions do not
cdef class Node:
    """A recorded function. `grad_fn` of its outputs; subclasses compute the gradients of its inputs."""

    def __cinit__(self):
        self.n_outputs = 1

    cdef object apply(self, list grads):
        """Gradients of the inputs, one per edge, from those of the outputs (None where there is none)."""
        raise NotImplementedError

    cdef object release(self):
        """Forget the saved values; the node can't be run again."""

    def name(self):
        """The node's name in messages, as in PyTorch: 'MulBackward0'. It is that of its class."""
        return type(self).__name__

    cdef str title(self):
        """What the node is the gradient of: 'Mul'."""
        return self.name().partition("Backward")[0]

    @property
    def next_functions(self):
        """(node, output number) for each input."""
        return tuple((edge.node, edge.nr) if edge is not None else (None, 0) for edge in self.edges or ())

    @property
    def metadata(self):
        """A dict for the user's notes."""
        if self._metadata is None:
            self._metadata = {}
        return self._metadata

    def _sequence_nr(self):
        return self.sequence

    def register_hook(self, hook):
        """Call `hook(grad_inputs, grad_outputs)` after each run; it may return new gradients of the inputs."""
        if self.post_hooks is None:
            self.post_hooks = {}
        return RemovableHandle(self.post_hooks, hook)

    def register_prehook(self, hook):
        """Call `hook(grad_outputs)` before each run; it may return new gradients of the outputs."""
        if self.pre_hooks is None:
            self.pre_hooks = {}
        return RemovableHandle(self.pre_hooks, hook)

    def add_tensor_hook(self, int nr, hook):
        """Call `hook(grad)` with the gradient of output `nr` before the node runs."""
        if self.tensor_hooks is None:
            self.tensor_hooks = {}
        return RemovableHandle(self.tensor_hooks.setdefault(nr, {}), hook)

    def retain(self, int nr, GradSlot slot not None):
        """Keep the gradient of output `nr` in `slot`."""
        if self.retained is None:
            self.retained = {}
        self.retained[nr] = slot

    def retains(self, int nr):
        """True where the gradient of output `nr` is kept."""
        return self.retained is not None and nr in self.retained

    def __call__(self, *grads):
        results = self.apply(list(grads))
        return results[0] if len(results) == 1 else tuple(results)

    def __repr__(self):
        return f"<{self.name()} object at {id(self):#x}>"


@cython.binding(False)
cdef class AccumulateGrad(Node):
    """The end of a path: adds what arrives to a leaf's `grad`. The addition is the engine's."""

    @property
    def variable(self):
        """The leaf; a new Tensor on the same memory where the leaf is gone."""
        leaf = self.owner() if self.owner is not None else None
        return leaf if leaf is not None else _reviver(self)


cdef object _reviver = None


def set_reviver(function):
    """Called once by core/record.pyx: function(node) gives a leaf that is gone back as a new Tensor."""
    global _reviver
    _reviver = function
