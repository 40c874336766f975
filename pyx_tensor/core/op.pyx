"""Operations and their one call path:

parse -> fast test -> device check -> promotion -> the backend's entry -> wrap -> record.

How arguments are read, up to the promotion, stands in parameters.pyx.

An `Op` is a definition (see `definitions.py` for the decorators) with a table of entries, one per backend. What it
calls is the backend's method of its name, or else the definition's body, which is written in terms of other operations.
"""
import warnings

cimport cython
cimport numpy as cnp
from cpython.object cimport PyObject

from .device cimport Device, as_device
from .dtype cimport FLOATING, DType
from .geometry cimport wrap_dim
from .mode cimport AUTOCAST, INFERENCE, INTERCEPT, NO_GRAD, PROFILE, TRACK_DERIVED, change_mode, get_mode
from .operands cimport all_dims, all_plain, dtype_title, is_plain, is_scalar, number_operand, shapes_message
from .parameters cimport FLOAT, NONE, SAME, Parameters, Promote
from .record cimport DIM, DIMS, INT, MAX_PARAMS, RAW, RAWS, TENSOR, TENSORS, TYPE, Gradient, OpNode, any_needs_grad, mark_derived
from .tensor cimport TensorBase, wrap_array
from .protocol import OutOfMemoryError
from .record import namespace

cnp.import_array()

cdef extern from "Python.h":
    object PyObject_Vectorcall(object function, PyObject** args, size_t count, object names)

cdef extern from *:
    """
    /* The items of a tuple as an object of a subclass of tuple that adds no fields. */
    static PyObject* pyx_tuple_as(PyObject* cls, PyObject* items) {
        PyObject *result, *arguments = PyTuple_Pack(1, items);
        if (arguments == NULL) return NULL;
        result = PyTuple_Type.tp_new((PyTypeObject*)cls, arguments, NULL);
        Py_DECREF(arguments);
        return result;
    }
    """
    object pyx_tuple_as(object cls, object items)

cdef object B = namespace
REFUSALS = (ValueError, TypeError, ZeroDivisionError, MemoryError)
cdef object _intercept = None       # function(op, args, form, out) for operands that are neither Tensor nor Parameter


def set_interceptor(function):
    """Called once by core/frontend.py: function(op, args, form, out) -> result or NotImplemented, for subclasses and modes."""
    global _intercept
    _intercept = function


cdef object intercepted(Op op, list args, str form="", object out=None):
    """The result of an operand's class, a mode, autocast or a profiler that takes over, or NotImplemented. `form` is '_' in place; `out` as given."""
    return _intercept(op, args, form, out)


@cython.final
@cython.no_gc
@cython.freelist(8)
cdef class Operands:
    """What the short path learns of a call's tensors, as it goes over the arguments."""

    cdef bint take(self, object value, bint promotes) except -1:
        """Take note of an operand; False unless it is a plain tensor on the device of those before. `promotes`: its dtype counts."""
        cdef TensorBase t
        if not is_plain(value):
            return False
        t = <TensorBase>value
        if self.first is None:
            self.first = t
        elif t.device is not self.first.device:
            return False
        if promotes and self.like is None:
            self.like = t
        elif promotes and t.dtype is not self.like.dtype:
            self.mixed = True
        if self.recorded:                   # else a view that is out of date with its base mustn't be looked into
            self.needs_grad = t.needs_grad() or self.needs_grad
        return True

    cdef list take_all(self, object values, bint promotes):
        """The arrays of a list of operands, of which those that don't promote may be None; None where one of them isn't plain."""
        cdef list arrays = []
        if type(values) is not list and type(values) is not tuple:
            return None
        for value in values:
            if value is not None or promotes:
                if not self.take(value, promotes):
                    return None
                value = (<TensorBase>value).array
            arrays.append(value)
        return arrays


cdef class Op(Parameters):
    """An operation of the table."""

    def __init__(self, signature, *, str entry, bint primitive, dict vjp, tuple aux, bint nograd, Promote promote, str result,
                 returns, tuple differentiable, grad_name, bint alpha, explain):
        self.set_parameters(signature, promote)
        self.entry_name = entry
        self.definition = signature.function
        self.primitive = primitive
        self.nograd = nograd
        self.result = result
        self.returns = returns
        self.takes_alpha = alpha
        self.writes_same = result == "same"
        self.explain = explain
        self.n_aux = len(aux)
        if vjp:
            self.gradient = Gradient(grad_name, signature, vjp, aux, differentiable)
        self.table = []
        self.takes_out = []

    def __repr__(self):
        return f"<operation {self.name}>"

    # -- the table
    cdef int resolve(self, int slot, object backend) except -1:
        """Fill the column of a backend: its method of the operation's name, if it has one."""
        while len(self.table) <= slot:
            self.table.append(None)
            self.takes_out.append(None)
        entry = getattr(backend, self.entry_name, None) if self.entry_name is not None else None
        self.table[slot] = entry
        code = getattr(entry, "__code__", None)
        names = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount] if code is not None else ()
        self.takes_out[slot] = "out" in names
        return 0

    cdef object entry(self, Device device):
        if device.slot >= len(self.table) or self.takes_out[device.slot] is None:
            self.resolve(device.slot, device._backend)
        return self.table[device.slot]

    def register(self, Device device not None, entry):
        """Make `entry(*arrays, *arguments)` what this operation runs on the device's backend."""
        device.resolve()
        self.resolve(device.slot, device._backend)
        self.table[device.slot] = entry
        code = getattr(entry, "__code__", None)
        self.takes_out[device.slot] = code is not None and "out" in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]

    def has_entry(self, Device device not None):
        """True where the device's backend has a kernel of its own for this operation."""
        device.resolve()
        return self.entry(device.canonical) is not None

    # -- the hot shapes
    cdef object call1(self, object a):
        cdef TensorBase t, result
        cdef unsigned int mode = get_mode()
        cdef bint record
        if is_plain(a) and not mode & ~NO_GRAD:
            t = <TensorBase>a
            if self.promote < FLOAT or self.promote == SAME or t.dtype.category >= FLOATING:
                entry = self.entry(t.device)
                record = not mode & NO_GRAD and not self.nograd and t.needs_grad()
                if entry is not None and (not record or (self.gradient is not None and self.n_aux == 0)):
                    try:
                        raw = entry(t.array)
                    except REFUSALS:
                        return self.run([a])      # finds another way, or says what was wrong
                    result = wrap_array(raw, t.device)
                    return self.recorded(result, [a]) if record else result
        return self.run([a])

    cdef object call2(self, object a, object b):
        cdef TensorBase t, u
        cdef unsigned int mode = get_mode()
        if is_plain(a) and not mode & ~NO_GRAD:
            t = <TensorBase>a
            if is_plain(b):
                u = <TensorBase>b
                if t.dtype is u.dtype and t.device is u.device and (self.promote < FLOAT or self.promote == SAME or t.dtype.category >= FLOATING):
                    entry = self.entry(t.device)
                    if entry is not None:
                        if mode & NO_GRAD or self.nograd or not (t.needs_grad() or u.needs_grad()):
                            return wrap_array(self.guarded(entry, t, u), t.device)
                        if self.gradient is not None:
                            return self.recorded(wrap_array(self.guarded(entry, t, u), t.device), [a, b])
            elif (type(b) is float or type(b) is int) and t.dtype.category >= FLOATING and self.promote != NONE and self.promote != SAME and self.numbers:
                entry = self.entry(t.device)
                if entry is not None:
                    if mode & NO_GRAD or self.nograd or not t.needs_grad():
                        return wrap_array(guarded_scalar(self, entry, t, b), t.device)
                    if self.gradient is not None:
                        return self.recorded(wrap_array(guarded_scalar(self, entry, t, b), t.device), [a, b])
        return self.operate([a, b])

    cdef object reduce(self, TensorBase t, object dim, object keepdim):
        """A reduction of a plain tensor with the usual arguments."""
        cdef list args
        cdef tuple dims
        cdef bint record = not get_mode() & NO_GRAD and not self.nograd and t.needs_grad()
        entry = self.entry(t.device)
        if entry is None or not (self.promote < FLOAT or t.dtype.category >= FLOATING) or (dim is not None and type(dim) is not int):
            return None
        if record and self.gradient is None:
            return None
        dims = all_dims(dim, t.ndim_())
        try:
            result = wrap_array(entry(t.array, dims, keepdim), t.device)
        except REFUSALS as error:
            raise self.explained(error, [t]) from None
        if not record:
            return result
        args = [t, dims, keepdim]
        if self.n_params > 3:
            args.append(None)
        return self.recorded(result, args)

    cdef object guarded(self, object entry, TensorBase t, TensorBase u):
        try:
            return entry(t.array, u.array)
        except REFUSALS as error:
            raise self.explained(error, [t, u]) from None

    cdef object recorded(self, TensorBase result, list args):
        cdef OpNode node = self.gradient.prepare(args, None)
        self.gradient.connect(node, result, None)
        return result

    cdef object operate(self, list args):
        """As an operator: NotImplemented, not an error, for an operand that can't be a tensor."""
        for item in args:
            if not (isinstance(item, (TensorBase, cnp.ndarray)) or is_scalar(item) or hasattr(item, "__torch_function__")):
                return NotImplemented
        return self.run(args)

    cdef object explained(self, object error, list args):
        """PyTorch's error for what an entry refused."""
        if isinstance(error, ZeroDivisionError):
            return RuntimeError("ZeroDivisionError")
        if isinstance(error, MemoryError):
            return OutOfMemoryError(f"{self.name}: {error}")
        message = self.explain(*args) if self.explain is not None else None
        if message is None:
            message = shapes_message(self.name, args)
        if message is not None:
            return RuntimeError(message)
        if isinstance(error, TypeError) and ("implemented" in str(error) or "support" in str(error)):      # of a dtype
            for arg in args:
                if isinstance(arg, TensorBase):
                    return NotImplementedError(f"\"{self.name}\" not implemented for '{dtype_title((<TensorBase>arg).dtype)}': {error}")
        if isinstance(error, TypeError):
            return TypeError(f"{self.name}(): {error}")
        return RuntimeError(f"{self.name}: {error}") if type(error) is ValueError else error

    # -- the general path
    def __call__(self, *args, **kwargs):
        """Call with PyTorch's arguments; `out=` gives the tensor(s) to write to."""
        return self.invoke(args, kwargs)

    cdef object invoke(self, tuple args, dict kwargs):
        if self.early is not None and (kwargs or len(args) > self.n_positional):
            args, kwargs = self.early(args, kwargs)
        out = kwargs.pop("out", None) if kwargs else None
        bound = self.bind(args, kwargs)
        return self.run(bound) if out is None else self.run_out(bound, out)

    cdef object run(self, list args):
        cdef unsigned int mode = get_mode()
        if not mode & ~NO_GRAD:
            result = self.run_plain(args)
            if result is not NotImplemented:
                return result
        if mode & (INTERCEPT | AUTOCAST | PROFILE) or not all_plain(args):
            result = intercepted(self, args)
            if result is not NotImplemented:
                return result
        return self.dispatch(args)

    def proceed(self, list args not None, str form="", out=None):
        """Run without asking the interceptor, which calls this."""
        if out is not None:
            return self.dispatch_out(args, out)
        return self.dispatch_inplace(args, False) if form == "_" else self.dispatch(args)

    cdef object dispatch_inplace(self, list args, bint operator):
        raise TypeError(f"{self.name}() can't be done in place")

    cdef object dispatch_out(self, list args, object out):
        raise TypeError(f"{self.name}() got an unexpected keyword argument 'out'")

    cdef object dispatch(self, list args):
        """The general path after interception."""
        cdef unsigned int mode = get_mode()
        cdef bint record
        cdef Device device
        device = self.common_device(args)
        self.normalise(args)
        record = self.gradient is not None and not mode & (NO_GRAD | INFERENCE) and any_needs_grad(args)
        entry = self.entry(device)
        if entry is None or (self.gradient is None and not self.nograd and not mode & NO_GRAD and any_needs_grad(args)):
            if self.primitive:
                return self.unavailable(device, args)
            return self.finish_default(args, device, record)
        compute = self.compute_dtype(args)
        try:
            raw = entry(*self.kernel_args(args, compute, device))
        except REFUSALS as error:
            if lacks_dtype(self, error):
                return self.finish_default(args, device, record)
            raise self.explained(error, args) from None
        return self.finish(raw, device, args, record)

    cdef object run_plain(self, list args):
        """The path for plain tensors of one device, of one dtype where a kernel gets them; NotImplemented where the general path is needed."""
        cdef Operands seen = Operands.__new__(Operands)
        cdef list arrays = [], bound = list(args) if self.has_dims else args      # the general path sees dims as they were given
        cdef int i, kind
        seen.recorded = self.gradient is not None and not self.nograd and not get_mode() & NO_GRAD
        for i in range(self.n_params):
            kind = self.kinds[i]
            value = args[i]
            if kind == TENSOR or kind == RAW:
                if (type(value) is float or type(value) is int) and kind == TENSOR and self.takes_number(i):
                    seen.has_numbers = True
                elif value is not None or i == 0:
                    if not seen.take(value, kind == TENSOR):
                        return NotImplemented
                    value = (<TensorBase>value).array
            elif kind >= INT:
                if not self.is_exact(i, value) and (value is not None or self.defaults[i] is not None):
                    return NotImplemented
            elif kind == TENSORS or kind == RAWS:
                value = seen.take_all(value, kind == TENSORS)
                if value is None:
                    return NotImplemented
            elif kind == DIM or kind == DIMS:
                if seen.first is None or not (type(value) is int or kind == DIMS and (value is None or type(value) is tuple)):
                    return NotImplemented
                bound[i] = value = wrap_dim(value, seen.first.ndim_()) if kind == DIM else all_dims(value, seen.first.ndim_())
            elif kind == TYPE:
                if value is not None:
                    return NotImplemented
                continue
            arrays.append(value)
        return self.run_seen(bound, arrays, seen)

    cdef object run_seen(self, list args, list arrays, Operands seen):
        """The rest of `run_plain`, when the arguments have been looked at."""
        if seen.first is None:
            return NotImplemented
        entry = self.entry(seen.first.device)
        if entry is None or (self.gradient is None and not self.nograd and not get_mode() & NO_GRAD and any_needs_grad(args)):
            if self.primitive or self.refuse is not None or not all_plain(args):
                return NotImplemented
            return self.finish_default(args, seen.first.device, seen.needs_grad)
        if seen.mixed or seen.like is None or (FLOAT <= self.promote < SAME and seen.like.dtype.category < FLOATING):
            return NotImplemented
        if seen.has_numbers and not self.place_numbers(args, arrays, seen.like):
            return NotImplemented
        try:
            raw = entry(*arrays)
        except REFUSALS as error:
            if lacks_dtype(self, error):
                return NotImplemented
            raise self.explained(error, args) from None
        return self.finish(raw, seen.first.device, args, seen.needs_grad)

    cdef object run_default(self, list args):
        cdef PyObject* values[MAX_PARAMS + 1]
        cdef int i
        values[0] = <PyObject*>B
        for i in range(self.n_params):
            values[i + 1] = <PyObject*>args[i]
        try:
            return PyObject_Vectorcall(self.definition, values, self.n_positional + 1, self.keywords)
        except AttributeError as error:
            raise why_not_tensors(self, args, error)

    cdef object finish_default(self, list args, Device device, bint record):
        """The definition's body over tensors. Where a vjp is given, the body itself isn't recorded."""
        cdef unsigned int before
        cdef list operands = self.with_tensors(args, device)
        if self.gradient is None:
            result = self.run_default(operands)
            return pyx_tuple_as(self.returns, result) if self.returns is not None and type(result) is tuple else result
        before = change_mode(NO_GRAD, NO_GRAD)
        try:
            result = self.run_default(operands)
        finally:
            change_mode(NO_GRAD, before)
        return self.finish(result, device, args, record)

    cdef object finish(self, object raw, Device device, list args, bint record):
        """Wrap what an entry or a default gave, split off hidden outputs, record."""
        cdef object results, aux = None
        cdef OpNode node
        if raw is None:
            return None                     # an entry that only writes to its operands
        if type(raw) is tuple or type(raw) is list:
            raw = tuple([r if isinstance(r, TensorBase) or r is None else wrap_array(r, device) for r in raw])
            if self.n_aux:
                aux = raw[len(raw) - self.n_aux:]
                raw = raw[:len(raw) - self.n_aux]
            results = raw[0] if len(raw) == 1 and self.returns is None and self.n_aux else raw
        else:
            results = raw if isinstance(raw, TensorBase) else wrap_array(raw, device)
        if record:
            node = self.gradient.prepare(args, None)
            self.gradient.connect(node, results, aux)
        elif get_mode() & INFERENCE:
            for t in (results if type(results) is tuple else (results,)):
                (<TensorBase>t).inference = True
        if get_mode() & TRACK_DERIVED and not self.nograd:
            mark_derived(results, args, record)
        if self.returns is not None and type(results) is tuple:
            return pyx_tuple_as(self.returns, results)
        return results

    cdef object unavailable(self, Device device, list args):
        backend = device._backend
        if not backend.fallback_to_cpu:
            raise NotImplementedError(f"operation {self.name!r} isn't available on backend {device.type!r}: it has no kernel for it "
                                      "and the operation has no default")
        warnings.warn(f"operation {self.name!r} runs on the CPU: backend {device.type!r} has no kernel for it")
        cpu = as_device("cpu")
        moved = [a.to(cpu) if isinstance(a, TensorBase) else [x if x is None else x.to(cpu) for x in a] if type(a) is list else a
                 for a in args]
        result = self.run(moved)
        return result.to(device) if isinstance(result, TensorBase) else type(result)([r.to(device) for r in result])

    cdef object run_inplace(self, list args, bint operator):
        raise TypeError(f"{self.name}() can't be done in place")

    cdef object run_out(self, list args, object out):
        raise TypeError(f"{self.name}() got an unexpected keyword argument 'out'")


cdef bint lacks_dtype(Op op, object error):
    """Is it a dtype that the entry lacks, so that the body serves? Never where errors are to be seen as they are, as a user's kernels' are."""
    return isinstance(error, TypeError) and not op.primitive and not getattr(op.explain, "reraises", False)


cdef object why_not_tensors(Op op, list args, object error):
    """What to raise where a body stumbled over an operand: what it was instead of a tensor, or else the error itself."""
    cdef int i
    for i in range(op.n_params):
        if ((op.kinds[i] == TENSOR or op.kinds[i] == RAW) and not isinstance(args[i], (TensorBase, cnp.ndarray))
                and not (args[i] is None and op.signature.defaults[i] is None)):
            return TypeError(f"{op.name}(): argument '{op.signature.params[i]}' must be Tensor, not {type(args[i]).__name__}")
    return error


cdef object guarded_scalar(Op op, object entry, TensorBase t, object number):
    try:
        return entry(t.array, number_operand(number, t))
    except REFUSALS as error:
        raise op.explained(error, [t]) from None
