"""The driver of elementwise loops: broadcasting, result layout, blocks, conversions, threads.

A loop of the table takes contiguous operands of its own type. The driver orders the dimensions as the result
lies in memory, merges those that every operand steps through evenly, and hands the loop either the operands
themselves or, in blocks that stay in the first-level cache, copies of those that are strided, broadcast or of
half precision (which are computed as float and rounded once).
"""
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_New
from cython.parallel cimport prange
from libc.string cimport memcmp, memcpy

from pyx_tensor_cpu.dtypes cimport *
from pyx_tensor_cpu.memory cimport new_array, new_strided
from pyx_tensor_cpu.ops cimport *
from pyx_tensor_cpu.parallel cimport threads_for

from .level import use_kernels
from . import ops

cnp.import_array()

cdef enum:
    BLOCK = 1024
    SHORT_ROW = 64                  # shorter rows are gathered several to a block
    TILE = 64                       # columns of a tile, which is a block
    FEW = 8                         # elements along a dimension below which tiles don't pay
    STREAMED = 1 << 23              # bytes of a result in tiles that no cache need hold: each tile writes far apart
    RELEASE_GIL = 1 << 16           # work from which other Python threads may run meanwhile

cdef extern from "turn.h" nogil:
    void turn_words(char* dst, Py_ssize_t dst_step, const char* src, Py_ssize_t src_step, Py_ssize_t rows, Py_ssize_t columns, Py_ssize_t itemsize)
    void fetch(const char* data, Py_ssize_t size)
    void stream(char* dst, const char* src, Py_ssize_t size)
    void stream_end()

cdef Loop[NOPS * NCODES] table
cdef int[NOPS * NCODES] result_codes
cdef Py_ssize_t[NOPS] costs         # of one element, an addition being 1

cdef void describe(tuple ops, Py_ssize_t cost):
    cdef int op
    for op in ops:
        costs[op] = cost

cdef int _op, _code
for _op in range(NOPS):
    costs[_op] = 1
    for _code in range(NCODES):
        result_codes[_op * NCODES + _code] = _code
for _op in (EQ, NE, LT, LE, GT, GE, LOGICAL_AND, LOGICAL_OR, LOGICAL_XOR, LOGICAL_NOT, ISNAN, ISINF, ISFINITE, SIGNBIT):
    for _code in range(NCODES):
        result_codes[_op * NCODES + _code] = BOOL
for _op in (ABS, ANGLE):
    result_codes[_op * NCODES + C64] = F32
    result_codes[_op * NCODES + C128] = F64
describe((EXP, EXP2, EXPM1, LOG, LOG2, LOG1P, SIN, COS, TAN, SINH, COSH, TANH, ERF, ERFC, SIGMOID, SILU, MISH, GELU, GELU_TANH, ELU, SOFTPLUS,
          GELU_BACKWARD, GELU_TANH_BACKWARD, SILU_BACKWARD), 4)
describe((LOG10, ASIN, ACOS, ATAN, ASINH, ACOSH, ATANH, ERFINV, LGAMMA, DIGAMMA, POW, ATAN2, HYPOT, FMOD, REMAINDER, FLOOR_DIVIDE,
          I0, I0E, I1, I1E, ERFCX, NDTRI, LOG_NDTR), 16)
describe((GAMMAINC, GAMMAINCC, ZETA), 64)

_capsule = PyCapsule_New(table, "loops", NULL)
for _name in ("arithmetic", "real", "complex", "casts"):
    use_kernels(_name, lambda module: module.install(_capsule))


cdef Loop find(int op, int code):
    """The loop of `op` for operands of type `code`, NULL if there is none."""
    return table[op * NCODES + code]


# ---- strided copies, the only place where a block meets memory that is not contiguous ----

ctypedef fused word:
    unsigned char
    unsigned short
    unsigned int
    unsigned long long
    double complex                  # for its 16 bytes

cdef inline void copy_words(word* witness, char* dst, Py_ssize_t dst_step, const char* src, Py_ssize_t src_step, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i, size = sizeof(word)
    cdef word one
    if dst_step == size and src_step == 0:
        one = (<const word*>src)[0]
        for i in range(n): (<word*>dst)[i] = one
    elif dst_step == size and src_step == -size:
        for i in range(n): (<word*>dst)[i] = (<const word*>src)[-i]
    elif dst_step == size:
        for i in range(n): (<word*>dst)[i] = (<const word*>(src + i * src_step))[0]
    elif src_step == sizeof(word):
        for i in range(n): (<word*>(dst + i * dst_step))[0] = (<const word*>src)[i]
    else:
        for i in range(n): (<word*>(dst + i * dst_step))[0] = (<const word*>(src + i * src_step))[0]


cdef void copy_strided(char* dst, Py_ssize_t dst_step, const char* src, Py_ssize_t src_step, Py_ssize_t n, Py_ssize_t itemsize) noexcept nogil:
    if dst_step == itemsize and src_step == itemsize:
        memcpy(dst, src, n * itemsize)
    elif itemsize == 4:
        copy_words[uint](NULL, dst, dst_step, src, src_step, n)
    elif itemsize == 8:
        copy_words[ulonglong](NULL, dst, dst_step, src, src_step, n)
    elif itemsize == 2:
        copy_words[ushort](NULL, dst, dst_step, src, src_step, n)
    elif itemsize == 1:
        copy_words[uchar](NULL, dst, dst_step, src, src_step, n)
    else:
        copy_words[dcomplex](NULL, dst, dst_step, src, src_step, n)

ctypedef unsigned char uchar
ctypedef unsigned short ushort
ctypedef unsigned int uint
ctypedef unsigned long long ulonglong
ctypedef double complex dcomplex


cdef inline void advance(const Plan* plan, Py_ssize_t* at, Py_ssize_t count) noexcept nogil:
    """Move the coordinates `at` on by `count` elements, at most to the end of a row or by whole rows."""
    cdef int d = plan.ndim - 1
    at[d] += count
    while d > 0 and at[d] >= plan.shape[d]:
        at[d - 1] += at[d] // plan.shape[d]
        at[d] %= plan.shape[d]
        d -= 1


cdef inline Py_ssize_t offset_of(const Plan* plan, const Operand* operand, const Py_ssize_t* at) noexcept nogil:
    cdef Py_ssize_t offset = 0
    cdef int d
    for d in range(plan.ndim):
        offset += at[d] * operand.strides[d]
    return offset


cdef void move_block(const Plan* plan, const Operand* operand, const Py_ssize_t* start, Py_ssize_t count, char* buffer, bint store) noexcept nogil:
    """Copy `count` elements from `start` on between an operand's memory and a contiguous buffer."""
    cdef Py_ssize_t at[MAX_DIMS]
    cdef int last = plan.ndim - 1
    cdef Py_ssize_t n, step = operand.strides[last], itemsize = operand.itemsize, row = plan.shape[last]
    cdef char* data
    cdef bint across = plan.tiled and not store and operand.strides[last - 1] == itemsize
    memcpy(at, start, plan.ndim * sizeof(Py_ssize_t))
    while count:
        n = min(count, row - at[last])
        data = operand.data + offset_of(plan, operand, at)
        if across and at[last] == 0 and count >= row:
            n = min(count // row, plan.shape[last - 1] - at[last - 1])
            turn_words(buffer, row * itemsize, data, step, n, row, itemsize)
            n *= row
        elif store and plan.streams and step == itemsize:
            stream(data, buffer, n * itemsize)
        elif store:
            copy_strided(data, step, buffer, itemsize, n, itemsize)
        else:
            if plan.tiled and step == itemsize:
                fetch(data + BLOCK // row * operand.strides[last - 1], n * itemsize)
            copy_strided(buffer, itemsize, data, step, n, itemsize)
        buffer += n * itemsize
        count -= n
        advance(plan, at, n)


cdef inline char* contiguous(const Plan* plan, const Operand* operand, const Py_ssize_t* at, Py_ssize_t position, Py_ssize_t count) noexcept nogil:
    """The operand's own memory if the next `count` elements lie there in order, else NULL."""
    cdef int last = plan.ndim - 1
    if operand.dense:
        return operand.data + position * operand.itemsize
    if operand.strides[last] == operand.itemsize and at[last] + count <= plan.shape[last]:
        return operand.data + offset_of(plan, operand, at)
    return NULL


cdef void convert(const Operand* operand, void* dst, void* src, Py_ssize_t n) noexcept nogil:
    cdef void* p[MAX_OPERANDS]
    p[0] = dst
    p[1] = src
    operand.convert(operand.convert_op, p, n)


cdef char* load(const Plan* plan, const Operand* operand, const Py_ssize_t* at, Py_ssize_t position, Py_ssize_t count,
                char* buffer, char* raw) noexcept nogil:
    """The next `count` elements as the loop wants them, in place or in `buffer`."""
    cdef char* data = contiguous(plan, operand, at, position, count)
    if operand.convert == NULL:
        if data == NULL:
            move_block(plan, operand, at, count, buffer, False)
            return buffer
        return data
    if data == NULL:
        move_block(plan, operand, at, count, raw, False)
        data = raw
    convert(operand, buffer, data, count)
    return buffer


cdef void store(const Plan* plan, const Operand* operand, const Py_ssize_t* at, Py_ssize_t position, Py_ssize_t count,
                char* buffer, char* raw) noexcept nogil:
    cdef char* data = contiguous(plan, operand, at, position, count)
    if operand.convert != NULL:
        convert(operand, data if data != NULL else raw, buffer, count)
        if data != NULL:
            return
        buffer = raw
    move_block(plan, operand, at, count, buffer, True)


cdef void execute_blocks(const Plan* plan, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    cdef double buffers[MAX_OPERANDS][2 * BLOCK]
    cdef double raw[2 * BLOCK]
    cdef void* p[MAX_OPERANDS]
    cdef Py_ssize_t at[MAX_DIMS]
    cdef Py_ssize_t position = start, count, row = plan.shape[plan.ndim - 1], rest = start
    cdef const Operand* result = &plan.operand[0]
    cdef int d, k
    for d in range(plan.ndim - 1, -1, -1):
        at[d] = rest % plan.shape[d]
        rest //= plan.shape[d]
    for k in range(1, plan.operands):
        if plan.operand[k].constant:        # its buffer is filled once
            p[k] = load(plan, &plan.operand[k], at, position, min(<Py_ssize_t>BLOCK, stop - start), <char*>buffers[k], <char*>raw)
    while position < stop:
        count = min(<Py_ssize_t>BLOCK, stop - position)
        if row >= SHORT_ROW and not plan.tiled:
            count = min(count, row - at[plan.ndim - 1])
        for k in range(1, plan.operands):
            if not plan.operand[k].constant:
                p[k] = load(plan, &plan.operand[k], at, position, count, <char*>buffers[k], <char*>raw)
        p[0] = NULL if result.convert != NULL else contiguous(plan, result, at, position, count)
        if p[0] != NULL:
            plan.loop(plan.op, p, count)
        else:
            p[0] = <void*>buffers[0]
            plan.loop(plan.op, p, count)
            store(plan, result, at, position, count, <char*>buffers[0], <char*>raw)
        position += count
        advance(plan, at, count)
    if plan.streams:
        stream_end()


cdef void execute(const Plan* plan, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    """Run the loop over the elements from `start` to `stop`."""
    cdef void* p[MAX_OPERANDS]
    cdef int k
    for k in range(plan.operands):
        if not plan.operand[k].dense or plan.operand[k].convert != NULL:
            execute_blocks(plan, start, stop)
            return
        p[k] = plan.operand[k].data + start * plan.operand[k].itemsize
    plan.loop(plan.op, p, stop - start)


cdef void execute_parallel(const Plan* plan, int threads) noexcept nogil:
    cdef Py_ssize_t share = (plan.size // threads + BLOCK - 1) // BLOCK * BLOCK
    cdef int t
    for t in prange(threads, num_threads=threads, schedule="static"):
        execute(plan, min(t * share, plan.size), min((t + 1) * share, plan.size) if t < threads - 1 else plan.size)


# ---- plans ----

cdef void add_operand(Plan* plan, cnp.ndarray a, Loop convert_loop, int convert_op):
    cdef Operand* operand = &plan.operand[plan.operands]
    cdef int ndim = cnp.PyArray_NDIM(a), skip = plan.ndim - ndim, d
    operand.data = <char*>cnp.PyArray_DATA(a)
    operand.itemsize = cnp.PyArray_ITEMSIZE(a)
    operand.convert = convert_loop
    operand.convert_op = convert_op
    for d in range(skip):
        operand.strides[d] = 0
    for d in range(ndim):
        operand.strides[skip + d] = 0 if cnp.PyArray_DIM(a, d) == 1 else cnp.PyArray_STRIDE(a, d)
    plan.operands += 1


cdef void move_dim(Plan* plan, int source, int target) noexcept:
    cdef int k
    plan.shape[target] = plan.shape[source]
    for k in range(plan.operands):
        plan.operand[k].strides[target] = plan.operand[k].strides[source]


cdef void swap_dims(Plan* plan, int i, int j) noexcept:
    cdef int k
    plan.shape[i], plan.shape[j] = plan.shape[j], plan.shape[i]
    for k in range(plan.operands):
        plan.operand[k].strides[i], plan.operand[k].strides[j] = plan.operand[k].strides[j], plan.operand[k].strides[i]


cdef bint mergeable(Plan* plan, int d) noexcept:
    """Whether dimensions d and d + 1 are one for every operand."""
    cdef int k
    for k in range(plan.operands):
        if plan.operand[k].strides[d] != plan.operand[k].strides[d + 1] * plan.shape[d + 1]:
            return False
    return True


cdef void arrange(Plan* plan) noexcept:
    """Put the dimensions in the order of the result's memory and merge what can be merged."""
    cdef int d, e, kept = 0
    for d in range(plan.ndim):
        if plan.shape[d] != 1:
            move_dim(plan, d, kept)
            kept += 1
    plan.ndim = kept
    for d in range(1, kept):
        e = d
        while e > 0 and abs(plan.operand[0].strides[e - 1]) < abs(plan.operand[0].strides[e]):
            swap_dims(plan, e - 1, e)
            e -= 1
    d = kept - 2
    while d >= 0:
        if mergeable(plan, d):
            plan.shape[d + 1] *= plan.shape[d]
            for e in range(d, plan.ndim - 1):       # the merged dimension keeps the inner steps
                move_dim(plan, e + 1, e)
            plan.ndim -= 1
        d -= 1
    if plan.ndim == 0:
        plan.ndim = 1
        plan.shape[0] = 1
        for e in range(plan.operands):
            plan.operand[e].strides[0] = plan.operand[e].itemsize


cdef void classify(Plan* plan, Operand* operand) noexcept:
    cdef Py_ssize_t step = operand.itemsize
    cdef int d
    operand.dense = operand.constant = True
    for d in range(plan.ndim - 1, -1, -1):
        operand.dense = operand.dense and operand.strides[d] == step
        operand.constant = operand.constant and operand.strides[d] == 0
        step *= plan.shape[d]


cdef bint crosswise(Plan* plan) noexcept:
    """Whether an operand runs through memory along the second last dimension: a row of it touches a cache line per element."""
    cdef int k, last = plan.ndim - 1
    if last == 0 or plan.shape[last] < FEW or plan.shape[last - 1] < FEW:
        return False
    for k in range(1, plan.operands):
        if 0 < abs(plan.operand[k].strides[last - 1]) < abs(plan.operand[k].strides[last]):
            return True
    return False


cdef void run_tiles(Plan* plan, Py_ssize_t cost):
    """Go through the last two dimensions in strips TILE wide, so that the cache lines that a row touches serve the next rows."""
    cdef Plan rest
    cdef int k, last = plan.ndim - 1
    cdef Py_ssize_t strips = plan.shape[last] // TILE
    plan.tiled = True
    plan.streams = size_of(plan) * plan.operand[0].itemsize >= STREAMED
    rest = plan[0]
    if strips:
        plan.ndim += 1
        plan.shape[last + 1] = TILE
        plan.shape[last] = plan.shape[last - 1]
        plan.shape[last - 1] = strips
        for k in range(plan.operands):
            plan.operand[k].strides[last + 1] = rest.operand[k].strides[last]
            plan.operand[k].strides[last] = rest.operand[k].strides[last - 1]
            plan.operand[k].strides[last - 1] = rest.operand[k].strides[last] * TILE
            rest.operand[k].data += strips * TILE * rest.operand[k].strides[last]
        run_arranged(plan, cost)
    rest.shape[last] -= strips * TILE
    run_arranged(&rest, cost)


cdef Py_ssize_t size_of(const Plan* plan) noexcept nogil:
    cdef Py_ssize_t size = 1
    cdef int d
    for d in range(plan.ndim):
        size *= plan.shape[d]
    return size


cdef void run_arranged(Plan* plan, Py_ssize_t cost):
    cdef int k, threads
    plan.size = size_of(plan)
    if plan.size == 0:
        return
    for k in range(plan.operands):
        classify(plan, &plan.operand[k])
    if plan.size * cost < RELEASE_GIL:
        execute(plan, 0, plan.size)
        return
    threads = threads_for(plan.size * cost)
    with nogil:
        if threads == 1:
            execute(plan, 0, plan.size)
        else:
            execute_parallel(plan, threads)


cdef void run(Plan* plan, Py_ssize_t cost):
    """Run a plan whose shape, operands, loop and op are set."""
    cdef int d
    for d in range(plan.ndim):
        if plan.shape[d] == 0:
            return
    plan.tiled = plan.streams = False
    arrange(plan)
    if crosswise(plan) and plan.ndim < MAX_DIMS:
        run_tiles(plan, cost)
    else:
        run_arranged(plan, cost)


cdef object shape_of(cnp.ndarray a):
    return (<object>a).shape


cdef int broadcast(Plan* plan, int n, PyObject** inputs) except -1:
    """Set the plan's shape to what the inputs broadcast to."""
    cdef cnp.ndarray a
    cdef Py_ssize_t size
    cdef int k, d, e
    plan.ndim = 0
    for k in range(n):
        plan.ndim = max(plan.ndim, cnp.PyArray_NDIM(<cnp.ndarray>inputs[k]))
    for d in range(plan.ndim):
        plan.shape[d] = 1
    for k in range(n):
        a = <cnp.ndarray>inputs[k]
        e = plan.ndim - cnp.PyArray_NDIM(a)
        for d in range(cnp.PyArray_NDIM(a)):
            size = cnp.PyArray_DIM(a, d)
            if plan.shape[e + d] == 1:
                plan.shape[e + d] = size
            elif size != 1 and size != plan.shape[e + d]:
                raise ValueError("shapes do not broadcast: " + ", ".join([str(shape_of(<cnp.ndarray>inputs[j])) for j in range(n)]))
    return 0


cdef bint has_shape(cnp.ndarray a, int ndim, const Py_ssize_t* shape):
    return cnp.PyArray_NDIM(a) == ndim and memcmp(cnp.PyArray_DIMS(a), shape, ndim * sizeof(Py_ssize_t)) == 0


cdef cnp.ndarray new_result(Plan* plan, int n, PyObject** inputs, int code):
    """An array for the result, laid out like the first input that has its shape."""
    cdef cnp.ndarray a
    cdef int k
    for k in range(n):
        a = <cnp.ndarray>inputs[k]
        if has_shape(a, plan.ndim, plan.shape):
            if cnp.PyArray_IS_C_CONTIGUOUS(a):
                break
            return new_strided(plan.ndim, plan.shape, <const Py_ssize_t*>cnp.PyArray_STRIDES(a), dtype_of(code))
    return new_array(plan.ndim, plan.shape, dtype_of(code))


cdef int check_result(cnp.ndarray out, int ndim, const Py_ssize_t* shape, int code) except -1:
    if code_of(out) != code or not has_shape(out, ndim, shape):
        raise ValueError(f"out has shape {shape_of(out)} and dtype {out.dtype}, expected {tuple([shape[d] for d in range(ndim)])} and {dtype_of(code)}")
    if not cnp.PyArray_ISWRITEABLE(out):
        raise ValueError("out is read-only")
    return 0


# ---- operations ----

def op_name(int op):
    return ops.Op(op).name.lower()


cdef object no_loop(int op, int code):
    return TypeError(f"{op_name(op)} is not implemented for {dtype_of(code)} on cpu")


cdef int check_inputs(int op, int code, int n, PyObject** inputs) except -1:
    """All inputs have one dtype, but for the condition of `where`, and numbers that go with half precision as float."""
    cdef int k, found, expected
    for k in range(n):
        found = code_of(<cnp.ndarray>inputs[k])
        expected = BOOL if op == WHERE and k == 0 else code
        if found != expected and not (found == F32 and is_half_code(code) and cnp.PyArray_NDIM(<cnp.ndarray>inputs[k]) == 0):
            raise TypeError(f"{op_name(op)}: operand {k} has dtype {dtype_of(found)}, expected {dtype_of(expected)}")
    return 0


cdef cnp.ndarray elementwise(int op, int code, int n, PyObject** inputs, cnp.ndarray out):
    """Apply `op` to inputs of type `code`, of any layout."""
    cdef Plan plan
    cdef int k, result_code = result_codes[op * NCODES + code]
    cdef Loop loop = table[op * NCODES + code]
    cdef bint widen = loop == NULL and is_half_code(code)
    check_inputs(op, code, n, inputs)
    if widen:
        loop = table[op * NCODES + F32]
    if loop == NULL:
        raise no_loop(op, code)
    broadcast(&plan, n, inputs)
    if out is None:
        out = new_result(&plan, n, inputs, result_code)
    else:
        check_result(out, plan.ndim, plan.shape, result_code)
    plan.op = op
    plan.loop = loop
    plan.operands = 0
    add_operand(&plan, out, table[CAST * NCODES + code] if widen and is_half_code(result_code) else NULL, F32)
    for k in range(n):
        add_operand(&plan, <cnp.ndarray>inputs[k],
                    table[CAST * NCODES + F32] if widen and code_of(<cnp.ndarray>inputs[k]) == code else NULL, code)
    run(&plan, costs[op] * (2 if widen else 1))
    return out


cdef inline bint same_layout(cnp.ndarray a, cnp.ndarray b):
    """Both C-contiguous and of one shape."""
    return (cnp.PyArray_IS_C_CONTIGUOUS(a) and cnp.PyArray_IS_C_CONTIGUOUS(b) and
            has_shape(b, cnp.PyArray_NDIM(a), <const Py_ssize_t*>cnp.PyArray_DIMS(a)))


cdef cnp.ndarray unary(int op, cnp.ndarray a, cnp.ndarray out):
    cdef PyObject* inputs[1]
    cdef void* p[MAX_OPERANDS]
    cdef int code = code_of(a)
    cdef Loop loop = table[op * NCODES + code]
    cdef Py_ssize_t n = cnp.PyArray_SIZE(a)
    if loop != NULL and out is None and cnp.PyArray_IS_C_CONTIGUOUS(a) and n * costs[op] < RELEASE_GIL:
        out = new_array(cnp.PyArray_NDIM(a), <const Py_ssize_t*>cnp.PyArray_DIMS(a), dtype_of(result_codes[op * NCODES + code]))
        p[0] = cnp.PyArray_DATA(out)
        p[1] = cnp.PyArray_DATA(a)
        loop(op, p, n)
        return out
    inputs[0] = <PyObject*>a
    return elementwise(op, code, 1, inputs, out)


cdef cnp.ndarray binary(int op, cnp.ndarray a, cnp.ndarray b, cnp.ndarray out):
    cdef PyObject* inputs[2]
    cdef void* p[MAX_OPERANDS]
    cdef int code = code_of(a)
    cdef Loop loop = table[op * NCODES + code]
    cdef Py_ssize_t n = cnp.PyArray_SIZE(a)
    if (loop != NULL and out is None and same_layout(a, b) and cnp.PyArray_TYPE(a) == cnp.PyArray_TYPE(b)
            and n * costs[op] < RELEASE_GIL):
        out = new_array(cnp.PyArray_NDIM(a), <const Py_ssize_t*>cnp.PyArray_DIMS(a), dtype_of(result_codes[op * NCODES + code]))
        p[0] = cnp.PyArray_DATA(out)
        p[1] = cnp.PyArray_DATA(a)
        p[2] = cnp.PyArray_DATA(b)
        loop(op, p, n)
        return out
    if loop != NULL and out is None and cnp.PyArray_TYPE(a) == cnp.PyArray_TYPE(b):
        if repeats_one_number(b, a):
            return with_number(op, code, a, b, False)
        if repeats_one_number(a, b):
            return with_number(op, code, b, a, True)
    inputs[0] = <PyObject*>a
    inputs[1] = <PyObject*>b
    return elementwise(op, code, 2, inputs, out)


cdef inline bint repeats_one_number(cnp.ndarray b, cnp.ndarray a) noexcept:
    """Whether b is one number next to a, a contiguous array of at most a block: 0-dim, or expanded to a's shape."""
    cdef int d, ndim = cnp.PyArray_NDIM(b)
    if not cnp.PyArray_IS_C_CONTIGUOUS(a) or not 0 < cnp.PyArray_SIZE(a) <= BLOCK or (ndim and not has_shape(b, cnp.PyArray_NDIM(a), <const Py_ssize_t*>cnp.PyArray_DIMS(a))):
        return False
    for d in range(ndim):
        if cnp.PyArray_STRIDE(b, d) and cnp.PyArray_DIM(b, d) > 1:
            return False
    return True


cdef cnp.ndarray with_number(int op, int code, cnp.ndarray a, cnp.ndarray number, bint number_first):
    """A contiguous array of at most a block, and one number of its dtype."""
    cdef double repeated[2 * BLOCK]
    cdef void* p[MAX_OPERANDS]
    cdef Py_ssize_t n = cnp.PyArray_SIZE(a), itemsize = cnp.PyArray_ITEMSIZE(a)
    cdef cnp.ndarray out = new_array(cnp.PyArray_NDIM(a), <const Py_ssize_t*>cnp.PyArray_DIMS(a), dtype_of(result_codes[op * NCODES + code]))
    copy_strided(<char*>repeated, itemsize, <char*>cnp.PyArray_DATA(number), 0, n, itemsize)
    p[0] = cnp.PyArray_DATA(out)
    p[1 + number_first] = cnp.PyArray_DATA(a)
    p[2 - number_first] = <void*>repeated
    table[op * NCODES + code](op, p, n)
    return out


cdef cnp.ndarray ternary(int op, cnp.ndarray a, cnp.ndarray b, cnp.ndarray c, cnp.ndarray out):
    cdef PyObject* inputs[3]
    inputs[0] = <PyObject*>a
    inputs[1] = <PyObject*>b
    inputs[2] = <PyObject*>c
    return elementwise(op, code_of(b if op == WHERE else a), 3, inputs, out)


cdef cnp.ndarray quaternary(int op, cnp.ndarray a, cnp.ndarray b, cnp.ndarray c, cnp.ndarray d, cnp.ndarray out):
    cdef PyObject* inputs[4]
    inputs[0] = <PyObject*>a
    inputs[1] = <PyObject*>b
    inputs[2] = <PyObject*>c
    inputs[3] = <PyObject*>d
    return elementwise(op, code_of(a), 4, inputs, out)


cdef int convert_into(cnp.ndarray dst, cnp.ndarray src) except -1:
    """Write `src`, broadcast and converted, into `dst`, which it does not overlap; between complex and real only to bool."""
    cdef Plan plan
    cdef int to = code_of(dst), source = code_of(src), d
    cdef Loop load_loop = NULL
    cdef Loop store_loop = NULL
    plan.ndim = cnp.PyArray_NDIM(dst)
    for d in range(plan.ndim):
        plan.shape[d] = cnp.PyArray_DIM(dst, d)
    plan.operands = 0
    if to == source:
        plan.op = COPY
        plan.loop = table[COPY * NCODES + to]
    else:
        if is_half_code(source) and to != F32:
            load_loop = table[CAST * NCODES + F32]
        if is_half_code(to) and source != F32:
            store_loop = table[CAST * NCODES + to]
        plan.op = F32 if load_loop != NULL else source
        plan.loop = table[CAST * NCODES + (F32 if store_loop != NULL else to)]
    if plan.loop == NULL:
        raise no_loop(CAST, source)
    add_operand(&plan, dst, store_loop, F32)
    add_operand(&plan, src, load_loop, source)
    run(&plan, 1)
    return 0
