"""How a loop goes through its operands: dimensions ordered and merged, tiles, blocks, conversions, threads.

A loop takes contiguous operands of its own type. A plan's dimensions are ordered as the result lies in memory, those that
every operand steps through evenly are merged, and the loop is handed either the operands themselves or, in blocks that stay
in the first-level cache, copies of those that are strided, broadcast or of half precision (which are computed as float and
rounded once).
"""
cimport numpy as cnp
from cython.parallel cimport prange
from libc.string cimport memcpy

from pyx_tensor_cpu.ops cimport COPY, Loop
from pyx_tensor_cpu.parallel cimport threads_for

cnp.import_array()

cdef enum:
    SHORT_ROW = 64                  # shorter rows are gathered several to a block
    REPEATED = 256                  # elements of a block where an operand repeats one number along the row
    TILE = 64                       # columns of a tile, which is a block
    FEW = 8                         # elements that an operand runs along a dimension below which tiles don't pay
    STREAMED = 1 << 23              # bytes of a result in tiles that no cache need hold: each tile writes far apart

cdef extern from "turn.h" nogil:
    void turn_words(char* dst, Py_ssize_t dst_step, const char* src, Py_ssize_t src_step, Py_ssize_t rows, Py_ssize_t columns, Py_ssize_t itemsize)
    void fetch(const char* data, Py_ssize_t size)
    void stream(char* dst, const char* src, Py_ssize_t size)
    void stream_end()


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
    elif dst_step == size and src_step == 2 * size:     # a step that the compiler knows it can shuffle
        for i in range(n): (<word*>dst)[i] = (<const word*>src)[2 * i]
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
        if at[d] == plan.shape[d]:          # most rows end so, which needs no division
            at[d - 1] += 1
            at[d] = 0
        else:
            at[d - 1] += at[d] // plan.shape[d]
            at[d] %= plan.shape[d]
        d -= 1


cdef inline Py_ssize_t offset_of(const Plan* plan, const Operand* operand, const Py_ssize_t* at) noexcept nogil:
    cdef Py_ssize_t offset = 0
    cdef int d
    for d in range(plan.ndim):
        offset += at[d] * operand.strides[d]
    return offset


cdef inline void move_row(const Plan* plan, const Operand* operand, char* data, Py_ssize_t n, char* buffer, bint store) noexcept nogil:
    """Copy `n` elements of a row between an operand's memory and a contiguous buffer."""
    cdef int last = plan.ndim - 1
    cdef Py_ssize_t step = operand.strides[last], itemsize = operand.itemsize
    if store and plan.streams and step == itemsize:
        stream(data, buffer, n * itemsize)
    elif store:
        copy_strided(data, step, buffer, itemsize, n, itemsize)
    else:
        if plan.tiled and step == itemsize:
            fetch(data + BLOCK // plan.shape[last] * operand.strides[last - 1], n * itemsize)
        copy_strided(buffer, itemsize, data, step, n, itemsize)


cdef void move_block(const Plan* plan, const Operand* operand, const Py_ssize_t* start, Py_ssize_t count, char* buffer, bint store) noexcept nogil:
    """Copy `count` elements from `start` on between an operand's memory and a contiguous buffer."""
    cdef Py_ssize_t at[MAX_DIMS]
    cdef int last = plan.ndim - 1
    cdef Py_ssize_t n, rows, r, itemsize = operand.itemsize, row = plan.shape[last], down = operand.strides[last - 1] if last else 0
    cdef char* data
    cdef bint across = plan.tiled and not store and down == itemsize, together = last > 0 and (across or row < REPEATED)
    memcpy(at, start, plan.ndim * sizeof(Py_ssize_t))
    while count:
        n, rows = min(count, row - at[last]), 1
        data = operand.data + offset_of(plan, operand, at)
        if together and at[last] == 0 and count >= row:         # whole rows, up to the end of their plane
            rows = min(count // row, plan.shape[last - 1] - at[last - 1])
            if across:
                turn_words(buffer, row * itemsize, data, operand.strides[last], rows, row, itemsize)
        if not across or n < row:
            for r in range(rows):
                move_row(plan, operand, data + r * down, n, buffer + r * n * itemsize, store)
        n *= rows
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


cdef inline bint stands(const Plan* plan, const Operand* operand, const Py_ssize_t* at, bint by_rows) noexcept nogil:
    """Whether the block before this has left what it reads: one number for all elements, or for the row that goes on."""
    return operand.constant or (by_rows and operand.strides[plan.ndim - 1] == 0 and at[plan.ndim - 1] > 0)


cdef bint has_gaps(const Plan* plan) noexcept nogil:
    """Whether an operand is neither dense nor one number for each row: a block of several rows of it would be copied."""
    cdef int k
    for k in range(plan.operands):
        if not plan.operand[k].dense and plan.operand[k].strides[plan.ndim - 1] != 0:
            return True
    return False


cdef void execute_blocks(const Plan* plan, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    cdef double buffers[MAX_OPERANDS][2 * BLOCK]
    cdef double raw[2 * BLOCK]
    cdef void* p[MAX_OPERANDS]
    cdef Py_ssize_t at[MAX_DIMS]
    cdef int last = plan.ndim - 1, d, k
    cdef Py_ssize_t position = start, count, row = plan.shape[last], rest = start, most = BLOCK
    cdef bint by_rows = not plan.tiled and (row >= REPEATED or row >= SHORT_ROW and has_gaps(plan))
    cdef const Operand* result = &plan.operand[0]
    for d in range(last, -1, -1):
        at[d] = rest % plan.shape[d]
        rest //= plan.shape[d]
    for k in range(1, plan.operands):
        if plan.operand[k].constant:        # its buffer is filled once
            p[k] = load(plan, &plan.operand[k], at, position, min(<Py_ssize_t>BLOCK, stop - start), <char*>buffers[k], <char*>raw)
        elif by_rows and plan.operand[k].strides[last] == 0:
            most = REPEATED                 # its buffer is filled once a row, which is worth more the shorter it is
    while position < stop:
        count = min(most, stop - position)
        if by_rows:
            count = min(count, row - at[last])
        p[0] = NULL if result.convert != NULL else contiguous(plan, result, at, position, count)
        if plan.op == COPY and p[0] != NULL and plan.operand[1].convert == NULL and not plan.operand[1].constant:
            move_block(plan, &plan.operand[1], at, count, <char*>p[0], False)
        else:
            for k in range(1, plan.operands):
                if position == start and not plan.operand[k].constant or not stands(plan, &plan.operand[k], at, by_rows):
                    p[k] = load(plan, &plan.operand[k], at, position, count, <char*>buffers[k], <char*>raw)
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
    if last == 0 or plan.shape[last - 1] < FEW:
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
