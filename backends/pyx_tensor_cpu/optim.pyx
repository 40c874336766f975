"""Optimizer steps over lists of arrays, each parameter in one pass over memory, big ones in pieces over the threads."""
cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from cython.parallel cimport prange
from libc.math cimport pow, sqrt
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

import numpy as np

from pyx_tensor_cpu.dtypes cimport BF16, C64, C128, F16, F32, F64, code_of
from pyx_tensor_cpu.memory cimport new_array, new_like
from pyx_tensor_cpu.iterate cimport widened
from pyx_tensor_cpu.optim_table cimport CONSTANTS, Adafactor, Adam, AddScaled, Dot, OptimKernels, OptimTable, Rule, SGD
from pyx_tensor_cpu.parallel cimport threads_for

from pyx_tensor_cpu.level import use_kernels

cnp.import_array()

cdef enum:
    PIECE = 1 << 15             # elements of one task
    COST = 8                    # of one element, in additions
    MOST_ARRAYS = 5             # the parameter, its gradient and up to three of state

cdef enum:
    SGD_KERNEL = -2
    ADAM_KERNEL = -1            # from 0 on: the kernel of a rule

RULE_NAMES = ("rmsprop", "adagrad", "adadelta", "adamax", "nadam", "radam", "asgd", "rprop")

cdef OptimTable* table = NULL


def bind(module):
    global table
    table = <OptimTable*>PyCapsule_GetPointer(module.table, NULL)


use_kernels("optim", bind)


ctypedef union Settings:
    SGD sgd
    Adam adam
    Rule rule

cdef struct Task:
    char* array[MOST_ARRAYS]    # param, grad, then the state; NULL for state that is not kept
    Py_ssize_t n
    Settings settings
    bint first


cdef class Batch:
    """Checks and collects the work of one call, then does it, so that bad input leaves every array as it was."""
    cdef str name
    cdef list owners            # of the memory that the tasks point to
    cdef list results           # (array, contiguous float copy that was computed instead)
    cdef Task* tasks
    cdef Py_ssize_t count, capacity, elements
    cdef int code

    def __cinit__(self, str name):
        self.name = name
        self.owners = []
        self.results = []
        self.code = -1

    def __dealloc__(self):
        free(self.tasks)

    cdef int add(self, list arrays, Settings settings, bint first) except -1:
        """Work on arrays: [param, grad, state or None, ...]."""
        cdef Task task
        cdef Py_ssize_t start = 0, size, item
        cdef int i
        arrays = self.working(arrays)
        task.settings = settings
        task.first = first
        size = cnp.PyArray_SIZE(arrays[0])
        item = cnp.PyArray_ITEMSIZE(<cnp.ndarray>arrays[0])
        self.elements += size
        while start < size:
            task.n = min(size - start, <Py_ssize_t>PIECE)
            for i in range(MOST_ARRAYS):
                task.array[i] = NULL
                if i < len(arrays) and arrays[i] is not None:
                    task.array[i] = cnp.PyArray_BYTES(<cnp.ndarray>arrays[i]) + start * item
            self.append(task)
            start += PIECE
        return 0

    cdef int append(self, Task task) except -1:
        cdef Task* grown
        if self.count == self.capacity:
            grown = <Task*>realloc(self.tasks, (2 * self.capacity + 16) * sizeof(Task))
            if grown == NULL:
                raise MemoryError(f"{self.name}(): no memory for the list of {self.count} tasks")
            self.tasks = grown
            self.capacity = 2 * self.capacity + 16
        self.tasks[self.count] = task
        self.count += 1
        return 0

    cdef list working(self, list arrays):
        """The arrays themselves if they are contiguous float32 or float64, else float copies to be written back."""
        cdef bint contiguous
        cdef int code = self.check(arrays, &contiguous)
        if not contiguous or (code != F32 and code != F64):
            arrays = [None if a is None else self.copy(a, i != 1) for i, a in enumerate(arrays)]
        self.owners.append(arrays)
        return arrays

    cdef int check(self, list arrays, bint* contiguous) except -1:
        """Raise unless the arrays fit each other; their dtype, and whether all are contiguous."""
        cdef cnp.ndarray param = arrays[0], a
        cdef int code = code_of(param), i
        contiguous[0] = True
        if code < F16:
            raise TypeError(f"{self.name}(): expected floating point or complex parameters, got dtype {param.dtype}")
        if self.code not in (-1, code):
            raise TypeError(f"{self.name}(): expected parameters of one dtype, got {self.owners[0][0].dtype} and {param.dtype}")
        self.code = code
        for i in range(len(arrays)):
            if arrays[i] is None:
                continue
            a = arrays[i]
            contiguous[0] &= cnp.PyArray_IS_C_CONTIGUOUS(a)
            if code_of(a) != code or not cnp.PyArray_SAMESHAPE(a, param):
                raise ValueError(f"{self.name}(): expected shape {np.shape(param)} and dtype {param.dtype} as the parameter "
                                 f"has, got {np.shape(a)} and {a.dtype}")
            if i != 1 and not cnp.PyArray_ISWRITEABLE(a):
                raise ValueError(f"{self.name}(): an array to be updated is read-only")
        return code

    cdef cnp.ndarray copy(self, cnp.ndarray a, bint written):
        """A contiguous copy in float32 or float64; complex numbers are pairs of floats."""
        copy = np.array(a, np.float32 if self.code in (F16, BF16) else a.dtype, order="C")
        if written:
            self.results.append((a, copy))
        if self.code in (C64, C128):
            copy = copy.reshape(-1).view(copy.real.dtype)
        return copy

    cdef int run(self, int kernel) except -1:
        cdef OptimKernels* k = &table.double_ if self.code in (F64, C128) else &table.single
        cdef Py_ssize_t i
        cdef int threads = threads_for(self.elements * COST) if self.count > 1 else 1
        if threads == 1:
            for i in range(self.count):
                run_task(k, &self.tasks[i], kernel)
        else:
            for i in prange(self.count, nogil=True, num_threads=threads, schedule="static"):
                run_task(k, &self.tasks[i], kernel)
        self.write_back()
        return 0

    cdef int write_back(self) except -1:
        for a, copy in self.results:
            np.copyto(a, copy, casting="same_kind")
        return 0


cdef void run_task(OptimKernels* k, Task* t, int kernel) noexcept nogil:
    if kernel >= 0:
        k.rules[kernel](t.array[0], t.array[1], t.array[2], t.array[3], t.array[4], t.n, &t.settings.rule)
    elif kernel == ADAM_KERNEL:
        k.adam(t.array[0], t.array[1], t.array[2], t.array[3], t.array[4], t.n, &t.settings.adam)
    else:
        k.sgd(t.array[0], t.array[1], t.array[2], t.n, &t.settings.sgd, t.first)


cdef int check_lengths(str name, params, dict lists) except -1:
    for what, values in lists.items():
        if values is not None and len(values) != len(params):
            raise ValueError(f"{name}(): got {len(params)} parameters and {len(values)} {what}")
    return 0


def sgd_step_(params, grads, bufs, double lr, double momentum, double dampening, double weight_decay, bint nesterov,
              bint maximize, first_flags):
    """One step of SGD. With momentum, bufs are its buffers, which a first step (first_flags) sets to the gradient."""
    cdef Batch batch = Batch("sgd_step_")
    cdef Settings settings
    cdef Py_ssize_t i
    check_lengths("sgd_step_", params, dict(grads=grads, bufs=bufs if momentum else None, first_flags=first_flags))
    settings.sgd = SGD(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov,
                       maximize=maximize)
    for i in range(len(params)):
        batch.add([params[i], grads[i], bufs[i] if momentum else None], settings,
                  first_flags is not None and first_flags[i])
    batch.run(SGD_KERNEL)


cdef double count_of(cnp.ndarray count) except? -1:
    if cnp.PyArray_NDIM(count):
        raise ValueError(f"a count of steps has shape {np.shape(count)}, expected one number")
    if code_of(count) == F32:
        return (<float*>cnp.PyArray_DATA(count))[0]
    return float(count)


cdef int increase(cnp.ndarray count) except -1:
    if code_of(count) == F32:
        (<float*>cnp.PyArray_DATA(count))[0] += 1
    else:
        count += 1
    return 0


def adam_step_(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, steps, double lr, double beta1, double beta2,
               double eps, double weight_decay, bint decoupled, bint amsgrad, bint maximize):
    """One step of Adam, or of AdamW if decoupled. steps are 0-dim arrays that count each parameter's steps, from 0 on; they are
    increased."""
    cdef Batch batch = Batch("adam_step_")
    cdef Settings settings
    cdef Py_ssize_t i
    cdef double step
    cdef object largest = max_exp_avg_sqs if amsgrad else None
    if amsgrad and max_exp_avg_sqs is None:
        raise ValueError("adam_step_(): amsgrad needs max_exp_avg_sqs")
    check_lengths("adam_step_", params, dict(grads=grads, exp_avgs=exp_avgs, exp_avg_sqs=exp_avg_sqs,
                                             max_exp_avg_sqs=largest, steps=steps))
    for i in range(len(params)):
        step = count_of(steps[i]) + 1
        settings.adam = Adam(
            beta1=beta1, beta2=beta2, eps=eps, weight_decay=0 if decoupled else weight_decay,
            decay=1 - lr * weight_decay if decoupled else 1, step_size=lr / (1 - pow(beta1, step)),
            correction=sqrt(1 - pow(beta2, step)), maximize=maximize)
        batch.add([params[i], grads[i], exp_avgs[i], exp_avg_sqs[i], None if largest is None else largest[i]], settings, False)
    batch.run(ADAM_KERNEL)
    for i in range(len(params)):
        increase(steps[i])


cdef tuple rows_of(str name, cnp.ndarray indices, cnp.ndarray values, shape):
    """The rows of a parameter that a sparse gradient names, as ascending numbers, and the gradient there: equal places are added up."""
    dims = len(indices)
    if np.ndim(indices) != 2 or dims > len(shape) or np.shape(values) != (np.shape(indices)[1], *shape[dims:]):
        raise ValueError(f"{name}(): a sparse gradient of a parameter of shape {shape} has indices of shape {np.shape(indices)} and values of shape "
                         f"{np.shape(values)}")
    for size, places in zip(shape, indices):
        if len(places) and not (0 <= places.min() and places.max() < size):
            raise ValueError(f"{name}(): a sparse gradient has places outside of the parameter's shape {shape}")
    numbers = indices[0] if dims == 1 else np.ravel_multi_index(tuple(indices), shape[:dims]) if dims else np.zeros(len(values), np.int64)
    if len(numbers) > 1 and not (numbers[1:] > numbers[:len(numbers) - 1]).all():
        order = np.argsort(numbers, kind="stable")
        numbers = numbers[order]
        starts = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:len(numbers) - 1])))
        numbers, values = numbers[starts], np.add.reduceat(values[order], starts, 0)
    return np.ascontiguousarray(numbers, np.int64), np.ascontiguousarray(values)


def sparse_adam_step_(params, indices, values, exp_avgs, exp_avg_sqs, steps, double lr, double beta1, double beta2, double eps, bint maximize):
    """One step of Adam at the places of sparse gradients, given by their indices and values. steps are numbers that count this step."""
    cdef Batch batch = Batch("sparse_adam_step_")
    cdef Adam h
    cdef OptimKernels* k
    cdef cnp.ndarray param, mean, square, places, value
    cdef Py_ssize_t i, row, width, start
    cdef list work = []
    check_lengths("sparse_adam_step_", params, dict(indices=indices, values=values, exp_avgs=exp_avgs, exp_avg_sqs=exp_avg_sqs, steps=steps))
    for i in range(len(params)):
        param, _, mean, square = batch.working([params[i], None, exp_avgs[i], exp_avg_sqs[i]])
        if batch.code in (C64, C128) or code_of(values[i]) != batch.code:
            raise TypeError(f"sparse_adam_step_(): expected real values of the parameter's dtype {params[i].dtype}, got {values[i].dtype}")
        gradient = values[i] if batch.code in (F32, F64) else widened(values[i])
        work.append((param, mean, square, *rows_of("sparse_adam_step_", indices[i], gradient, np.shape(params[i]))))
    k = &table.double_ if batch.code == F64 else &table.single
    h.beta1, h.beta2, h.eps, h.weight_decay, h.decay, h.correction, h.maximize = beta1, beta2, eps, 0, 1, 1, maximize
    for i, (param, mean, square, places, value) in enumerate(work):
        h.step_size = lr * sqrt(1 - pow(beta2, steps[i])) / (1 - pow(beta1, steps[i]))
        width = cnp.PyArray_NBYTES(value) // max(1, len(places))
        for row in range(len(places)):
            start = (<cnp.int64_t*>cnp.PyArray_DATA(places))[row] * width
            k.adam(cnp.PyArray_BYTES(param) + start, cnp.PyArray_BYTES(value) + row * width, cnp.PyArray_BYTES(mean) + start,
                   cnp.PyArray_BYTES(square) + start, NULL, width // cnp.PyArray_ITEMSIZE(value), &h)
    batch.write_back()


def rule_step_(params, grads, first, second, third, steps, str rule, constants, double weight_decay, double shrink, double eps,
               bint maximize):
    """One step of one of RULE_NAMES. first, second and third are what it remembers (empty: nothing), constants a tuple for each
    parameter; steps, 0-dim arrays that count each parameter's steps, are increased."""
    cdef Batch batch = Batch("rule_step_")
    cdef Settings settings
    cdef Py_ssize_t i
    cdef int j
    if rule not in RULE_NAMES:
        raise TypeError(f"rule_step_(): there is no kernel for {rule!r}")
    check_lengths("rule_step_", params, dict(grads=grads, first=first or None, second=second or None, third=third or None, steps=steps,
                                             constants=constants))
    settings.rule.weight_decay, settings.rule.shrink, settings.rule.eps, settings.rule.maximize = weight_decay, shrink, eps, maximize
    for i in range(len(params)):
        count_of(steps[i])
        if len(constants[i]) > CONSTANTS:
            raise ValueError(f"rule_step_(): at most {CONSTANTS} constants, got {len(constants[i])}")
        for j in range(len(constants[i])):
            settings.rule.c[j] = constants[i][j]
        batch.add([params[i], grads[i], first[i] if first else None, second[i] if second else None, third[i] if third else None],
                  settings, False)
    batch.run(RULE_NAMES.index(rule))
    for i in range(len(params)):
        increase(steps[i])


# ---- Adafactor ------------------------------------------------------------------------------------------------------
cdef cnp.ndarray average_of(Batch batch, cnp.ndarray average, cnp.ndarray param, tuple shape):
    """An average of Adafactor's as contiguous memory, to be written back where that isn't its own."""
    if code_of(average) != batch.code or np.shape(average) != shape:
        raise ValueError(f"{batch.name}(): expected an average of shape {shape} and dtype {param.dtype}, got {np.shape(average)} and "
                         f"{average.dtype}")
    if not cnp.PyArray_ISWRITEABLE(average):
        raise ValueError(f"{batch.name}(): an array to be updated is read-only")
    return average if cnp.PyArray_IS_C_CONTIGUOUS(average) and batch.code in (F32, F64) else batch.copy(average, True)


def adafactor_step_(params, grads, first, second, steps, double lr, double beta2_decay, double least_square, double least_size, double most,
                    double weight_decay, bint maximize):
    """One step of Adafactor. For matrices, first and second are the averages of rows and columns; for vectors, first is that of all
    squares and second empty. steps, 0-dim arrays that count each parameter's steps, are increased."""
    cdef Batch batch = Batch("adafactor_step_")
    cdef Adafactor h
    cdef cnp.ndarray param, grad, one, two, scratch
    cdef list work = []
    cdef double step
    cdef OptimKernels* k
    check_lengths("adafactor_step_", params, dict(grads=grads, first=first, second=second or None, steps=steps))
    for i, param in enumerate(params):
        if code_of(param) in (C64, C128):
            raise TypeError(f"adafactor_step_(): expected floating point parameters, got dtype {param.dtype}")
        count_of(steps[i])
        arrays = batch.working([param, grads[i]])
        if second:
            *matrices, rows, columns = np.shape(param)
            averages = average_of(batch, first[i], param, (*matrices, rows, 1)), average_of(batch, second[i], param, (*matrices, 1, columns))
        else:
            rows, columns = 1, cnp.PyArray_SIZE(param)
            averages = average_of(batch, first[i], param, np.shape(param)), None
        work.append((rows, columns, *arrays, *averages))
    k = &table.double_ if batch.code == F64 else &table.single
    h.least_square, h.least_size, h.most, h.shrink, h.maximize = least_square, least_size, most, 1 - lr * weight_decay, maximize
    for i, (rows, columns, param, grad, one, two) in enumerate(work):
        step = count_of(steps[i]) + 1
        h.share, h.size, h.rows, h.columns = pow(step, beta2_decay), min(lr, 1 / sqrt(step)), rows, columns
        h.matrices = cnp.PyArray_SIZE(param) // max(1, h.rows * h.columns)
        scratch = np.empty(h.columns + h.matrices if second else 0)
        k.adafactor(cnp.PyArray_BYTES(param), cnp.PyArray_BYTES(grad), cnp.PyArray_BYTES(one), cnp.PyArray_BYTES(two) if second else NULL,
                    <double*>cnp.PyArray_DATA(scratch), &h)
        increase(steps[i])
    batch.write_back()


# ---- L-BFGS, whose vectors hold the elements of all parameters ----------------------------------------------------------
cdef int code_of_vectors(str name, arrays) except -1:
    """The one dtype of contiguous arrays, float32 or float64; TypeError for others, which the operation's definition knows to treat."""
    cdef cnp.ndarray a
    cdef int code = -1
    for a in arrays:
        if code == -1:
            code = code_of(a)
        if code_of(a) != code or (code != F32 and code != F64) or not cnp.PyArray_IS_C_CONTIGUOUS(a):
            raise TypeError(f"{name}(): expected contiguous arrays of one dtype, float32 or float64")
    if code == -1:
        raise TypeError(f"{name}(): expected arrays, got none")
    return code


cdef double product(Dot dot, cnp.ndarray x, cnp.ndarray y, double* sums) noexcept:
    """The inner product, summed by pieces in their order, whatever the number of threads. `sums` has a place for each piece."""
    cdef Py_ssize_t n = cnp.PyArray_SIZE(x), item = cnp.PyArray_ITEMSIZE(x), pieces = (n + PIECE - 1) // PIECE, i
    cdef char* a = cnp.PyArray_BYTES(x)
    cdef char* b = cnp.PyArray_BYTES(y)
    cdef int threads = threads_for(n) if pieces > 1 else 1
    cdef double total = 0
    if threads == 1:
        for i in range(pieces):
            total += dot(a + i * PIECE * item, b + i * PIECE * item, min(n - i * PIECE, <Py_ssize_t>PIECE))
        return total
    for i in prange(pieces, nogil=True, num_threads=threads, schedule="static"):
        sums[i] = dot(a + i * PIECE * item, b + i * PIECE * item, min(n - i * PIECE, <Py_ssize_t>PIECE))
    for i in range(pieces):
        total += sums[i]
    return total


cdef void add_to(AddScaled add, char* y, char* x, double alpha, Py_ssize_t n, Py_ssize_t item) noexcept:
    """y = y + alpha x"""
    cdef Py_ssize_t pieces = (n + PIECE - 1) // PIECE, i
    cdef int threads = threads_for(n) if pieces > 1 else 1
    if threads == 1:
        add(y, x, alpha, n)
        return
    for i in prange(pieces, nogil=True, num_threads=threads, schedule="static"):
        add(y + i * PIECE * item, x + i * PIECE * item, alpha, min(n - i * PIECE, <Py_ssize_t>PIECE))


def joined(list arrays not None):
    """The elements of all arrays in one vector."""
    cdef cnp.ndarray a, result
    cdef Py_ssize_t size = 0
    cdef char* at
    code_of_vectors("joined", arrays)
    for a in arrays:
        size += cnp.PyArray_SIZE(a)
    result = new_array(1, &size, arrays[0].dtype)
    at = cnp.PyArray_BYTES(result)
    for a in arrays:
        memcpy(at, cnp.PyArray_DATA(a), cnp.PyArray_NBYTES(a))
        at += cnp.PyArray_NBYTES(a)
    return result


def add_parts_(list arrays not None, cnp.ndarray vector not None, double alpha):
    """Add alpha times its part of the vector to each array."""
    cdef cnp.ndarray a
    cdef int code = code_of_vectors("add_parts_", [vector, *arrays])
    cdef OptimKernels* k = &table.double_ if code == F64 else &table.single
    cdef Py_ssize_t size = 0
    cdef char* at = cnp.PyArray_BYTES(vector)
    for a in arrays:
        size += cnp.PyArray_SIZE(a)
        if not cnp.PyArray_ISWRITEABLE(a):
            raise ValueError("add_parts_(): an array to be updated is read-only")
    if size != cnp.PyArray_SIZE(vector):
        raise ValueError(f"add_parts_(): expected a vector of {size} elements, as the arrays have, got shape {np.shape(vector)}")
    for a in arrays:
        add_to(k.add_scaled, cnp.PyArray_BYTES(a), at, alpha, cnp.PyArray_SIZE(a), cnp.PyArray_ITEMSIZE(a))
        at += cnp.PyArray_NBYTES(a)


def lbfgs_direction(cnp.ndarray gradient not None, list changes not None, list steps not None, list factors not None, double scale):
    """Minus the gradient times the approximate inverse Hessian, by the two loops over the remembered changes, the oldest first."""
    cdef int code = code_of_vectors("lbfgs_direction", [gradient, *changes, *steps])
    cdef OptimKernels* k = &table.double_ if code == F64 else &table.single
    cdef Py_ssize_t n = cnp.PyArray_SIZE(gradient), item = cnp.PyArray_ITEMSIZE(gradient), i, pairs = len(changes)
    cdef cnp.ndarray direction, vector
    cdef double* sums
    cdef double* weights
    cdef double weight
    check_lengths("lbfgs_direction", changes, dict(steps=steps, factors=factors))
    for vector in changes + steps:
        if cnp.PyArray_SIZE(vector) != n:
            raise ValueError(f"lbfgs_direction(): expected vectors of {n} elements, got shape {np.shape(vector)}")
    sums = <double*>malloc((n // PIECE + 1 + pairs) * sizeof(double))
    if sums == NULL:
        raise MemoryError("lbfgs_direction(): no memory for partial sums")
    weights = sums + n // PIECE + 1
    try:
        direction = np.negative(gradient, out=new_like(gradient, gradient.dtype))
        for i in reversed(range(pairs)):
            weights[i] = product(k.dot, steps[i], direction, sums) * <double>factors[i]
            add_to(k.add_scaled, cnp.PyArray_BYTES(direction), cnp.PyArray_BYTES(<cnp.ndarray>changes[i]), -weights[i], n, item)
        np.multiply(direction, scale, out=direction)
        for i in range(pairs):
            weight = weights[i] - product(k.dot, changes[i], direction, sums) * <double>factors[i]
            add_to(k.add_scaled, cnp.PyArray_BYTES(direction), cnp.PyArray_BYTES(<cnp.ndarray>steps[i]), weight, n, item)
    finally:
        free(sums)
    return direction
