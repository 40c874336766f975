"""Recording: what an operation leaves behind so that its gradient can be computed.

`Gradient` is an operation's compiled vjp table, `OpNode` one recorded call, `SavedValue` what such a node keeps of a
tensor (never the tensor itself, so that graphs have no reference cycles).
"""
cimport cython
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM

import threading
import weakref

from .device cimport Device
from .dtype cimport DType, FLOATING
from .graph cimport AccumulateGrad, Edge, GradSlot, Node, make_edge, new_node, next_sequence, node_type
from .mode cimport ANOMALY, SAVED_HOOKS, change_mode, get_mode
from .tensor cimport TensorBase, Version, detached, new_tensor
from .graph import set_reviver

# What a vjp's parameter may name.
cdef enum Source:
    GRAD = 0
    OUTPUT
    PARAM
    SHAPE
    GEOMETRY
    NEEDS
    AUX

FREED = ("Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
         "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
         "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
         "after calling backward.")


cdef extern from *:
    """
    static PyObject* pyx_call_with_list(PyObject* function, PyObject* arguments) {
        return PyObject_Vectorcall(function, ((PyListObject*)arguments)->ob_item, (size_t)PyList_GET_SIZE(arguments), NULL);
    }
    """
    object call_with_list "pyx_call_with_list" (object function, list arguments)      # function(*arguments), without a tuple


class Namespace:
    """`B` in the definitions: every operation of the table by its name. It works on tensors; under an ordinary
    backward pass nothing is recorded, under `create_graph=True` everything is, so one formula serves both."""


namespace = Namespace()
cdef object B = namespace


# --- edges --------------------------------------------------------------------------------------------------------
cdef AccumulateGrad leaf_node(TensorBase t):
    """The end of the path at a leaf (made on first use)."""
    cdef AccumulateGrad node = AccumulateGrad.__new__(AccumulateGrad)
    node.sequence = next_sequence()
    node.edges = ()
    node.slot = t.grad_slot()
    node.owner = weakref.ref(t)
    node.array = t.array
    node.shape = t.shape_()
    node.dtype = t.dtype
    node.device = t.device
    t.node = node
    t.nr = 0
    return node


cdef Edge edge_of(TensorBase t):
    """Where the gradient of t goes; t needs one."""
    if t.node is None:
        leaf_node(t)
    return make_edge(t.node, t.nr, t.shape_(), t.dtype, t.device)


def revive_leaf(AccumulateGrad node not None):
    """A Tensor in the place of a leaf that is gone while the graph still leads to it."""
    cdef TensorBase t = new_tensor(node.array, node.dtype, node.device)
    t.requires = True
    t.node = node
    t.slot = node.slot
    node.owner = weakref.ref(t)
    return t


set_reviver(revive_leaf)


def gradient_edge(TensorBase t not None):
    """The Edge to what produced t; RuntimeError where t needs no gradient."""
    if not t.needs_grad():
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return edge_of(t)


def tensor_node(TensorBase t not None):
    """The node that hooks on t's gradient belong to, and which of its outputs t is."""
    if not t.needs_grad():
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if t.node is None:
        leaf_node(t)
    return t.node, t.nr


cdef bint any_needs_grad(list args) except -1:
    for item in args:
        if isinstance(item, TensorBase):
            if (<TensorBase>item).needs_grad():
                return True
        elif type(item) is list or type(item) is tuple:
            for inner in item:
                if isinstance(inner, TensorBase) and (<TensorBase>inner).needs_grad():
                    return True
    return False


# --- saved values -------------------------------------------------------------------------------------------------
class _SavedHooks(threading.local):
    """The active saved-tensor hooks of a thread as pairs (pack, unpack), the innermost last."""

    def __init__(self):
        self.stack = []
        self.refusal = None      # what to tell those who want to enter hooks where they are disabled


saved_hooks = _SavedHooks()


@cython.freelist(128)
cdef class SavedValue:
    """What a node keeps of a tensor: array, version and place in the graph."""

    cdef TensorBase unpack(self, Node owner):
        """The tensor again; RuntimeError where it was written to since."""
        cdef TensorBase t
        if self.unpack_hook is not None:
            unpacked = self.unpack_hook(self.packed)
            if not isinstance(unpacked, TensorBase):
                raise TypeError("Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                                f"{type(unpacked).__name__}")
            t = detached(unpacked)
        else:
            if self.version.value != self.recorded:
                raise RuntimeError(self.complaint(owner))
            t = new_tensor(self.array, self.dtype, self.device)
            t.version = self.version
        t.requires = self.requires
        if self.requires:
            t.node = owner if self.is_output else self.node
            t.nr = self.nr
        t.derived = self.derived
        return t

    cdef str complaint(self, Node owner):
        node = owner if self.is_output else self.node
        source = "" if node is None or isinstance(node, AccumulateGrad) else f", which is output {self.nr} of {node.title()},"
        return ("one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"[{type_name(self.dtype)} {list(self.array.shape)}]{source} is at version {self.version.value}; expected version "
                f"{self.recorded} instead. Hint: enable anomaly detection to find the operation that failed to compute its "
                "gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).")


def type_name(DType dtype):
    """'torch.FloatTensor' for float32, and so on."""
    names = {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long", "int32": "Int",
             "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool", "complex64": "ComplexFloat",
             "complex128": "ComplexDouble", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64"}
    return f"torch.{names[dtype.name]}Tensor"


cdef SavedValue save(TensorBase t, bint is_output):
    cdef SavedValue saved = SavedValue.__new__(SavedValue)
    if t.inference:
        raise RuntimeError("Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal tensor and "
                           "use it in autograd.")
    saved.requires = t.requires
    saved.is_output = is_output
    saved.nr = t.nr
    saved.derived = t.derived
    if not is_output:
        if t.requires and t.node is None:
            leaf_node(t)
        saved.node = t.node
    if get_mode() & SAVED_HOOKS:
        pack, saved.unpack_hook = saved_hooks.stack[-1]
        before = change_mode(SAVED_HOOKS, 0)
        try:
            saved.packed = pack(detached(t))
        finally:
            change_mode(SAVED_HOOKS, before)
        return saved
    saved.array = t.array
    saved.dtype = t.dtype
    saved.device = t.device
    saved.version = t.version_()
    saved.recorded = saved.version.value
    return saved


def save_tensor(TensorBase t not None, bint is_output):
    """A SavedValue, for nodes made outside of this module."""
    return save(t, is_output)


def unpack_saved(SavedValue saved not None, Node owner):
    return saved.unpack(owner)


cdef Edge edge_for(OpNode node, object item, int i):
    """The edge to an argument of parameter i, None for one without a gradient."""
    if not isinstance(item, TensorBase) or not (<TensorBase>item).needs_grad():
        return None
    node.needs |= 1u << i
    return edge_of(<TensorBase>item)


cdef bint same_array(object hidden, object result):
    """Is a hidden output the result itself? Then it is kept as the result, so that a write to that shows."""
    return isinstance(hidden, TensorBase) and isinstance(result, TensorBase) and (<TensorBase>hidden).array is (<TensorBase>result).array


# --- the vjp table of an operation --------------------------------------------------------------------------------
cdef class Rule:
    """One vjp: which inputs it is for, and what its parameters name."""

    def __init__(self, Gradient gradient, tuple names, targets, function, tuple aux):
        cdef int i
        self.function = function
        self.single = isinstance(targets, str)
        self.targets = tuple([names.index(t) for t in ((targets,) if self.single else targets)])
        self.mask = 0
        for i in self.targets:
            self.mask |= 1u << i
        code = function.__code__
        sources = code.co_varnames[1:code.co_argcount]
        self.n_sources = len(sources)
        for i, source in enumerate(sources):
            self.source[i], self.index[i] = self.meaning(source, names, aux)
            if self.source[i] == OUTPUT:
                gradient.saves_output = True
            elif self.source[i] == SHAPE or self.source[i] == GEOMETRY:
                gradient.needs_shapes = True

    @staticmethod
    def meaning(str source, tuple names, tuple aux):
        if source in names:
            return PARAM, names.index(source)
        if source in aux:
            return AUX, aux.index(source)
        if source.endswith("_shape") and source[:-6] in names:
            return SHAPE, names.index(source[:-6])
        if source.endswith("_geometry") and source[:-9] in names:
            return GEOMETRY, names.index(source[:-9])
        fixed = {"g": GRAD, "y": OUTPUT, "needs": NEEDS}
        if source not in fixed:
            raise TypeError(f"a vjp's parameter names g, y, needs, an argument, ARGUMENT_shape, ARGUMENT_geometry or a hidden output, not {source!r}")
        return fixed[source], 0


cdef class Gradient:
    """The compiled vjps of an operation."""

    def __init__(self, naming, signature, dict vjp, tuple aux, tuple differentiable):
        """For `naming` see `grad_name` in core/definitions.py."""
        cdef int i, at = 0
        self.naming = naming
        self.n_params = len(signature.params)
        for i in range(self.n_params):
            self.kinds[i] = signature.kinds[i]
            self.position[i] = at
            if TENSOR <= self.kinds[i] <= RAWS:
                at += 1
                self.has_lists = self.has_lists or self.kinds[i] >= TENSORS
        self.n_edges = at
        self.differentiable = differentiable
        self.n_outputs = len(differentiable)
        names = tuple([a.partition("@")[0] for a in aux])
        self.stand_ins = tuple([signature.params.index(a.partition("@")[2]) if "@" in a else -1 for a in aux])
        self.rules = tuple([Rule(self, signature.params, targets, function, names) for targets, function in vjp.items()])

    cdef type type_for(self, list args):
        """The class of a call's node."""
        cdef tuple names
        if isinstance(self.naming, tuple):
            names = self.naming
            if len(names) == 2:
                return node_type(OpNode, names[1 if args[1] and len(args[1]) < (<TensorBase>args[0]).ndim_() else 0])
            return node_type(OpNode, names[2 if not isinstance(args[0], TensorBase) else not isinstance(args[1], TensorBase)])
        if not isinstance(self.naming, str):
            return node_type(OpNode, self.naming(*args))
        self.node_type = node_type(OpNode, self.naming + "Backward0")
        return self.node_type

    cdef OpNode prepare(self, list args, TensorBase overwritten):
        """A node with edges and saved inputs. An input in the memory about to be `overwritten` is saved as a copy."""
        cdef OpNode node = <OpNode>new_node(self.node_type if self.node_type is not None else self.type_for(args))
        cdef Rule rule
        cdef int i, k
        node.gradient = self
        node.n_outputs = self.n_outputs
        node.edges = self.edges_of_lists(node, args) if self.has_lists else self.edges(node, args)
        node.saved = [None] * self.n_params
        if self.needs_shapes:
            node.shapes = [None] * self.n_params
        for rule in self.rules:
            if rule.mask & node.needs:
                for k in range(rule.n_sources):
                    i = rule.index[k]
                    if rule.source[k] == PARAM and node.saved[i] is None:
                        node.saved[i] = save_argument(args[i], overwritten)
                    elif rule.source[k] == SHAPE:
                        node.shapes[i] = shape_of(args[i])
                    elif rule.source[k] == GEOMETRY:
                        node.shapes[i] = (shape_of(args[i]), args[i].stride(), args[i].storage_offset())
        node.sequence = next_sequence()
        if get_mode() & ANOMALY:
            node.trace = call_site()
        return node

    cdef tuple edges(self, OpNode node, list args):
        """An edge or None for each tensor parameter."""
        cdef tuple edges = PyTuple_New(self.n_edges)
        cdef int i
        for i in range(self.n_params):
            if self.kinds[i] == TENSOR or self.kinds[i] == RAW:
                edge = edge_for(node, args[i], i)
                Py_INCREF(edge)
                PyTuple_SET_ITEM(edges, self.position[i], edge)
        return edges

    cdef tuple edges_of_lists(self, OpNode node, list args):
        """The same where parameters are lists; node.starts gets the place of each parameter's first edge."""
        cdef list edges = []
        cdef int i
        node.starts = []
        for i in range(self.n_params):
            node.starts.append(len(edges))
            if self.kinds[i] == TENSOR or self.kinds[i] == RAW:
                edges.append(edge_for(node, args[i], i))
            elif self.kinds[i] == TENSORS or self.kinds[i] == RAWS:
                edges.extend([edge_for(node, item, i) for item in args[i]])
        return tuple(edges)

    cdef int connect(self, OpNode node, object results, tuple aux) except -1:
        """Make the node the source of the results, and save those that a vjp names."""
        cdef TensorBase t
        cdef int k = 0
        if self.n_outputs == 1 and not isinstance(results, (tuple, list)):
            t = <TensorBase>results
            if t.dtype.category < FLOATING:
                return 0
            t.node = node
            t.nr = 0
            t.requires = True
            if self.saves_output:
                node.output = save(t, True)
        else:
            node.n_outputs = len(results)
            node.out_like = tuple([(<TensorBase>r).shape_() for r in results])
            for result in results:
                t = <TensorBase>result
                if (k >= len(self.differentiable) or self.differentiable[k]) and t.dtype.category >= FLOATING:
                    t.node = node
                    t.nr = k
                    t.requires = True
                k += 1
            if self.saves_output:
                node.output = tuple([save(<TensorBase>r, True) for r in results])
        if aux is not None:
            node.aux = tuple([save(<TensorBase>results, True) if same_array(a, results) else self.save_hidden(node, a, k) for k, a in enumerate(aux)])
        return 0

    cdef object save_hidden(self, OpNode node, object hidden, int k):
        """A hidden output as it is kept; one that stands in for an input has that input's place in the graph."""
        cdef SavedValue saved
        cdef Edge edge
        if not isinstance(hidden, TensorBase):
            return hidden
        saved = save(<TensorBase>hidden, False)
        if <int>self.stand_ins[k] >= 0:
            edge = node.edges[self.position[<int>self.stand_ins[k]]]
            if edge is not None:
                saved.requires = True
                saved.node, saved.nr = edge.node, edge.nr
        return saved


def call_site():
    """The stack of the user's call, for anomaly mode."""
    import traceback
    return traceback.format_stack()


cdef int mark_derived(object results, list args, bint recorded) except -1:
    """In the forward of a user's Function: mark what depends on a differentiable input in a way that no node records."""
    cdef bint derived = False
    for item in args:
        for t in (item if type(item) is list or type(item) is tuple else (item,)):
            if isinstance(t, TensorBase) and ((<TensorBase>t).derived or (not recorded and (<TensorBase>t).requires)):
                derived = True
    if derived:
        for t in (results if isinstance(results, (tuple, list)) else (results,)):
            if isinstance(t, TensorBase) and (<TensorBase>t).dtype.category >= FLOATING:
                (<TensorBase>t).derived = True
    return 0


cdef object shape_of(object arg):
    if isinstance(arg, TensorBase):
        return (<TensorBase>arg).shape_()
    if isinstance(arg, (list, tuple)):
        return [shape_of(a) for a in arg]
    return ()


cdef object save_argument(object arg, TensorBase overwritten):
    if isinstance(arg, TensorBase):
        if overwritten is not None and (arg is overwritten or shares_storage(<TensorBase>arg, overwritten)):
            return save_copy(<TensorBase>arg)
        return save(<TensorBase>arg, False)
    if type(arg) is list or type(arg) is tuple:
        for item in arg:
            if isinstance(item, TensorBase):
                return [save_argument(item, overwritten) for item in arg]
    return arg


cdef bint shares_storage(TensorBase a, TensorBase b) noexcept:
    return a.storage is not None and a.storage is b.storage


cdef SavedValue save_copy(TensorBase t):
    cdef TensorBase copy = new_tensor(t.device._backend.copy(t.array), t.dtype, t.device)
    if t.requires:
        edge_of(t)
        copy.requires = True
        copy.node = t.node
        copy.nr = t.nr
    return save(copy, False)


@cython.final
cdef class SavedOutputs:
    """The outputs of an operation with several, for its vjps: each is looked at, and its version checked, when it is asked for.

    So a write to an output that no vjp needs (batch norm's, by an in-place ReLU) does no harm.
    """
    cdef OpNode node

    @staticmethod
    cdef SavedOutputs of(OpNode node):
        cdef SavedOutputs outputs = SavedOutputs.__new__(SavedOutputs)
        outputs.node = node
        return outputs

    def __len__(self):
        return len(self.node.output)

    def __getitem__(self, i):
        saved = self.node.output[i]
        return tuple([self.node.resolve(s) for s in saved]) if type(saved) is tuple else self.node.resolve(saved)      # a slice, or one


@cython.binding(False)
@cython.trashcan(True)
cdef class OpNode(Node):
    """One recorded call of an operation of the table."""

    cdef object release(self):
        cdef bint kept = self.output is not None or self.aux is not None
        if self.saved is not None:
            for item in self.saved:
                kept = kept or type(item) is SavedValue or type(item) is list
        self.freed = self.freed or kept
        if kept:
            self.saved = None
            self.output = None
            self.aux = None

    cdef object resolve(self, object item):
        if type(item) is SavedValue:
            return (<SavedValue>item).unpack(self if self.stand_in is None else self.stand_in)
        if type(item) is list:
            return [self.resolve(i) for i in item]
        return item

    cdef object materialize(self, list grads):
        """Gradients of several outputs, zeros where nothing arrived."""
        cdef int k
        like = None
        for grad in grads:
            if grad is not None:
                like = grad
        result = []
        for k in range(self.n_outputs):
            grad = grads[k]
            result.append(grad if grad is not None else B.zeros(self.out_like[k], dtype=like.dtype, device=like.device))
        return tuple(result)

    cdef object apply(self, list grads):
        cdef Rule rule
        cdef int k, i
        cdef list out = [None] * len(self.edges), args
        cdef object grad = None
        if self.freed:
            raise RuntimeError(FREED)
        for item in grads:
            if item is not None:
                grad = item
        if grad is None:
            return out
        if self.out_like is not None:
            grad = self.materialize(grads)
        for rule in self.gradient.rules:
            if not rule.mask & self.needs:
                continue
            args = [B]
            for k in range(rule.n_sources):
                i = rule.index[k]
                if rule.source[k] == GRAD:
                    args.append(grad)
                elif rule.source[k] == PARAM:
                    args.append(self.resolve(self.saved[i]))
                elif rule.source[k] == OUTPUT:
                    args.append(SavedOutputs.of(self) if type(self.output) is tuple else self.resolve(self.output))
                elif rule.source[k] == SHAPE or rule.source[k] == GEOMETRY:
                    args.append(self.shapes[i])
                elif rule.source[k] == AUX:
                    args.append(self.resolve(self.aux[i]))
                else:
                    args.append(tuple([bool(self.needs & (1u << t)) for t in rule.targets]))
            result = call_with_list(rule.function, args)
            if rule.single:
                self.deliver(out, rule.targets[0], result)
            else:
                for t, r in zip(rule.targets, result):
                    if self.needs & (1u << <int>t):
                        self.deliver(out, t, r)
        return out

    cdef int deliver(self, list out, int param, object result) except -1:
        cdef int at = self.starts[param] if self.starts is not None else self.gradient.position[param]
        cdef int kind = self.gradient.kinds[param]
        if kind == TENSORS or kind == RAWS:
            for item in result:
                out[at] = item if self.edges[at] is not None else None
                at += 1
        else:
            out[at] = result
        return 0

    @property
    def _saved(self):
        """The saved arguments by parameter position, unpacked (None where nothing was kept)."""
        if self.freed:
            raise RuntimeError(FREED)
        return [self.resolve(item) for item in self.saved]
