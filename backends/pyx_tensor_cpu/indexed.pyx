"""One loop nest serves every operation that reads or writes an array at indexed places.

Three operands walk together: `array` (read or written at places told by the index), `index` (int64, checked beforehand, or
on the way where what was written by then doesn't matter) and `dense` (the result of a read, or the values of a write). A
dimension along which the index does not move is a plain copy, and whole contiguous runs go by memcpy; so gather,
index_select, embedding and advanced indexing are the same nest with other steps. Writes happen in the order of the index, so the last of several writes to
one place wins, whatever the number of threads: only dimensions that cannot meet in one element are split.
"""
from cython.parallel cimport prange
from libc.stdint cimport int8_t, int16_t, int32_t
from libc.string cimport memcpy

from pyx_tensor_cpu.dtypes cimport (
    BOOL, C64, C128, F32, F64, I8, I16, I32, I64, NCODES, U8, U16, U32, U64, code_of)
from pyx_tensor_cpu.parallel cimport threads_for

cnp.import_array()

ctypedef fused Number:
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    int8_t
    int16_t
    int32_t
    int64_t
    float
    double
    float complex
    double complex

ctypedef void (*BlockKernel)(void *unused, char *array, const char *index, char *dense, const IndexLoop *loop) noexcept nogil

cdef enum:
    PIECE = 4096  # indices that are still in the first-level cache when their check is done
    SHORT_RUN = 16  # elements below which a loop is quicker than a call of memcpy


cdef void loop_init(IndexLoop *loop, Py_ssize_t scale, Operation operation) noexcept nogil:
    loop.ndim = 0
    loop.scale = scale
    loop.operation = operation
    loop.checked = False


cdef void loop_check(IndexLoop *loop, Py_ssize_t size) noexcept nogil:
    """Have loop_run look for indices outside 0 … size - 1."""
    loop.checked = True
    loop.last = size - 1


cdef int loop_add(IndexLoop *loop, Py_ssize_t size, Py_ssize_t array_step, Py_ssize_t index_step, Py_ssize_t dense_step,
                  bint independent) except -1 nogil:
    """Append an inner dimension, merged with the one before where the steps of all operands allow it."""
    cdef int last = loop.ndim - 1
    if size == 1:
        return 0
    if (last >= 0 and loop.array_step[last] == array_step * size and loop.index_step[last] == index_step * size
            and loop.dense_step[last] == dense_step * size):
        loop.shape[last] *= size
        independent = independent and loop.independent[last]
    else:
        last += 1
        if last == MAX_DIMS:
            raise ValueError(f"indexing supports at most {MAX_DIMS} dimensions")
        loop.ndim += 1
        loop.shape[last] = size
    loop.array_step[last] = array_step
    loop.index_step[last] = index_step
    loop.dense_step[last] = dense_step
    loop.independent[last] = independent
    return 0


cdef inline void get_run(Item *unused, const char *source, char *dense, Py_ssize_t count, Py_ssize_t source_step,
                         Py_ssize_t dense_step) noexcept nogil:
    cdef Py_ssize_t j
    if source_step == sizeof(Item) and dense_step == sizeof(Item):
        if count >= SHORT_RUN:
            memcpy(dense, source, count * sizeof(Item))
        else:
            for j in range(count):
                (<Item *>dense)[j] = (<const Item *>source)[j]
    else:
        for j in range(count):
            (<Item *>(dense + j * dense_step))[0] = (<const Item *>(source + j * source_step))[0]


cdef void move_block(Item *unused, char *array, const char *index, char *dense, const IndexLoop *loop) noexcept nogil:
    """GET or PUT over the two innermost dimensions."""
    cdef int outer = loop.ndim - 2, inner = loop.ndim - 1
    cdef Py_ssize_t i, j, count = loop.shape[inner], scale = loop.scale
    cdef Py_ssize_t array_step = loop.array_step[inner], index_step = loop.index_step[inner], dense_step = loop.dense_step[inner]
    cdef bint packed = index_step == sizeof(int64_t) and dense_step == sizeof(Item) and array_step == 0
    cdef bint get = loop.operation == GET
    cdef const int64_t *at
    cdef char *place
    for i in range(loop.shape[outer]):
        at = <const int64_t *>index
        if index_step == 0:
            place = array + at[0] * scale
            if get:
                get_run(<Item *>NULL, place, dense, count, array_step, dense_step)
            else:
                get_run(<Item *>NULL, dense, place, count, dense_step, array_step)
        elif packed and get and scale == sizeof(Item):
            for j in range(count):
                (<Item *>dense)[j] = (<Item *>array)[at[j]]
        elif packed and get:
            for j in range(count):
                (<Item *>dense)[j] = (<Item *>(array + at[j] * scale))[0]
        elif packed:
            for j in range(count):
                (<Item *>(array + at[j] * scale))[0] = (<Item *>dense)[j]
        elif get:
            for j in range(count):
                at = <const int64_t *>(index + j * index_step)
                (<Item *>(dense + j * dense_step))[0] = (<Item *>(array + j * array_step + at[0] * scale))[0]
        else:
            for j in range(count):
                at = <const int64_t *>(index + j * index_step)
                (<Item *>(array + j * array_step + at[0] * scale))[0] = (<Item *>(dense + j * dense_step))[0]
        array += loop.array_step[outer]
        index += loop.index_step[outer]
        dense += loop.dense_step[outer]


cdef inline void combine(Number *place, Number value, Operation operation) noexcept nogil:
    if operation == ADD:
        place[0] += value
    elif operation == MULTIPLY:
        place[0] *= value
    elif Number is not floatcomplex and Number is not doublecomplex:
        # `value != value` lets NaN through; a NaN that is already there loses every comparison
        if operation == MAXIMUM:
            if value > place[0] or value != value:
                place[0] = value
        elif value < place[0] or value != value:
            place[0] = value


cdef inline void combine_rows(Number *unused, char *array, const char *index, char *dense, const IndexLoop *loop,
                              Operation operation) noexcept nogil:
    cdef int outer = loop.ndim - 2, inner = loop.ndim - 1
    cdef Py_ssize_t i, j, count = loop.shape[inner], scale = loop.scale
    cdef Py_ssize_t array_step = loop.array_step[inner], index_step = loop.index_step[inner], dense_step = loop.dense_step[inner]
    cdef bint whole_runs = index_step == 0 and dense_step == sizeof(Number) and array_step == sizeof(Number)
    cdef bint packed = index_step == sizeof(int64_t) and dense_step == sizeof(Number) and array_step == 0
    cdef Number *row
    cdef const Number *values
    cdef const int64_t *at
    for i in range(loop.shape[outer]):
        values = <const Number *>dense
        at = <const int64_t *>index
        if whole_runs:
            row = <Number *>(array + at[0] * scale)
            for j in range(count):
                combine(row + j, values[j], operation)
        elif packed:
            for j in range(count):
                combine(<Number *>(array + at[j] * scale), values[j], operation)
        else:
            for j in range(count):
                combine(<Number *>(array + j * array_step + (<const int64_t *>(index + j * index_step))[0] * scale),
                        (<const Number *>(dense + j * dense_step))[0], operation)
        array += loop.array_step[outer]
        index += loop.index_step[outer]
        dense += loop.dense_step[outer]


cdef void combine_block(Number *unused, char *array, const char *index, char *dense, const IndexLoop *loop) noexcept nogil:
    """An arithmetic operation over the two innermost dimensions, compiled once for each operation."""
    if loop.operation == ADD:
        combine_rows(<Number *>NULL, array, index, dense, loop, ADD)
    elif loop.operation == MULTIPLY:
        combine_rows(<Number *>NULL, array, index, dense, loop, MULTIPLY)
    elif loop.operation == MAXIMUM:
        combine_rows(<Number *>NULL, array, index, dense, loop, MAXIMUM)
    else:
        combine_rows(<Number *>NULL, array, index, dense, loop, MINIMUM)


cdef BlockKernel move_kernel(int itemsize) noexcept:
    if itemsize == 1:
        return <BlockKernel>move_block[uint8_t]
    if itemsize == 2:
        return <BlockKernel>move_block[uint16_t]
    if itemsize == 4:
        return <BlockKernel>move_block[uint32_t]
    if itemsize == 8:
        return <BlockKernel>move_block[uint64_t]
    return <BlockKernel>move_block[Bytes16]


cdef BlockKernel combine_kernels[NCODES]
combine_kernels[<int>BOOL] = <BlockKernel>combine_block[uint8_t]
combine_kernels[<int>U8] = <BlockKernel>combine_block[uint8_t]
combine_kernels[<int>U16] = <BlockKernel>combine_block[uint16_t]
combine_kernels[<int>U32] = <BlockKernel>combine_block[uint32_t]
combine_kernels[<int>U64] = <BlockKernel>combine_block[uint64_t]
combine_kernels[<int>I8] = <BlockKernel>combine_block[int8_t]
combine_kernels[<int>I16] = <BlockKernel>combine_block[int16_t]
combine_kernels[<int>I32] = <BlockKernel>combine_block[int32_t]
combine_kernels[<int>I64] = <BlockKernel>combine_block[int64_t]
combine_kernels[<int>F32] = <BlockKernel>combine_block[float]
combine_kernels[<int>F64] = <BlockKernel>combine_block[double]
combine_kernels[<int>C64] = <BlockKernel>combine_block[floatcomplex]
combine_kernels[<int>C128] = <BlockKernel>combine_block[doublecomplex]


cdef BlockKernel choose_kernel(cnp.ndarray array, IndexLoop *loop) except NULL:
    cdef int code = code_of(array)
    if loop.operation == GET or loop.operation == PUT:
        return move_kernel(<int>cnp.PyArray_ITEMSIZE(array))
    if combine_kernels[code] == NULL:
        raise TypeError(f"indexed accumulation is not implemented for {array.dtype}")
    if loop.operation >= MAXIMUM and cnp.PyArray_ISCOMPLEX(array):
        raise TypeError(f"amax and amin are not implemented for {array.dtype}")
    if code == BOOL:  # or and and
        if loop.operation == ADD:
            loop.operation = MAXIMUM
        elif loop.operation == MULTIPLY:
            loop.operation = MINIMUM
    return combine_kernels[code]


cdef bint piece_within(const char *index, const IndexLoop *piece) noexcept nogil:
    """Whether all indices of the two innermost dimensions are in range."""
    cdef int outer = piece.ndim - 2, inner = piece.ndim - 1
    cdef Py_ssize_t rows = piece.shape[outer] if piece.index_step[outer] else 1, count = piece.shape[inner] if piece.index_step[inner] else 1, i, j
    cdef int64_t bits = 0, at
    for i in range(rows):
        if piece.index_step[inner] == sizeof(int64_t) or count == 1:
            bits |= outside_bits(<const int64_t *>index, 0, count, piece.last)
        else:
            for j in range(count):
                at = (<const int64_t *>(index + j * piece.index_step[inner]))[0]
                bits |= at | (piece.last - at)
        index += piece.index_step[outer]
    return bits >= 0


cdef bint run_pieces(BlockKernel kernel, char *array, const char *index, char *dense, const IndexLoop *loop, IndexLoop *piece) noexcept nogil:
    """The kernel over the two innermost dimensions, a piece at a time behind its check; False where that fails."""
    cdef int outer = loop.ndim - 2, inner = loop.ndim - 1
    cdef Py_ssize_t width = min(loop.shape[inner], <Py_ssize_t>PIECE), height = PIECE // width, i = 0, j, array_at, index_at, dense_at
    while i < loop.shape[outer]:
        piece.shape[outer] = min(height, loop.shape[outer] - i)
        j = 0
        while j < loop.shape[inner]:
            piece.shape[inner] = min(width, loop.shape[inner] - j)
            array_at = i * loop.array_step[outer] + j * loop.array_step[inner]
            index_at = i * loop.index_step[outer] + j * loop.index_step[inner]
            dense_at = i * loop.dense_step[outer] + j * loop.dense_step[inner]
            if not piece_within(index + index_at, piece):
                return False
            kernel(NULL, array + array_at, index + index_at, dense + dense_at, piece)
            j += width
        i += height
    return True


cdef bint run_serial(BlockKernel kernel, char *array, const char *index, char *dense, const IndexLoop *loop) noexcept nogil:
    """Walk the outer dimensions like an odometer; the kernel takes the two innermost ones. False where a check failed."""
    cdef IndexLoop piece = loop[0]
    cdef Py_ssize_t position[MAX_DIMS]
    cdef int d, outer = loop.ndim - 2
    for d in range(outer):
        position[d] = 0
    while True:
        if not loop.checked:
            kernel(NULL, array, index, dense, loop)
        elif not run_pieces(kernel, array, index, dense, loop, &piece):
            return False
        d = outer - 1
        while d >= 0:
            position[d] += 1
            array += loop.array_step[d]
            index += loop.index_step[d]
            dense += loop.dense_step[d]
            if position[d] < loop.shape[d]:
                break
            array -= loop.array_step[d] * loop.shape[d]
            index -= loop.index_step[d] * loop.shape[d]
            dense -= loop.dense_step[d] * loop.shape[d]
            position[d] = 0
            d -= 1
        if d < 0:
            return True


cdef bint run_part(BlockKernel kernel, char *array, const char *index, char *dense, const IndexLoop *loop, int split,
                   Py_ssize_t part, Py_ssize_t parts) noexcept nogil:
    cdef IndexLoop own = loop[0]
    cdef Py_ssize_t start = loop.shape[split] * part // parts, stop = loop.shape[split] * (part + 1) // parts
    if start == stop:
        return True
    own.shape[split] = stop - start
    return run_serial(kernel, array + start * loop.array_step[split], index + start * loop.index_step[split],
                      dense + start * loop.dense_step[split], &own)


cdef int split_dimension(const IndexLoop *loop) noexcept nogil:
    """The outermost large dimension whose parts can be handled at once, or -1."""
    cdef int d, best = -1
    for d in range(loop.ndim):
        if loop.operation != GET and (not loop.independent[d] or loop.array_step[d] == 0):
            continue
        if loop.shape[d] > 1 and (best < 0 or loop.shape[d] >= 8 * loop.shape[best]):
            best = d
    return best


cdef bint loop_run(IndexLoop *loop, cnp.ndarray array, cnp.ndarray index, cnp.ndarray dense) except? False:
    """False where a check that loop_check asks for has failed; some elements may have been written by then."""
    cdef BlockKernel kernel = choose_kernel(array, loop)
    cdef char *array_data = cnp.PyArray_BYTES(array)
    cdef char *index_data = cnp.PyArray_BYTES(index)
    cdef char *dense_data = cnp.PyArray_BYTES(dense)
    cdef Py_ssize_t total = 1, part
    cdef int d, split, threads
    cdef bint failed = False
    while loop.ndim < 2:  # the kernels take two dimensions
        for d in range(loop.ndim, 0, -1):
            loop.shape[d] = loop.shape[d - 1]
            loop.array_step[d] = loop.array_step[d - 1]
            loop.index_step[d] = loop.index_step[d - 1]
            loop.dense_step[d] = loop.dense_step[d - 1]
            loop.independent[d] = loop.independent[d - 1]
        loop.shape[0] = 1
        loop.array_step[0] = loop.index_step[0] = loop.dense_step[0] = 0
        loop.independent[0] = False
        loop.ndim += 1
    for d in range(loop.ndim):
        total *= loop.shape[d]
    if total == 0:
        return True
    split = split_dimension(loop)
    threads = threads_for(total) if split >= 0 else 1
    if threads <= 1:
        return run_serial(kernel, array_data, index_data, dense_data, loop)
    with nogil:
        for part in prange(threads, num_threads=threads, schedule='static'):
            failed |= not run_part(kernel, array_data, index_data, dense_data, loop, split, part, threads)
    return not failed


cdef int64_t outside_bits(const int64_t *index, Py_ssize_t start, Py_ssize_t stop, int64_t last) noexcept nogil:
    """Negative if an index is negative or larger than `last`."""
    cdef int64_t bits = 0
    cdef Py_ssize_t i
    for i in range(start, stop):
        bits |= index[i] | (last - index[i])
    return bits


cdef bint all_within(const int64_t *index, Py_ssize_t count, int64_t size) noexcept nogil:
    """Whether 0 <= index < size everywhere."""
    cdef int threads = threads_for(count)
    cdef int64_t bits = 0
    cdef Py_ssize_t part
    if threads == 1:
        return outside_bits(index, 0, count, size - 1) >= 0
    for part in prange(threads, num_threads=threads, schedule='static'):
        bits |= outside_bits(index, count * part // threads, count * (part + 1) // threads, size - 1)
    return bits >= 0


cdef void index_range(const int64_t *index, Py_ssize_t count, int64_t *lowest, int64_t *highest) noexcept nogil:
    """The smallest and largest of `count` > 0 indices."""
    cdef int64_t low = index[0], high = index[0]
    cdef Py_ssize_t i
    for i in range(1, count):
        low = index[i] if index[i] < low else low
        high = index[i] if index[i] > high else high
    lowest[0] = low
    highest[0] = high


cdef void add_offsets(const int64_t *index, Py_ssize_t count, int64_t size, int64_t stride, int64_t *offsets) noexcept nogil:
    """offsets += stride * index, where negative indices count from the end."""
    cdef Py_ssize_t i
    for i in prange(count, num_threads=threads_for(count), schedule='static'):
        offsets[i] += (index[i] + (size if index[i] < 0 else 0)) * stride
