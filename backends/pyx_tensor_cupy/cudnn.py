"""cuDNN's graphs of one operation each, by the package nvidia-cudnn-frontend: how they are built, kept and run.

What cuDNN refuses is done without it: convolution by lowering, attention from its definition. So is all of it where the package or the
library isn't there.
"""
import functools
import threading

from pyx_tensor.core.protocol import OutOfMemoryError, permissions

from .entries import contiguous, new

TYPES = {"float32": "FLOAT", "float16": "HALF", "bfloat16": "BFLOAT16"}      # dtype -> its name in cudnn.data_type; all compute in float32
ALIGNMENT = 16      # the addresses of a graph's arrays are multiples of it
MOST_PLANS = 2048


class Library:
    """cuDNN for a backend: one handle for each device, and the plans of all that was asked for."""

    def __init__(self, backend):
        self.backend = backend
        self.plans = {}      # what is run -> its plan, or (a str) why cuDNN refuses it
        self._handles = {}      # device -> handle
        self._lock = threading.Lock()      # a handle has one stream at a time

    @functools.cached_property
    def found(self):
        """(the module cudnn, None), or (None, why it can't be used); looked for on first use."""
        try:
            import cudnn
            self.backend.cuda.get_cublas_handle()      # cuDNN takes cuBLAS as it is loaded, and ends the process where it isn't
            self._handles[self.backend.current_device()] = cudnn.create_handle()
        except (ImportError, AttributeError, OSError, RuntimeError) as error:      # not this package, no library (which old packages import), no device
            return None, f"{type(error).__name__}: {error}"
        return cudnn, None

    @property
    def module(self):
        """The module cudnn; None where it can't be used."""
        return self.found[0]

    def version(self):
        """cuDNN's version as a number, 91900 for 9.19.0; None where there is none."""
        return None if self.module is None else int(self.module.backend_version())

    def takes(self, *arrays):
        """May and can it be given these arrays?"""
        return permissions.cudnn and all(a.size and self.backend.dtype_name(a) in TYPES for a in arrays) and self.module is not None

    def run(self, operation, inputs, results, options, avoided=()):
        """Compute one operation into the arrays `results`. False where cuDNN refuses it or has no room to work in, and nothing was done.

        Args:
            operation: a method of `cudnn.pygraph`. inputs: arrays, as `readable` gives them, by its parameters' names.
            options: what else it is given. avoided: numerical notes, by name, of algorithms that may not be chosen.
        """
        backend, arrays = self.backend, (*inputs.values(), *results)
        described = tuple([(backend.dtype_name(a), tuple(a.shape), strides_of(backend, a)) for a in arrays])
        key = backend.current_device(), operation, tuple(inputs), described, tuple(options.items()), avoided
        with self._lock:
            plan = self.plans.get(key) or self._plan(key)
            if isinstance(plan, str):
                return False
            try:
                workspace = new(backend, (max(plan.workspace, 1),), "uint8", arrays[0])
            except OutOfMemoryError:
                return False
            handle = self._handle()
            self.module.set_stream(handle, backend.cuda.get_current_stream().ptr)
            plan.graph.execute({uid: backend.address(a) for uid, a in enumerate(arrays, 1)}, backend.address(workspace), handle)
        return True

    def _handle(self):
        device = self.backend.current_device()
        if device not in self._handles:
            self._handles[device] = self.module.create_handle()
        return self._handles[device]

    def _plan(self, key):
        """A new plan, or why there is none. While a graph is captured nothing is built, as that may wait for the device."""
        if self.backend.capturing():
            return "a graph is being captured"
        if len(self.plans) >= MOST_PLANS:
            self.plans.clear()
        try:
            plan = Plan(self.module, self._handle(), *key[1:])
        except (self.module.cudnnGraphNotSupportedError, RuntimeError, ValueError) as error:      # what the library is too old for is a RuntimeError
            plan = f"{type(error).__name__}: {error}"
        self.plans[key] = plan
        return plan


class Plan:
    """A graph of one operation, ready to run; its arrays are numbered from 1, inputs first."""

    def __init__(self, module, handle, operation, names, described, options, avoided):
        """For the `names` of the inputs, dtype, shape and strides of each array in `described`, and the rest see `Library.run`."""
        types = module.data_type
        self.graph = module.pygraph(name=operation, handle=handle, io_data_type=_type(module, described[0]), intermediate_data_type=types.FLOAT,
                                    compute_data_type=types.FLOAT)
        inputs = {name: self.graph.tensor(name=name, uid=uid, data_type=_type(module, facts), dim=list(facts[1]), stride=list(facts[2]))
                  for uid, (name, facts) in enumerate(zip(names, described), 1)}
        results = getattr(self.graph, operation)(**inputs, **dict(options))
        results = results if isinstance(results, (list, tuple)) else (results,)
        for uid, (result, facts) in enumerate(zip(results, described[len(names):]), len(names) + 1):
            result.set_output(True).set_uid(uid).set_data_type(_type(module, facts)).set_dim(list(facts[1])).set_stride(list(facts[2]))
        self._build(module, avoided)

    def _build(self, module, avoided):
        graph = self.graph
        graph.validate()
        graph.build_operation_graph()
        graph.create_execution_plans([module.heur_mode.A, module.heur_mode.FALLBACK])
        graph.deselect_numeric_notes([getattr(module.numerical_note, name) for name in avoided])
        graph.check_support()
        graph.build_plans()
        self.workspace = graph.get_workspace_size()


def _type(module, facts):
    return getattr(module.data_type, TYPES[facts[0]])


def strides_of(backend, array):
    """An array's strides in elements; of a dim of size 1, which may have any, what it would have were the array dense."""
    strides, dense = [], 1
    for n, stride in zip(reversed(array.shape), reversed(backend.strides(array))):
        strides.append(dense if n == 1 else stride)
        dense = strides[-1] * n
    return tuple(reversed(strides))


def readable(backend, array):
    """An array, or a copy of it, whose last dim is dense, whose others aren't expanded and whose address is one that cuDNN takes."""
    strides = strides_of(backend, array)
    if strides[-1] == 1 and min(strides) > 0 and backend.address(array) % ALIGNMENT == 0:
        return array
    return backend.copy(array)


def packed(backend, array, like=None):
    """The same, all dense in row-major order, of the dtype of `like`."""
    return readable(backend, contiguous(backend, array, like))
