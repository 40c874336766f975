from .device cimport Device
from .dtype cimport DType

cdef class GradSlot:
    cdef public object grad           # Tensor or None

cdef class Edge:
    cdef readonly Node node
    cdef readonly int nr              # which output of `node`
    cdef readonly tuple shape         # of the tensor the gradient belongs to
    cdef readonly DType dtype
    cdef readonly Device device

cdef class Node:
    cdef object __weakref__
    cdef readonly unsigned long long sequence
    cdef readonly tuple edges         # Edge or None, one per tensor input
    cdef readonly int n_outputs
    cdef public dict tensor_hooks     # output number -> {id: hook on that output's gradient}
    cdef dict retained                # output number -> GradSlot that wants the gradient
    cdef public dict pre_hooks        # {id: hook(grad_outputs)}
    cdef public dict post_hooks       # {id: hook(grad_inputs, grad_outputs)}
    cdef public object trace          # where the operation was called, in anomaly mode
    cdef dict _metadata
    cdef Node stand_in                # whose output this node's output is, while a CopySlices runs it
    cdef str title(self)
    cdef object apply(self, list grads)
    cdef object release(self)

cdef class AccumulateGrad(Node):
    cdef GradSlot slot
    cdef object owner                 # weak reference to the leaf, for hooks
    cdef public object array          # the leaf's array, so that `variable` outlives the leaf
    cdef readonly tuple shape
    cdef readonly DType dtype
    cdef readonly Device device
    cdef public dict accumulate_hooks # {id: hook(leaf)}, run after accumulation

cdef unsigned long long next_sequence() noexcept
cdef type node_type(type base, str name)
cdef Node new_node(type kind)
cdef Edge make_edge(Node node, int nr, tuple shape, DType dtype, Device device)
