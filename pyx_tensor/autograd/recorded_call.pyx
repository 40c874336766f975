"""The recorded call of a user's Function: its context, its node, and the call itself.

The context (`ctx`, or `self` of the early instance style) is a plain Python object. The node holds it and is held by the
outputs; the context knows the node by a weak reference only, so that nothing refers to itself.
"""
cimport cython
import warnings
import weakref

from ..core.dtype cimport FLOATING
from ..core.graph cimport Node, new_node, next_sequence, node_type
from ..core.mode cimport ANOMALY, INFERENCE, INTERCEPT, NO_GRAD, TRACK_DERIVED, change_mode, get_mode, set_mode
from ..core.history cimport connect_written
from ..core.record cimport SavedValue, edge_of, mark_derived, save
from ..core.tensor cimport IN_CUSTOM_FUNCTION, MULTI_OUTPUT, TensorBase, Version, has_node
from ..core import overrides
from ..core.record import FREED, call_site, namespace

cdef object B = namespace

@cython.binding(False)
cdef class FunctionCtx:
    """What `forward` leaves for `backward`: saved tensors, marks on the outputs, and any attribute."""
    cdef readonly tuple needs_input_grad          # per argument of forward
    cdef tuple to_save, dirty, non_differentiable
    cdef bint materialize
    cdef object node                              # weak reference
    cdef object __weakref__

    def __cinit__(self):
        self.materialize = True

    def save_for_backward(self, *tensors):
        """Keep tensors for backward, where `saved_tensors` gives them back; inputs and outputs belong here. Call it once."""
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, TensorBase):
                raise TypeError(f"save_for_backward can only save variables, but argument {i} is of type {type(t).__name__}")
        self.to_save = tensors

    def save_for_forward(self, *tensors):
        """Of no effect: PyTorch keeps these for forward-mode derivatives, which aren't available."""

    def mark_dirty(self, *tensors):
        """Say which inputs forward wrote to in place; they must be among its outputs."""
        self.dirty = tensors

    def mark_non_differentiable(self, *tensors):
        """Say which outputs have no gradient."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, bint value):
        """False: backward gets None, not zeros, for outputs that no gradient reached."""
        self.materialize = value

    def mark_shared_storage(self, *pairs):
        """Of PyTorch's early days; views are found without it."""

    @property
    def materialize_grads(self):
        return self.materialize

    @property
    def saved_tensors(self):
        """What `save_for_backward` was given. RuntimeError where it was written to since, or is freed."""
        cdef FunctionNode node = self.node() if self.node is not None else None
        if node is None:
            return self.to_save or ()
        return node.unpack()

    @property
    def saved_variables(self):
        """Early PyTorch's name of `saved_tensors`."""
        return self.saved_tensors


# --- the node -----------------------------------------------------------------------------------------------------
@cython.binding(False)
@cython.trashcan(True)
cdef class FunctionNode(Node):
    """One recorded call of a Function. Attributes it lacks are its context's."""
    cdef readonly FunctionCtx ctx
    cdef object backward                          # function(ctx, *grads)
    cdef tuple positions                          # of the tensors among forward's arguments, one per edge
    cdef Py_ssize_t n_args
    cdef tuple saved                              # SavedValue or None; None once freed
    cdef tuple is_constant                        # per saved value: neither an input nor an output
    cdef tuple like                               # per output: (shape, dtype, device), None for what isn't a tensor
    cdef bint freed

    def __getattr__(self, str name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.ctx, name)

    cdef object release(self):
        self.freed = self.freed or bool(self.saved)
        self.saved = None

    cdef tuple unpack(self):
        if self.freed:
            raise RuntimeError(FREED)
        owner = self if self.stand_in is None else self.stand_in
        return tuple([None if s is None else (<SavedValue>s).unpack(owner) for s in self.saved or ()])

    cdef object apply(self, list grads):
        cdef list given = list(grads)
        cdef Py_ssize_t k
        if not get_mode() & NO_GRAD and not getattr(self.backward, "once_differentiable", False):
            self.refuse_derived()
        given.extend([None] * (self.n_outputs - len(given)))
        if self.ctx.materialize:
            for k in range(self.n_outputs):
                if given[k] is None and self.like[k] is not None:
                    shape, dtype, device = self.like[k]
                    given[k] = B.zeros(shape, dtype=dtype, device=device)
        before = change_mode(INTERCEPT, INTERCEPT if overrides.has_modes() else 0)        # they see the user's derivatives
        try:
            results = self.backward(self.ctx, *given)
        finally:
            change_mode(INTERCEPT, before)
        return self.for_edges(results if isinstance(results, tuple) else tuple(results) if isinstance(results, list) else (results,))

    cdef list for_edges(self, tuple results):
        """The gradients of the arguments that are tensors; errors for what doesn't fit."""
        cdef Py_ssize_t i
        if len(results) > self.n_args and all([r is None for r in results[self.n_args:]]):
            results = results[:self.n_args]
        if len(results) != self.n_args:
            raise RuntimeError(f"function {self.name()} returned an incorrect number of gradients (expected {self.n_args}, got {len(results)})")
        for i in range(self.n_args):
            if results[i] is not None and i not in self.positions:
                raise RuntimeError(f"function {self.name()} returned a gradient different from None at position {i + 1}, but the corresponding "
                                   "forward input was not a Variable")
        return [results[i] for i in self.positions]

    cdef int refuse_derived(self) except -1:
        """With the gradient itself recorded, a value that forward derived from an input without a record of it would count
        as a constant: the second derivative would be silently wrong."""
        for name, value in getattr(self.ctx, "__dict__", {}).items():
            if is_derived(value):
                raise RuntimeError(derived_message(self.name(), f"ctx.{name}"))
        for saved in self.saved or ():
            if saved is not None and (<SavedValue>saved).derived:
                raise RuntimeError(derived_message(self.name(), "a saved tensor that is neither input nor output"))
        return 0


def derived_message(title, what):
    return (f"{title}: {what} was computed in forward from an input that requires grad, and its computation isn't recorded; under "
            "create_graph=True its part of the second derivative would be missing. Save inputs and outputs with ctx.save_for_backward and "
            "compute the rest in backward, return it as an output too, or decorate backward with once_differentiable.")


cdef bint is_derived(object value):
    """A tensor, or a container of tensors, among them one that depends on an input without a record of it."""
    if isinstance(value, TensorBase):
        return (<TensorBase>value).derived
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return False
    return any([isinstance(v, TensorBase) and (<TensorBase>v).derived for v in value])


# --- the call -----------------------------------------------------------------------------------------------------
cdef bint among(object t, tuple tensors):
    if tensors is not None:
        for other in tensors:
            if other is t:
                return True
    return False


cdef FunctionNode open_node(str title, object backward, FunctionCtx ctx, tuple args):
    """A node whose edges lead to the tensors among the arguments, as they are before forward."""
    cdef FunctionNode node = <FunctionNode>new_node(node_type(FunctionNode, title))
    cdef list edges = [], positions = []
    cdef Py_ssize_t i
    for i in range(len(args)):
        if isinstance(args[i], TensorBase):
            positions.append(i)
            edges.append(edge_of(<TensorBase>args[i]) if ctx.needs_input_grad[i] else None)
    node.backward = backward
    node.ctx = ctx
    node.edges = tuple(edges)
    node.positions = tuple(positions)
    node.n_args = len(args)
    if get_mode() & ANOMALY:
        node.trace = call_site()
    return node


def call_function(str title, forward, backward, FunctionCtx ctx not None, tuple args):
    """Run `forward(*args)` unrecorded and make its outputs those of one node."""
    cdef list needs = []
    cdef bint any_needs = False, need
    cdef FunctionNode node = None
    cdef unsigned int before, tracked
    for arg in args:
        need = isinstance(arg, TensorBase) and (<TensorBase>arg).needs_grad()
        any_needs = any_needs or need
        needs.append(need)
    ctx.needs_input_grad = tuple(needs)
    if any_needs and not get_mode() & (NO_GRAD | INFERENCE):
        node = open_node(title, backward, ctx, args)
        tracked = TRACK_DERIVED
    else:
        tracked = get_mode() & TRACK_DERIVED
    before = get_mode() & (NO_GRAD | TRACK_DERIVED)
    set_mode(get_mode() & ~TRACK_DERIVED | NO_GRAD | tracked)
    try:
        raw = forward(*args)
    finally:
        set_mode(get_mode() & ~(NO_GRAD | TRACK_DERIVED) | before)
    outputs = finished(ctx, node, raw if isinstance(raw, tuple) else (raw,), args)
    if node is None:
        ctx.to_save = None
        if tracked:
            mark_derived(outputs, list(args), False)
    return outputs if isinstance(raw, tuple) else outputs[0]


cdef tuple finished(FunctionCtx ctx, FunctionNode node, tuple raw, tuple args):
    """Forward's outputs connected to the node, and what it asked to be saved."""
    cdef list outputs = []
    cdef Py_ssize_t i
    for t in ctx.dirty or ():
        if not among(t, raw):
            raise RuntimeError("Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
                               "modified inplace must all be outputs of the Function.")
    if node is not None:
        node.n_outputs = len(raw)
        node.sequence = next_sequence()
    for i in range(len(raw)):
        outputs.append(one_output(ctx, node, raw[i], i, args, len(raw)) if isinstance(raw[i], TensorBase) else raw[i])
    if node is not None:
        forbid_writes(outputs, ctx.dirty)
        node.like = tuple([((<TensorBase>t).shape_(), (<TensorBase>t).dtype, (<TensorBase>t).device) if isinstance(t, TensorBase) else None
                           for t in outputs])
        save_tensors(ctx, node)
    return tuple(outputs)


cdef object one_output(FunctionCtx ctx, FunctionNode node, TensorBase t, int nr, tuple args, int n_outputs):
    cdef bint is_input = among(t, args), is_dirty = among(t, ctx.dirty)
    cdef Version version
    if is_dirty:
        version = t.version_()
        version.value += 1
        if not is_input:
            warnings.warn("Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, there is no need to pass it to "
                          "mark_dirty().")
    if node is None:
        return B.alias(t) if is_input and not is_dirty else t
    if t.dtype.category < FLOATING or among(t, ctx.non_differentiable):
        if is_input:
            return t._detached() if t.requires else t
        t._leave_graph()
        t.derived = False
        return t
    if is_dirty and is_input:
        connect_dirty(node, t, nr, n_outputs, args)
        return t
    if is_input:
        t = B.alias(t)
    t.derived = False
    t.node = node
    t.nr = nr
    t.requires = True
    return t


cdef int connect_dirty(FunctionNode node, TensorBase t, int nr, int n_outputs, tuple args) except -1:
    """An input that forward wrote to gets the node as its source."""
    if t.requires and not has_node(t):
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    if not t.is_view:
        t.node = node
        t.nr = nr
        t.requires = True
        return 0
    if t.base().needs_grad() and not has_node(t.base()):
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if n_outputs > 1:
        raise RuntimeError("If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more than "
                           "one Tensor. This is not supported by the current autograd engine. You should either make sure the input is not a "
                           "view (using .clone() for example) or make your Function only return one Tensor (potentially splitting it into two "
                           "Functions: one doing the inplace that returns a single Tensor and a second one that does the other operations).")
    if args[node.positions[0]] is not t:
        raise RuntimeError(f"{node.name()}: a view that forward writes to must be the first tensor among its arguments")
    return connect_written(t, node)


cdef int forbid_writes(list outputs, tuple dirty) except -1:
    """Views made in forward can't be written to in place where that would bypass the Function's backward."""
    cdef int differentiable = 0
    for t in outputs:
        differentiable += isinstance(t, TensorBase) and (<TensorBase>t).requires
    for t in outputs:
        if isinstance(t, TensorBase) and (<TensorBase>t).is_view and not among(t, dirty):
            (<TensorBase>t).recorded = (<TensorBase>t).version.value
            (<TensorBase>t).origin = MULTI_OUTPUT if differentiable > 1 else IN_CUSTOM_FUNCTION
    return 0


cdef int save_tensors(FunctionCtx ctx, FunctionNode node) except -1:
    cdef list saved = []
    for t in ctx.to_save or ():
        saved.append(None if t is None else save(<TensorBase>t, (<TensorBase>t).requires and ((<TensorBase>t).node is node or among(t, ctx.dirty))))
    node.saved = tuple(saved)
    ctx.to_save = ctx.dirty = ctx.non_differentiable = None       # outputs kept here would hold what holds them
    ctx.node = weakref.ref(node)
    return 0


# --- gradients that can't be differentiated -----------------------------------------------------------------------
@cython.trashcan(True)
cdef class DelayedError(Node):
    """Stands in the graph where a gradient can't be differentiated; raises when it is run."""
    cdef object message

    def name(self):
        return "Error"

    cdef object apply(self, list grads):
        raise RuntimeError(self.message)


def behind_error(str message, list tensors, list gradients):
    """The gradients, detached, with a node behind them that raises; its edges lead to `tensors`."""
    cdef DelayedError node = DelayedError.__new__(DelayedError)
    cdef TensorBase out
    cdef list result = []
    node.message = message
    node.edges = tuple([edge_of(<TensorBase>t) for t in tensors if (<TensorBase>t).needs_grad()])
    node.n_outputs = max(len(gradients), 1)
    node.sequence = next_sequence()
    for i, grad in enumerate(gradients):
        if isinstance(grad, TensorBase) and (<TensorBase>grad).dtype.category >= FLOATING:
            out = (<TensorBase>grad)._detached()
            out.node = node
            out.nr = i
            out.requires = True
            grad = out
        result.append(grad)
    return result
