"""The engine: runs the recorded graph backwards.

A node's edges lead to older nodes only (`Node.sequence`), so a heap ordered by age visits every node after all that feed
it; no pass over the graph is needed first, except where only some inputs are asked for. Everything is iterative: depth
costs no stack.
"""
import os
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdlib cimport free, realloc
from time import sleep

cimport numpy as cnp

from ..core.graph cimport AccumulateGrad, Edge, GradSlot, Node, make_edge
from ..core.mode cimport ANOMALY, INTERCEPT, NO_GRAD, change_mode, get_mode
from ..core.operands cimport as_array
from ..core.record cimport edge_of
from ..core.slot cimport Slot
from ..core.tensor cimport TensorBase, new_tensor
from ..core.record import gradient_edge, namespace

cdef object B = namespace

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject*)      # not `object`: Cython would count its own temporary reference
    unsigned long PyThread_get_thread_ident()

cdef extern from *:
    """
    #if defined(_MSC_VER)
    static __declspec(thread) PyObject* pyx_current_run = NULL;
    #else
    static __thread PyObject* pyx_current_run = NULL;
    #endif
    """
    PyObject* pyx_current_run         # the innermost backward pass of this thread, borrowed


# --- the heap of nodes that are ready -----------------------------------------------------------------------------
cdef class Heap:
    """Nodes by descending sequence number; each is held by a reference."""
    cdef PyObject** items
    cdef Py_ssize_t size, room

    def __dealloc__(self):
        while self.size:
            self.size -= 1
            Py_DECREF(<object>self.items[self.size])
        free(self.items)

    cdef unsigned long long key(self, Py_ssize_t i) noexcept:
        return (<Node>self.items[i]).sequence

    cdef int push(self, Node node) except -1:
        cdef Py_ssize_t i = self.size, up
        cdef PyObject** grown
        if self.size == self.room:
            self.room = 2 * self.room + 32
            grown = <PyObject**>realloc(self.items, self.room * sizeof(void*))
            if grown == NULL:
                raise MemoryError()
            self.items = grown
        Py_INCREF(node)
        self.items[i] = <PyObject*>node
        self.size += 1
        while i > 0:
            up = (i - 1) // 2
            if self.key(up) >= self.key(i):
                break
            self.items[up], self.items[i] = self.items[i], self.items[up]
            i = up
        return 0

    cdef Node pop(self):
        cdef PyObject* top = self.items[0]
        cdef Py_ssize_t i = 0, down
        self.size -= 1
        self.items[0] = self.items[self.size]
        while True:
            down = 2 * i + 1
            if down >= self.size:
                break
            if down + 1 < self.size and self.key(down + 1) > self.key(down):
                down += 1
            if self.key(i) >= self.key(down):
                break
            self.items[i], self.items[down] = self.items[down], self.items[i]
            i = down
        node = <Node>top
        Py_DECREF(node)
        return node


# --- gradients on their way ---------------------------------------------------------------------------------------
cdef object fitted(TensorBase grad, Edge edge, Node source):
    """The gradient in the shape, dtype and device of the tensor it belongs to."""
    cdef tuple shape = grad.shape_()
    if shape != edge.shape:
        if not sums_to(shape, edge.shape):
            raise RuntimeError(f"Function {source.name()} returned an invalid gradient - got {list(shape)} but expected shape "
                               f"compatible with {list(edge.shape)}")
        grad = B.sum_to_size(grad, edge.shape)
    if grad.dtype is not edge.dtype:
        grad = B.real(grad).to(edge.dtype) if grad.dtype.is_complex and not edge.dtype.is_complex else grad.to(edge.dtype)
    if grad.device is not edge.device:
        grad = grad.to(edge.device)
    return grad


cdef bint sums_to(tuple shape, tuple target):
    cdef Py_ssize_t i, lead = len(shape) - len(target)
    if lead < 0:
        return False
    for i in range(len(target)):
        if target[i] != shape[lead + i] and target[i] != 1:
            return False
    return True


cdef bint is_ours(TensorBase grad) except -1:
    """True where nobody else can see this gradient's memory, so that a leaf may keep it as it is."""
    # One reference: the variable of `accumulate` (C calls pass arguments on without a reference of their own).
    return (Py_REFCNT(<PyObject*>grad) == 1 and grad.storage is None and type(grad.array) is cnp.ndarray
            and Py_REFCNT(<PyObject*>grad.array) == 1
            and cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>grad.array) and not grad.requires
            and cnp.PyArray_ISWRITEABLE(<cnp.ndarray>grad.array))


cdef unsigned long accumulating = 0       # the thread that changes a leaf's gradient just now, 0: none


def _forget_other_threads():
    """In a forked child, whose only thread is the one that forked: nobody is left to finish what another thread began."""
    global accumulating
    accumulating = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_other_threads)


cdef int accumulate(AccumulateGrad leaf, list grads, bint create_graph) except -1:
    """Add to a leaf's `grad`, one thread at a time (an operation may let other threads run in between); then the hooks."""
    global accumulating
    cdef unsigned long me = PyThread_get_thread_ident(), before
    cdef TensorBase grad = grads[0]
    grads[0] = None
    if grad is None:
        return 0
    while accumulating != 0 and accumulating != me:
        sleep(0)
    before = accumulating
    accumulating = me
    try:
        add_to_slot(leaf.slot, grad, create_graph)
    finally:
        accumulating = before
    if leaf.accumulate_hooks:
        for hook in list(leaf.accumulate_hooks.values()):
            hook(leaf.variable)
    return 0


cdef int accumulate_in(object t, object grad, bint create_graph) except -1:
    """Add to the `grad` of any tensor, or of the leaf at a place in the graph."""
    cdef Edge edge = edge_to(t)
    if type(edge.node) is AccumulateGrad:
        accumulate(<AccumulateGrad>edge.node, [grad], create_graph)
    elif grad is not None:
        add_to_slot(t.grad_slot(), grad, create_graph)
    return 0


cdef Slot _add = None

cdef Slot add_operation():
    """The table's addition, called without looking up a method."""
    global _add
    if _add is None:
        from ..core.definitions import operations
        _add = operations["add"]
    return _add


cdef bint is_replaced(TensorBase held, TensorBase grad):
    """A sparse gradient to which a dense one comes, and which can't hold their sum."""
    return type(held.array) is not type(grad.array) and hasattr(held.array, "layout")


cdef object total(object held, object grad):
    """The sum of two gradients; the dense one comes first."""
    return B.add(grad, held) if is_replaced(<TensorBase>held, <TensorBase>grad) else B.add(held, grad)


cdef int add_to_slot(GradSlot slot, TensorBase grad, bint create_graph) except -1:
    """In place where no graph is wanted of the gradient."""
    if slot.grad is None:
        if create_graph or is_ours(grad):
            slot.grad = grad if not create_graph else B.clone(grad)
        else:
            slot.grad = B.clone(grad)._detached()
    elif create_graph or slot.grad.requires_grad or is_replaced(slot.grad, grad):
        slot.grad = total(slot.grad, grad)
    else:
        add_operation().call2_(slot.grad, grad)
    return 0


# --- one run ------------------------------------------------------------------------------------------------------
cdef class Run:
    """One backward pass."""
    cdef object __weakref__
    cdef Heap heap
    cdef dict buffers                 # Node -> gradients of its outputs so far
    cdef Node only                    # the one node that is ready, while no other is: along a chain heap and dict stay empty
    cdef list only_buffer
    cdef dict captures                # Node -> {output number: positions in `captured`}
    cdef list captured
    cdef set needed                   # nodes on the way to what is captured; None: all
    cdef list roots                   # edges that the pass started from
    cdef set reachable                # nodes that the roots lead to, once somebody asked
    cdef bint keep, create_graph

    cdef list buffer_of(self, Node node, int nr):
        """The list of what a node has received; a node without one becomes ready."""
        cdef list buffer
        cdef bint waiting
        if node is self.only:
            return self.only_buffer
        waiting = self.heap is not None and self.heap.size
        found = self.buffers.get(node) if waiting else None
        if found is not None:
            return <list>found
        buffer = [None] * max(node.n_outputs, nr + 1)
        if self.only is None and not waiting:
            self.only = node
            self.only_buffer = buffer
            return buffer
        if self.only is not None:
            self.wait(self.only, self.only_buffer)
            self.only = None
            self.only_buffer = None
        self.wait(node, buffer)
        return buffer

    cdef int wait(self, Node node, list buffer) except -1:
        if self.heap is None:
            self.heap = Heap()
            self.buffers = {}
        self.buffers[node] = buffer
        return self.heap.push(node)

    cdef int send(self, Node node, int nr, object grad) except -1:
        """Add a gradient to what a node has received."""
        cdef list buffer
        if self.needed is not None and node not in self.needed:
            return 0
        buffer = self.buffer_of(node, nr)
        if grad is not None:
            if nr >= len(buffer):
                buffer.extend([None] * (nr + 1 - len(buffer)))
            held = buffer[nr]
            buffer[nr] = grad if held is None else total(held, grad)
        return 0

    @property
    def is_partial(self):
        """True where only the gradients of some inputs are asked for."""
        return self.captures is not None

    def visits(self, Node node not None):
        """Is, or was, the node run by this pass?"""
        if self.needed is not None:
            return node in self.needed
        if self.reachable is None:
            self.reachable = all_reachable([(<Edge>edge).node for edge in self.roots])
        return node in self.reachable

    cdef int start(self, list roots, list grads, object targets) except -1:
        """The whole pass; what was captured is added to the gradients of `targets`, if given."""
        cdef PyObject* outer = pyx_current_run
        cdef unsigned int before = change_mode(NO_GRAD | INTERCEPT, 0 if self.create_graph else NO_GRAD)      # modes see no derivatives
        cdef Edge edge
        cdef Py_ssize_t i
        self.roots = roots
        set_current_run(<PyObject*>self)
        try:
            for i in range(len(roots)):
                edge = <Edge>roots[i]
                self.send(edge.node, edge.nr, grads[i])
            self.execute()
            if targets is not None:
                for t, grad in zip(targets, self.captured):
                    accumulate_in(t, grad, self.create_graph)
        finally:
            set_current_run(outer)
            change_mode(NO_GRAD | INTERCEPT, before)
        return 0

    cdef int execute(self) except -1:
        cdef Node node
        cdef list grads
        while self.only is not None or (self.heap is not None and self.heap.size):
            if self.only is not None:
                node, grads = self.only, self.only_buffer
                self.only = None
                self.only_buffer = None
            else:
                node = self.heap.pop()
                grads = <list>self.buffers.pop(node)
            self.visit(node, grads)
        return 0

    cdef bint leads_on(self, Node node) except -1:
        """Does the node lead to anything else that is asked for?"""
        for edge in node.edges:
            if edge is not None and (<Edge>edge).node in self.needed:
                return True
        return False

    cdef int visit(self, Node node, list grads) except -1:
        cdef Edge edge
        cdef list results
        cdef Py_ssize_t i
        if node.tensor_hooks is not None or node.pre_hooks is not None or node.retained is not None:
            run_input_hooks(node, grads)
        if self.captures is not None and node in self.captures:
            for nr, places in self.captures[node].items():
                for i in places:
                    self.captured[i] = grads[nr]
            if not self.leads_on(node):
                return 0
        if type(node) is AccumulateGrad:
            if self.captures is None:
                if node.post_hooks:
                    before = tuple(grads)
                    accumulate(<AccumulateGrad>node, grads, self.create_graph)
                    for hook in list(node.post_hooks.values()):
                        hook((), before)
                else:
                    accumulate(<AccumulateGrad>node, grads, self.create_graph)
            return 0
        try:
            results = <list>node.apply(grads)
        except Exception as error:
            if node.trace is not None:
                explain(node, error)
            raise
        if len(results) != len(node.edges):
            raise RuntimeError(f"function {node.name()} returned an incorrect number of gradients (expected {len(node.edges)}, got "
                               f"{len(results)})")
        if node.post_hooks:
            results = run_output_hooks(node, results, grads)
        if not self.keep:
            node.release()
        if get_mode() & ANOMALY and nan_check:
            check_nan(node, results)
        for i in range(len(results)):
            edge = <Edge>node.edges[i]
            if edge is not None:
                grad = results[i]
                results[i] = None         # so that a leaf can see that it alone holds the gradient
                if grad is not None:
                    if type(grad) is not TensorBase and not isinstance(grad, TensorBase):
                        raise TypeError(f"expected Variable or None (got {type(grad).__name__})")
                    if (<TensorBase>grad).dtype is not edge.dtype or (<TensorBase>grad).device is not edge.device \
                            or (<TensorBase>grad).shape_() != edge.shape:
                        grad = fitted(<TensorBase>grad, edge, node)
                self.send(edge.node, edge.nr, grad)
        return 0


cdef Run new_run(bint keep, bint create_graph):
    cdef Run run = Run.__new__(Run)
    run.keep = keep
    run.create_graph = create_graph
    return run


cdef int run_input_hooks(Node node, list grads) except -1:
    """Hooks on the outputs' tensors, retained gradients, then hooks on the node."""
    if node.tensor_hooks is not None:
        for nr, hooks in node.tensor_hooks.items():
            for hook in list(hooks.values()):
                if nr < len(grads) and grads[nr] is not None:
                    replaced = hook(grads[nr])
                    if replaced is not None:
                        check_hook_result(replaced, grads[nr])
                        grads[nr] = replaced
    if node.retained is not None:
        for nr, slot in node.retained.items():
            if grads[nr] is not None:
                kept = grads[nr] if get_mode() & NO_GRAD == 0 else B.clone(grads[nr])
                (<GradSlot>slot).grad = kept if (<GradSlot>slot).grad is None else B.add((<GradSlot>slot).grad, kept)
    if node.pre_hooks is not None:
        for hook in list(node.pre_hooks.values()):
            replaced = hook(tuple(grads))
            if replaced is not None:
                replaced = replaced if isinstance(replaced, (tuple, list)) else (replaced,)
                check_hook_count(hook, replaced, len(grads))
                grads[:] = replaced
    return 0


cdef int check_hook_result(object replaced, object grad) except -1:
    if not isinstance(replaced, TensorBase):
        raise TypeError(f"hook must return a Tensor or None, not {type(replaced).__name__}")
    if replaced.shape != grad.shape:
        raise RuntimeError(f"hook has changed the size of value: from {list(grad.shape)} to {list(replaced.shape)}")
    if replaced.dtype is not grad.dtype:
        raise RuntimeError(f"hook has changed the type of value: was {grad.dtype}, got {replaced.dtype}")
    return 0


cdef list run_output_hooks(Node node, list results, list grads):
    for hook in list(node.post_hooks.values()):
        replaced = hook(tuple(results), tuple(grads))
        if replaced is not None:
            replaced = list(replaced) if isinstance(replaced, (tuple, list)) else [replaced]
            check_hook_count(hook, replaced, len(results))
            results = replaced
    return results


cdef int check_hook_count(object hook, object replaced, Py_ssize_t expected) except -1:
    if len(replaced) != expected:
        raise RuntimeError(f"hook '{getattr(hook, '__name__', hook)}' has returned an incorrect number of values (got {len(replaced)}, "
                           f"but expected {expected})")
    return 0


nan_check = True       # does anomaly mode look for nan? Set by anomaly_mode.py


def set_nan_check(value):
    global nan_check
    nan_check = bool(value)


cdef int check_nan(Node node, list results) except -1:
    for i, grad in enumerate(results):
        if grad is not None and bool(B.any(B.isnan(grad))):
            error = RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")
            explain(node, error)
            raise error
    return 0


cdef int explain(Node node, object error) except -1:
    """Show where the failing node was made."""
    import warnings
    if node.trace is not None:
        warnings.warn(f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n" + "".join(node.trace))
    return 0


cdef set all_reachable(list roots):
    cdef set found = set(roots)
    cdef list stack = list(found)
    while stack:
        for edge in (<Node>stack.pop()).edges:
            if edge is not None and (<Edge>edge).node not in found:
                found.add((<Edge>edge).node)
                stack.append((<Edge>edge).node)
    return found


def current_run():
    """The innermost backward pass that this thread is in, None outside of any."""
    return <object>pyx_current_run if pyx_current_run != NULL else None


cdef Edge edge_to(object item):
    """The edge to what produced a tensor, or to a place in the graph given as (node, output_nr)."""
    if isinstance(item, TensorBase):
        return gradient_edge(item)
    return make_edge(item.node, item.output_nr, None, None, None)


cdef set reaching(list roots, set targets):
    """The nodes on a path from the roots to the targets."""
    cdef dict state = {}       # node -> True where it reaches a target
    cdef list stack = list(roots)
    cdef Node node
    while stack:
        node = <Node>stack[len(stack) - 1]
        if node in state and state[node] is not None:
            stack.pop()
            continue
        if node not in state:
            state[node] = None
            for edge in node.edges:
                if edge is not None and (<Edge>edge).node not in state:
                    stack.append((<Edge>edge).node)
        else:
            stack.pop()
            found = node in targets
            for edge in node.edges:
                if edge is not None and state.get((<Edge>edge).node):
                    found = True
            state[node] = found
    return {n for n, f in state.items() if f}


def run_backward(list tensors, list grads, bint keep_graph, bint create_graph, inputs=None, bint accumulate_inputs=False):
    """Send `grads` back from `tensors`.

    Without `inputs` all leaves accumulate. With them, their gradients are returned, None for those that nothing reached;
    with `accumulate_inputs` they go to the inputs' `grad` instead.
    """
    cdef Run run = new_run(keep_graph, create_graph)
    cdef Edge edge
    cdef list roots = [edge_to(t) for t in tensors]
    if inputs is not None:
        run.captures = {}
        run.captured = [None] * len(inputs)
        for i, t in enumerate(inputs):
            edge = edge_to(t)
            run.captures.setdefault(edge.node, {}).setdefault(edge.nr, []).append(i)
        run.needed = reaching([(<Edge>e).node for e in roots], set(run.captures))
    run.start(roots, grads, inputs if accumulate_inputs else None)
    return run.captured if not accumulate_inputs else None


cdef void set_current_run(PyObject* run) noexcept:
    global pyx_current_run
    pyx_current_run = run


def backward_from_scalar(TensorBase t not None):
    """`t.backward()` with nothing else said; False where t isn't a single number that needs a gradient."""
    if t.ndim_() or not t.needs_grad():
        return False
    new_run(False, False).start([edge_of(t)], [new_tensor(as_array(1.0, t.dtype, t.device), t.dtype, t.device)], None)
    return True
