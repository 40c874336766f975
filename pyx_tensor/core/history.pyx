"""Writes in place and the graph: what is refused, whose history a write becomes part of, and how views follow.

A write through a view goes into the history of its base (`CopySlices`); other views of the base get nodes that follow from
it when they are next asked (`regenerate`), as in PyTorch.
"""
cimport cython

from .graph cimport Node, next_sequence
from .mode cimport INFERENCE, NO_GRAD, change_mode, get_mode
from .record cimport edge_of
from .tensor cimport IN_CUSTOM_FUNCTION, MADE_IN_NO_GRAD, MULTI_OUTPUT, TensorBase, ViewRecord, has_node
from . import tensor as _tensor
from .record import namespace

cdef object B = namespace


cdef dict _why_not = {
    MULTI_OUTPUT: "This view is the output of a function that returns multiple views. Such functions do not allow the output views "
                  "to be modified inplace. You should replace the inplace operation by an out-of-place one.",
    MADE_IN_NO_GRAD: "The view was created in no_grad mode and the write happens with grad mode enabled: it is not clear whether the "
                     "write should be recorded. Move both inside the no_grad block, or both outside.",
    IN_CUSTOM_FUNCTION: "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic "
                        "to handle view+inplace would override the custom backward associated with the custom Function, leading to "
                        "incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."}


cdef object write_refused(TensorBase t, str what):
    """The error for a write to the memory of a view that can't be differentiated through it."""
    name = t.node.title() if t.node is not None else t.record().op.name
    return RuntimeError(f"Output {t.nr} of {name} is a view and {what} modified inplace. {_why_not[t.origin]}")


cdef int check_writable(TensorBase t, bint recorded) except -1:
    """Refuse an in-place operation on t that could not be differentiated; called in grad mode."""
    if t.is_view:
        if t.origin != 0 and (recorded or t.base().needs_grad()):
            raise write_refused(t, "is being")
        if t.base().needs_grad() and not has_node(t.base()):
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if t.needs_grad() and not has_node(t):
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    return 0


cdef int connect_written(TensorBase t, Node node) except -1:
    """Make `node` the source of t, which was written in place; t's base gets the write into its history."""
    cdef CopySlices wrapper
    cdef TensorBase base
    cdef Node before = t.node
    cdef int nr = t.nr
    if not t.is_view:
        t.node = node
        t.nr = 0
        t.requires = True
        return keep_retaining(t, before, nr, t.node)
    base = t.base()
    wrapper = CopySlices.__new__(CopySlices)
    wrapper.inner = node
    wrapper.view = detach_record(t.record())
    wrapper.edges = (edge_of(base) if base.needs_grad() else None, *node.edges[1:])
    wrapper.shape = base.shape_()
    wrapper.strides = base.stride()
    wrapper.sequence = next_sequence()
    keep_retaining(base, base.node, base.nr, wrapper)
    base.node = wrapper
    base.nr = 0
    base.requires = True
    regenerate(t)
    return keep_retaining(t, before, nr, t.node)


cdef int keep_retaining(TensorBase t, Node before, int nr, Node now) except -1:
    """A tensor that keeps its gradient (`retain_grad`) keeps that of its latest value: node `now` takes over from `before`."""
    if before is not None and before.retained is not None and t.slot is not None and before.retained.get(nr) is t.slot:
        del before.retained[nr]
        now.retain(0, t.slot)
    return 0


cdef list detach_record(ViewRecord view):
    """The steps from the base to a view as (op, args) pairs, first step first."""
    cdef list steps = []
    while view is not None:
        steps.append((view.op, view.args))
        view = view.parent
    steps.reverse()
    return steps


def regenerate(TensorBase t not None):
    """Give a view, to whose family something was written, the node that its base's history now implies."""
    cdef TensorBase base = t.base(), fresh = base
    if base.needs_grad() and t.origin:
        raise write_refused(t, "its base or another view of its base has been")
    t.recorded = t.version.value
    if not base.needs_grad():
        return
    before = change_mode(NO_GRAD | INFERENCE, 0)
    try:
        for op, args in detach_record(t.record()):
            fresh = op.replay(fresh, args)
    finally:
        change_mode(NO_GRAD | INFERENCE, before)
    t.node = fresh.node
    t.nr = fresh.nr
    t.requires = True


_tensor.set_view_regenerator(regenerate)


@cython.trashcan(True)
cdef class CopySlices(Node):
    """The history of a base after a write through one of its views: the view's part of the gradient goes through
    the node of the write, the rest to what the base was before."""
    cdef Node inner
    cdef list view
    cdef tuple shape, strides

    def name(self):
        return "CopySlices"

    cdef object release(self):
        self.inner.release()

    cdef Node view_node(self, TensorBase like):
        """A node for the view just after the write: what the written value's own history is, for second derivatives."""
        cdef TensorBase view = B.empty_strided(self.shape, self.strides, dtype=like.dtype, device=like.device)
        view.node = self
        view.nr = 0
        view.requires = True
        for op, args in self.view:
            view = op.replay(view, args)
        return view.node

    cdef object apply(self, list grads):
        cdef list through
        grad = grads[0]
        if grad is None:
            return [None] * len(self.edges)
        result = B.empty_strided(self.shape, self.strides, dtype=grad.dtype, device=grad.device)
        result.copy_(grad)
        part = result
        for op, args in self.view:
            part = op.replay(part, args)
        if not get_mode() & NO_GRAD:
            self.inner.stand_in = self.view_node(result)
        try:
            through = list(self.inner.apply([B.clone(part)]))
        finally:
            self.inner.stand_in = None
        if through[0] is not None:
            part.copy_(through[0])
        else:
            part.zero_()
        through[0] = result
        return through
