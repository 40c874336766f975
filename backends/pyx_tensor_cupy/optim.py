"""Steps of optimizers over many tensors in one launch."""
import itertools
import math

import numpy as np

from .entries import contiguous, element_of, entry, new
from .launcher import THREADS, number

LISTS, MOST, CONSTANTS, PIECE = 5, 40, 5, 4096      # as in kernels/optim.cu
TABLES = np.dtype([("address", np.uint64, (LISTS, MOST)), ("size", np.int64, MOST), ("scalars", np.float64, (MOST, CONSTANTS)), ("first_piece", np.int32, MOST),
                   ("first", np.uint8, MOST), ("count", np.int32)], align=True)


class _Batch:
    """Lists of tensors (None: a memory that isn't kept), in parts that a launch can hold. Those that aren't contiguous are worked on as copies."""

    def __init__(self, backend, name, lists):
        lengths = {len(tensors) for tensors in lists if tensors is not None}
        if len(lengths) > 1:
            raise ValueError(f"{name}: expected lists of one length, got {[len(tensors) for tensors in lists if tensors is not None]}")
        self.backend, self.name = backend, name
        self.copies = []      # (array, its contiguous copy)
        self.rows = [self._row(tensors) for tensors in zip(*[itertools.repeat(None) if tensors is None else tensors for tensors in lists])]

    def _row(self, tensors):
        parameter, gradient, *state = tensors
        element_of(self.backend, self.name, parameter)
        if gradient.dtype != parameter.dtype:
            gradient = self.backend.cast(gradient, parameter.dtype)
        row = [self._contiguous(parameter), contiguous(self.backend, gradient)]
        for array in state:
            if array is None:
                row.append(None)
                continue
            if array.dtype != parameter.dtype or tuple(array.shape) != tuple(parameter.shape):
                raise TypeError(f"{self.name}: a state of {array.dtype} {tuple(array.shape)} beside a parameter of {parameter.dtype} {tuple(parameter.shape)}")
            row.append(self._contiguous(array))
        if tuple(gradient.shape) != tuple(parameter.shape):
            raise ValueError(f"{self.name}: a gradient of shape {tuple(gradient.shape)} for a parameter of shape {tuple(parameter.shape)}")
        return row

    def _contiguous(self, array):
        if array.flags.c_contiguous:
            return array
        copy = self.backend.copy(array)
        self.copies.append((array, copy))
        return copy

    def run(self, kernel, scalars, first, arguments):
        """Launch a kernel for the tensors of each element type, as many at once as fit. `arguments(element, places)` are those behind the tables."""
        kinds = {}
        for place, row in enumerate(self.rows):
            if row[0].size:
                kinds.setdefault(element_of(self.backend, self.name, row[0]), []).append(place)
        for element, places in kinds.items():
            for begin in range(0, len(places), MOST):
                part = places[begin:begin + MOST]
                tables, pieces = self._tables(part, scalars, first)
                self.backend.launch("optim", kernel, element, (pieces,), (THREADS,), tables, *arguments(element, part))
        for array, copy in self.copies:
            self.backend.copy_(array, copy)

    def _tables(self, places, scalars, first):
        tables, pieces = np.zeros((), TABLES), 0
        for at, place in enumerate(places):
            for which, array in enumerate(self.rows[place]):
                tables["address"][which, at] = 0 if array is None else self.backend.address(array)
            tables["size"][at] = self.rows[place][0].size
            tables["first_piece"][at] = pieces
            if scalars:
                tables["scalars"][at][:len(scalars[place])] = scalars[place]
            tables["first"][at] = bool(first[place]) if first else 0
            pieces += math.ceil(self.rows[place][0].size / PIECE)
        tables["count"] = len(places)
        return tables[()], pieces


@entry
def sgd_step_(self, params, grads, bufs, lr, momentum, dampening, weight_decay, nesterov, maximize, first):
    """One step of gradient descent; `first` says which buffers have no content yet."""
    batch = _Batch(self, "sgd_step_", [params, grads, *([bufs] if momentum else [])])

    def arguments(element, places):
        numbers = [number(element, value) for value in (lr, momentum, dampening, weight_decay)]
        return *numbers, np.int32(nesterov), np.int32(maximize)

    batch.run("sgd", None, first, arguments)


@entry
def adam_step_(self, params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, steps, lr, beta1, beta2, eps, weight_decay, decoupled, amsgrad, maximize):
    """One step of Adam. `steps` count on the host, or on the device: then nothing of the step is fixed by a graph."""
    if len(steps) != len(params):
        raise ValueError(f"adam_step_: got {len(params)} parameters and {len(steps)} steps")
    batch = _Batch(self, "adam_step_", [params, grads, exp_avgs, exp_avg_sqs, *([max_exp_avg_sqs] if amsgrad else [])])
    on_device = bool(steps) and isinstance(steps[0], self.array_type)
    scalars = None if on_device else [_count(step, lr, beta1, beta2) for step in steps]

    def arguments(element, places):
        known = _scalars_on_device(self, [steps[place] for place in places], lr, beta1, beta2) if on_device else None
        return (known, np.float64(beta1), np.float64(beta2), number(element, eps), number(element, 0 if decoupled else weight_decay),
                number(element, 1 - lr * weight_decay if decoupled else 1), np.int32(amsgrad), np.int32(maximize))

    batch.run("adam", scalars, None, arguments)


def _count(step, lr, beta1, beta2):
    """Increase a count on the host; the step's size and the root of the squares' correction."""
    step += 1
    return lr / (1 - beta1**float(step)), math.sqrt(1 - beta2**float(step))


def _scalars_on_device(backend, steps, lr, beta1, beta2):
    scalars = new(backend, (len(steps), 2), backend.dtypes["float64"], steps[0])
    tables = np.zeros((), TABLES)
    for at, step in enumerate(steps):
        if backend.dtype_name(step) != "float32":
            raise TypeError(f"adam_step_: counts of steps on the device are float32, not {step.dtype}")
        tables["address"][0, at] = backend.address(step)
    tables["count"] = len(steps)
    backend.launch.each("optim", "adam_scalars", "float32", len(steps), tables[()], scalars, np.float64(lr), np.float64(beta1), np.float64(beta2))
    return scalars


RULES = ("rmsprop", "adagrad", "adadelta", "adamax", "nadam", "radam", "asgd", "rprop")


@entry
def rule_step_(self, params, grads, first, second, third, steps, rule, constants, weight_decay, shrink, eps, maximize):
    """One step of another optimizer; `first`, `second` and `third` are what it remembers (empty: nothing)."""
    if rule not in RULES:
        raise TypeError(f"rule_step_: there is no kernel for {rule!r}")
    batch = _Batch(self, "rule_step_", [params, grads, *[memory or None for memory in (first, second, third)]])
    batch.run(rule, constants, None, lambda element, places: (*[number(element, value) for value in (eps, weight_decay, shrink)], np.int32(maximize)))
    for step in steps:
        step += 1
