"""Scaled dot-product attention with its gradient, by tiles of queries whose weights stay in the cache."""
cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from cython.parallel cimport prange
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import numpy as np

from pyx_tensor_cpu cimport openblas
from pyx_tensor_cpu.attention_table cimport AttentionKernels, AttentionTable, Scores
from pyx_tensor_cpu.product cimport Matrix, is_blas_layout, multiply
from pyx_tensor_cpu.dtypes cimport F32, F64, code_of, is_half
from pyx_tensor_cpu.iterate cimport as_type, contiguous, widened
from pyx_tensor_cpu.memory cimport new_array
from pyx_tensor_cpu.parallel cimport threads_for

from pyx_tensor_cpu.level import use_kernels

cnp.import_array()

cdef enum:
    TILE = 64               # queries whose weights are worked on at once
    MAX_DIMS = 64
    SMALLEST_PRODUCT = 32 * 32 * 32     # multiplications that repay a call of OpenBLAS

cdef AttentionTable* table = NULL


def bind(module):
    global table
    table = <AttentionTable*>PyCapsule_GetPointer(module.table, NULL)


use_kernels("attention", bind)


# ---- operands: batches of matrices ------------------------------------------------------------------------------------------

cdef struct Operand:
    Matrix matrix                       # of the first batch
    Py_ssize_t steps[MAX_DIMS]          # bytes from batch to batch

cdef struct Problem:
    AttentionKernels* kernels
    int code, batch_dims
    Py_ssize_t item, batches, queries, keys
    Py_ssize_t shape[MAX_DIMS]
    Operand query, key, value, mask, output, g, to_query, to_key, to_value
    char* total
    bint masked, causal, use_blas
    double scale


cdef cnp.ndarray fill_operand(Operand* o, cnp.ndarray a, bint for_blas):
    """Describe the array, or a dense copy that products can take; returns what is described."""
    cdef int i, nd = cnp.PyArray_NDIM(a)
    cdef Py_ssize_t item = cnp.PyArray_ITEMSIZE(a)
    cdef bint copied = False
    for i in range(nd):
        if cnp.PyArray_STRIDE(a, i) % item:
            copied = True
    if copied:
        a = cnp.PyArray_NewCopy(a, cnp.NPY_CORDER)
    o.matrix.data = cnp.PyArray_BYTES(a)
    o.matrix.rows, o.matrix.columns = cnp.PyArray_DIM(a, nd - 2), cnp.PyArray_DIM(a, nd - 1)
    o.matrix.row, o.matrix.column = cnp.PyArray_STRIDE(a, nd - 2) // item, cnp.PyArray_STRIDE(a, nd - 1) // item
    if for_blas and not is_blas_layout(&o.matrix) and not copied:
        return fill_operand(o, cnp.PyArray_NewCopy(a, cnp.NPY_CORDER), False)
    for i in range(nd - 2):
        o.steps[i] = cnp.PyArray_STRIDE(a, i)
    return a


cdef inline Matrix batch_of(const Operand* o, const Problem* p, Py_ssize_t index) noexcept nogil:
    cdef Matrix m = o.matrix
    cdef int i
    for i in range(p.batch_dims - 1, -1, -1):
        m.data += index % p.shape[i] * o.steps[i]
        index //= p.shape[i]
    return m


cdef inline Matrix rows_of(const Matrix* m, Py_ssize_t first, Py_ssize_t rows, Py_ssize_t item) noexcept nogil:
    cdef Matrix part = m[0]
    part.data += first * m.row * item
    part.rows = rows
    return part


cdef inline Matrix first_rows(const Matrix* m, Py_ssize_t rows) noexcept nogil:
    cdef Matrix part = m[0]
    part.rows = rows
    return part


cdef inline Matrix transposed(const Matrix* m) noexcept nogil:
    cdef Matrix t
    t.data, t.rows, t.columns, t.row, t.column = m.data, m.columns, m.rows, m.column, m.row
    return t


cdef inline Matrix dense(char* data, Py_ssize_t rows, Py_ssize_t columns) noexcept nogil:
    cdef Matrix m
    m.data, m.rows, m.columns, m.row, m.column = data, rows, columns, columns, 1
    return m


cdef inline void product(const Problem* p, const Matrix* a, const Matrix* b, const Matrix* c, bint accumulate) noexcept nogil:
    """c = a b, or c += a b, for dense rows of c."""
    multiply(p.code, a, b, c.data, c.row, accumulate, p.use_blas and a.rows * a.columns * b.columns >= SMALLEST_PRODUCT)


cdef bint lead_alike(cnp.ndarray a, cnp.ndarray b, int dims) noexcept:
    """Whether both have the same first dims, and as many in all."""
    cdef int i
    if cnp.PyArray_NDIM(a) != cnp.PyArray_NDIM(b):
        return False
    for i in range(dims):
        if cnp.PyArray_DIM(a, i) != cnp.PyArray_DIM(b, i):
            return False
    return True


cdef bint is_rows(cnp.ndarray a, cnp.ndarray query, Py_ssize_t columns) noexcept:
    """Whether an array has a row of `columns` for each query."""
    cdef int nd = cnp.PyArray_NDIM(query)
    return code_of(a) == code_of(query) and lead_alike(a, query, nd - 1) and cnp.PyArray_DIM(a, nd - 1) == columns


cdef int describe(Problem* p, str name, list held, cnp.ndarray query, cnp.ndarray key, cnp.ndarray value, mask, double scale, bint causal) except -1:
    cdef int i, nd = cnp.PyArray_NDIM(query)
    p.code = code_of(query)
    if p.code != F32 and p.code != F64:
        raise TypeError(f"{name}(): no kernel for dtype {query.dtype}")
    if nd < 2 or not lead_alike(query, key, nd - 2) or not lead_alike(key, value, nd - 1) or code_of(key) != p.code or code_of(value) != p.code \
            or cnp.PyArray_DIM(key, nd - 1) != cnp.PyArray_DIM(query, nd - 1):
        raise ValueError(f"{name}(): query {np.shape(query)}, key {np.shape(key)} and value {np.shape(value)} don't fit")
    p.kernels = &table.single if p.code == F32 else &table.double_
    p.item, p.batch_dims, p.batches = cnp.PyArray_ITEMSIZE(query), nd - 2, 1
    for i in range(nd - 2):
        p.shape[i] = cnp.PyArray_DIM(query, i)
        p.batches *= p.shape[i]
    p.use_blas = openblas.load()
    held.append(fill_operand(&p.query, query, p.use_blas))
    held.append(fill_operand(&p.key, key, p.use_blas))
    held.append(fill_operand(&p.value, value, p.use_blas))
    p.queries, p.keys = p.query.matrix.rows, p.key.matrix.rows
    p.scale, p.causal, p.masked = scale, causal, mask is not None
    if mask is not None:
        if not is_rows(mask, query, p.keys):
            raise ValueError(f"{name}(): a mask of shape {np.shape(mask)} doesn't fit query {np.shape(query)} and key {np.shape(key)}")
        held.append(fill_operand(&p.mask, mask, False))
        if p.mask.matrix.column != 1 and p.keys > 1:
            held.append(fill_operand(&p.mask, contiguous(mask), False))
    return 0


cdef cnp.ndarray new_output(Py_ssize_t columns, cnp.ndarray like, Operand* o):
    """An array (*, rows of like, columns), with heads (the dim before) inside of rows, as the layers around attention have them."""
    cdef int nd = cnp.PyArray_NDIM(like), i
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef cnp.ndarray a
    for i in range(nd):
        shape[i] = cnp.PyArray_DIM(like, i)
    shape[nd - 1] = columns
    if nd > 2:
        shape[nd - 3], shape[nd - 2] = shape[nd - 2], shape[nd - 3]
    a = new_array(nd, shape, <cnp.dtype>cnp.PyArray_DESCR(like))
    if nd > 2:
        a = cnp.PyArray_SwapAxes(a, nd - 3, nd - 2)
    fill_operand(o, a, False)
    return a


# ---- one batch --------------------------------------------------------------------------------------------------------------

cdef inline Scores scores_of(const Problem* p, char* values, Py_ssize_t batch, Py_ssize_t first, Py_ssize_t rows, Py_ssize_t columns) noexcept nogil:
    cdef Scores s
    cdef Matrix mask
    s.values, s.rows, s.columns, s.seen, s.causal, s.scale = values, rows, columns, first + 1, p.causal, p.scale
    s.total = p.total + 2 * (batch * p.queries + first) * p.item
    s.mask = NULL
    s.mask_step = 0
    if p.masked:
        mask = batch_of(&p.mask, p, batch)
        s.mask, s.mask_step = mask.data + first * mask.row * p.item, mask.row * p.item
    return s


cdef inline Py_ssize_t columns_seen(const Problem* p, Py_ssize_t first, Py_ssize_t rows) noexcept nogil:
    return min(p.keys, first + rows) if p.causal else p.keys


cdef void attend(const Problem* p, Py_ssize_t tile, char* scratch) noexcept nogil:
    """A tile of queries of one batch."""
    cdef Py_ssize_t tiles = (p.queries + TILE - 1) // TILE, batch = tile // tiles, first = tile % tiles * TILE
    cdef Py_ssize_t rows = min(<Py_ssize_t>TILE, p.queries - first), columns = columns_seen(p, first, rows)
    cdef Matrix query = batch_of(&p.query, p, batch), key = batch_of(&p.key, p, batch), value = batch_of(&p.value, p, batch)
    cdef Matrix output = batch_of(&p.output, p, batch), weights = dense(scratch, rows, columns)
    cdef Scores scores = scores_of(p, scratch, batch, first, rows, columns)
    query, output = rows_of(&query, first, rows, p.item), rows_of(&output, first, rows, p.item)
    key, value = first_rows(&key, columns), first_rows(&value, columns)
    key = transposed(&key)
    product(p, &query, &key, &weights, False)
    p.kernels.weigh(&scores)
    product(p, &weights, &value, &output, False)


cdef void attend_backward(const Problem* p, Py_ssize_t batch, char* scratch) noexcept nogil:
    """All tiles of one batch, which add to the gradients of its keys and values."""
    cdef char* more = scratch + TILE * p.keys * p.item
    cdef Py_ssize_t first = 0, rows, columns
    cdef Matrix query = batch_of(&p.query, p, batch), key = batch_of(&p.key, p, batch), value = batch_of(&p.value, p, batch), g = batch_of(&p.g, p, batch)
    cdef Matrix to_query = batch_of(&p.to_query, p, batch), to_key = batch_of(&p.to_key, p, batch), to_value = batch_of(&p.to_value, p, batch)
    cdef Matrix q, k, v, gq, tq, k_t, v_t, w, w_t, tw, tw_t, tk, tv
    cdef Scores scores
    clear(&to_key, p.item)
    clear(&to_value, p.item)
    while first < p.queries:
        rows = min(<Py_ssize_t>TILE, p.queries - first)
        columns = columns_seen(p, first, rows)
        q, gq, tq = rows_of(&query, first, rows, p.item), rows_of(&g, first, rows, p.item), rows_of(&to_query, first, rows, p.item)
        k, v, tk, tv = first_rows(&key, columns), first_rows(&value, columns), first_rows(&to_key, columns), first_rows(&to_value, columns)
        k_t, v_t = transposed(&k), transposed(&v)
        w, tw = dense(scratch, rows, columns), dense(more, rows, columns)
        w_t, tw_t = transposed(&w), transposed(&tw)
        product(p, &q, &k_t, &w, False)
        product(p, &gq, &v_t, &tw, False)
        scores = scores_of(p, scratch, batch, first, rows, columns)
        p.kernels.weigh_backward(&scores, more)
        product(p, &w_t, &gq, &tv, True)
        product(p, &tw_t, &q, &tk, True)
        product(p, &tw, &k, &tq, False)
        first += rows


cdef void clear(const Matrix* m, Py_ssize_t item) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(m.rows):
        memset(m.data + i * m.row * item, 0, m.columns * item)


# ---- all of them ------------------------------------------------------------------------------------------------------------

cdef int run(const Problem* p, bint backward) except -1:
    """Tiles, or whole batches backward, over the threads."""
    cdef Py_ssize_t jobs = p.batches * (1 if backward else (p.queries + TILE - 1) // TILE), job, work
    cdef Py_ssize_t room = (2 if backward else 1) * TILE * max(p.keys, 1) * p.item
    cdef int threads, t
    cdef char* scratch
    if jobs == 0:
        return 0
    work = p.batches * p.queries * p.keys * (p.query.matrix.columns + p.value.matrix.columns + 64) // 16
    threads = min(threads_for(work), jobs) if jobs > 1 else 1
    scratch = <char*>malloc(threads * room)
    if scratch == NULL:
        raise MemoryError(f"attention(): no memory for the weights of {TILE} queries and {p.keys} keys")
    if p.use_blas:
        openblas.use_threads(1)
    with nogil:
        if threads == 1:
            run_jobs(p, 0, 1, jobs, scratch, backward)
        else:
            for t in prange(threads, num_threads=threads, schedule="static"):
                run_jobs(p, t, threads, jobs, scratch + t * room, backward)
    free(scratch)
    return 0


cdef void run_jobs(const Problem* p, Py_ssize_t first, Py_ssize_t step, Py_ssize_t jobs, char* scratch, bint backward) noexcept nogil:
    cdef Py_ssize_t job = first
    while job < jobs:
        if backward:
            attend_backward(p, job, scratch)
        else:
            attend(p, job, scratch)
        job += step


def attention(cnp.ndarray query, cnp.ndarray key, cnp.ndarray value, mask, double scale, bint causal):
    """(softmax(scale query key^T + mask) value, each query's largest score and one over its sum of exponentials, nothing more)."""
    cdef Problem p
    cdef list held = []
    cdef Py_ssize_t shape[MAX_DIMS]
    cdef int i, nd = cnp.PyArray_NDIM(query)
    cdef cnp.ndarray output, total
    if is_half(query):
        output, total, _ = attention(widened(query), widened(key), widened(value), widened(mask), scale, causal)
        return as_type(output, query.dtype), total, None
    describe(&p, "attention", held, query, key, value, mask, scale, causal)
    output = new_output(p.value.matrix.columns, query, &p.output)
    for i in range(nd - 1):
        shape[i] = cnp.PyArray_DIM(query, i)
    shape[nd - 1] = 2
    total = new_array(nd, shape, <cnp.dtype>cnp.PyArray_DESCR(query))
    p.total = cnp.PyArray_BYTES(total)
    run(&p, False)
    return output, total, None


def attention_backward(cnp.ndarray g, cnp.ndarray query, cnp.ndarray key, cnp.ndarray value, mask, cnp.ndarray total, output, double scale,
                       bint causal, needs):
    """The gradients of query, key and value; that of a mask is left to the definition."""
    cdef Problem p
    cdef list held = []
    cdef cnp.ndarray to_query, to_key, to_value
    *_, of_mask = needs
    if of_mask:
        raise TypeError("attention_backward(): no kernel for the gradient of a mask")
    if is_half(query):
        results = attention_backward(widened(g), widened(query), widened(key), widened(value), widened(mask), total, None, scale, causal, needs)
        return tuple([as_type(r, query.dtype) for r in results])
    describe(&p, "attention_backward", held, query, key, value, mask, scale, causal)
    if not is_rows(g, query, p.value.matrix.columns) or cnp.PyArray_SIZE(total) != 2 * p.batches * p.queries or code_of(total) != p.code:
        raise ValueError(f"attention_backward(): a gradient of shape {np.shape(g)} doesn't fit query {np.shape(query)} and value {np.shape(value)}")
    held.append(fill_operand(&p.g, g, p.use_blas))
    total = contiguous(total)
    p.total = cnp.PyArray_BYTES(total)
    to_query = new_output(p.query.matrix.columns, query, &p.to_query)
    to_key = new_output(p.key.matrix.columns, key, &p.to_key)
    to_value = new_output(p.value.matrix.columns, value, &p.to_value)
    run(&p, True)
    return to_query, to_key, to_value, None
