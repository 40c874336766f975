"""Matrix products of arrays: matmul, bmm, addmm, linear, mv, dot (product.pyx has those of raw matrices)."""
cimport numpy as cnp
from cython.parallel cimport prange

import numpy as np

from pyx_tensor_cpu cimport openblas
from pyx_tensor_cpu.dtypes cimport code_of, is_half_code
from pyx_tensor_cpu.matmul_kernels cimport i64
from pyx_tensor_cpu.iterate cimport as_type, widened
from pyx_tensor_cpu.memory cimport new_array
from pyx_tensor_cpu.parallel cimport threads_for
from pyx_tensor_cpu.product cimport (Matrix, Product, cost, fill_scalar, has_kernel, is_blas_layout, multiply_block, multiply_blocks, run,
                                     transposed, wants_blas)

cnp.import_array()

cdef enum:
    MAX_DIMS = 64                # NumPy's limit
    CALL_COST = 100              # of one small product beside its multiplications, an addition being 1


# ---- operands -------------------------------------------------------------------------------------------------------

cdef inline bint strides_count_codes(cnp.ndarray a) noexcept:
    cdef int i
    cdef i64 size = cnp.PyArray_ITEMSIZE(a)
    for i in range(cnp.PyArray_NDIM(a)):
        if cnp.PyArray_STRIDES(a)[i] % size:
            return False
    return True


cdef inline void matrix_of(cnp.ndarray a, bint column_vector, Matrix* m) noexcept:
    """The last two dimensions of an array; a vector becomes one column or one row."""
    cdef int nd = cnp.PyArray_NDIM(a)
    cdef i64 size = cnp.PyArray_ITEMSIZE(a)
    cdef cnp.npy_intp* shape = cnp.PyArray_DIMS(a)
    cdef cnp.npy_intp* strides = cnp.PyArray_STRIDES(a)
    m.data = cnp.PyArray_BYTES(a)
    if nd >= 2:
        m.rows, m.columns = shape[nd - 2], shape[nd - 1]
        m.row, m.column = strides[nd - 2] // size, strides[nd - 1] // size
    elif column_vector:
        m.rows, m.columns = shape[0], 1
        m.row, m.column = strides[0] // size, 1
    else:
        m.rows, m.columns = 1, shape[0]
        m.row, m.column = max(1, m.columns), strides[0] // size


cdef inline cnp.ndarray operand(cnp.ndarray a, bint column_vector, Matrix* m):
    """Fill m from a, or from a dense copy where the strides split codes; return the array that m points into."""
    if not strides_count_codes(a):
        a = cnp.PyArray_NewCopy(a, cnp.NPY_CORDER)
    matrix_of(a, column_vector, m)
    return a


cdef inline cnp.ndarray blas_operand(cnp.ndarray a, bint column_vector, Matrix* m):
    """The same with a dense copy where BLAS cannot take the layout."""
    if not is_blas_layout(m):
        a = cnp.PyArray_NewCopy(a, cnp.NPY_CORDER)
        matrix_of(a, column_vector, m)
    return a


cdef inline void set_target(Product* p, cnp.ndarray out, i64 columns, bint accumulate) noexcept:
    p.c = cnp.PyArray_BYTES(out)
    p.itemsize = cnp.PyArray_ITEMSIZE(out)
    p.c_row = columns
    p.accumulate = accumulate
    p.start = NULL
    p.alpha = NULL


cdef inline cnp.ndarray result_array(int nd, const cnp.npy_intp* shape, cnp.ndarray like):
    return new_array(nd, <const Py_ssize_t*>shape, <cnp.dtype>cnp.PyArray_DESCR(like))


def _mismatch(str op, *arrays):
    return ValueError(f"{op}: shapes {', '.join(str(np.shape(a)) for a in arrays)} do not fit together")


def _in_float32(op, dtype, arrays, *arguments):
    """The result for half precision: computed in float32, rounded once."""
    return as_type(op(*[widened(a) for a in arrays], *arguments), dtype)


cpdef cnp.ndarray matmul(cnp.ndarray a, cnp.ndarray b):
    """NumPy's matmul: vectors are rows or columns, leading dimensions are batches and broadcast."""
    cdef int code = code_of(a)
    cdef int a_nd = cnp.PyArray_NDIM(a), b_nd = cnp.PyArray_NDIM(b)
    if a_nd == 0 or b_nd == 0 or cnp.PyArray_DIMS(a)[a_nd - 1] != cnp.PyArray_DIMS(b)[max(0, b_nd - 2)]:
        raise _mismatch("matmul", a, b)
    if code != code_of(b):
        raise TypeError(f"matmul: dtypes {a.dtype} and {b.dtype} differ")
    if not has_kernel(code):
        return _in_float32(matmul, a.dtype, (a, b))
    if a_nd <= 2 and b_nd <= 2:
        return single_product(code, a, b)
    if can_fold(a, b):
        return fold(code, a, b)
    return batched_product(code, a, b)


cdef cnp.ndarray single_product(int code, cnp.ndarray a, cnp.ndarray b):
    cdef Product p
    cdef int nd = 0
    cdef cnp.npy_intp shape[2]
    cdef cnp.ndarray out
    p.code = code
    a = operand(a, False, &p.a)
    b = operand(b, True, &p.b)
    p.use_blas = wants_blas(code, &p.a, &p.b)
    if p.use_blas:
        a = blas_operand(a, False, &p.a)
        b = blas_operand(b, True, &p.b)
    if cnp.PyArray_NDIM(a) == 2:
        shape[0] = p.a.rows
        nd = 1
    if cnp.PyArray_NDIM(b) == 2:
        shape[nd] = p.b.columns
        nd += 1
    out = result_array(nd, shape, a)
    set_target(&p, out, p.b.columns, False)
    run(&p)
    return out


# ---- batches ------------------------------------------------------------------------------------------------------

cdef struct Batches:
    int nd
    i64 count
    i64 shape[MAX_DIMS]
    i64 a_step[MAX_DIMS]   # bytes from one batch to the next along each dimension, 0 where broadcast
    i64 b_step[MAX_DIMS]


cdef inline i64 batch_size(cnp.ndarray a, int nd, int dim, i64* step) noexcept:
    """Size along dimension ``dim`` of the nd broadcast batch dimensions, and the step to the next batch."""
    cdef int own = dim - (nd - (cnp.PyArray_NDIM(a) - 2))
    step[0] = 0
    if own < 0 or cnp.PyArray_NDIM(a) < 2:
        return 1
    if cnp.PyArray_DIMS(a)[own] != 1:
        step[0] = cnp.PyArray_STRIDES(a)[own]
    return cnp.PyArray_DIMS(a)[own]


cdef int broadcast_batches(cnp.ndarray a, cnp.ndarray b, Batches* batches) except -1:
    cdef int i
    cdef i64 size_a, size_b
    batches.nd = max(cnp.PyArray_NDIM(a), cnp.PyArray_NDIM(b)) - 2
    batches.count = 1
    for i in range(batches.nd):
        size_a = batch_size(a, batches.nd, i, &batches.a_step[i])
        size_b = batch_size(b, batches.nd, i, &batches.b_step[i])
        if size_a != size_b and size_a != 1 and size_b != 1:
            raise _mismatch("matmul", a, b)
        batches.shape[i] = size_b if size_a == 1 else size_a
        batches.count *= batches.shape[i]
    return 0


cdef inline Product batch_product(const Product* p, const Batches* batches, i64 index) noexcept nogil:
    """The product of one batch."""
    cdef Product one = p[0]
    cdef int i
    cdef i64 rest = index, position
    for i in range(batches.nd - 1, -1, -1):
        position = rest % batches.shape[i]
        rest //= batches.shape[i]
        one.a.data += position * batches.a_step[i]
        one.b.data += position * batches.b_step[i]
    one.c += index * p.a.rows * p.b.columns * p.itemsize
    return one


cdef void multiply_batch(const Product* p, const Batches* batches, i64 index) noexcept nogil:
    cdef Product one = batch_product(p, batches, index)
    multiply_block(&one, 0, p.a.rows, 0, p.b.columns)


cdef void multiply_batches(const Product* p, const Batches* batches) noexcept nogil:
    """Threads share the batches where those come out even, the blocks of each otherwise."""
    cdef Product one
    cdef i64 index
    cdef int threads = threads_for(batches.count * (CALL_COST + cost(p.code, p.a.rows, p.b.columns, p.a.columns)))
    if p.use_blas:
        openblas.use_threads(1)
    if threads == 1 or batches.count >= 8 * threads or batches.count % threads == 0:
        if threads == 1:
            for index in range(batches.count):
                multiply_batch(p, batches, index)
        else:
            for index in prange(batches.count, num_threads=threads, schedule="static"):
                multiply_batch(p, batches, index)
    else:
        for index in range(batches.count):
            one = batch_product(p, batches, index)
            multiply_blocks(&one)


cdef cnp.ndarray batched_product(int code, cnp.ndarray a, cnp.ndarray b):
    cdef Product p
    cdef Batches batches
    cdef cnp.npy_intp shape[MAX_DIMS]
    cdef int i, nd
    cdef cnp.ndarray out
    p.code = code
    a = operand(a, False, &p.a)
    b = operand(b, True, &p.b)
    p.use_blas = wants_blas(code, &p.a, &p.b)
    if p.use_blas:
        a = blas_operand(a, False, &p.a)
        b = blas_operand(b, True, &p.b)
    broadcast_batches(a, b, &batches)
    nd = batches.nd
    for i in range(nd):
        shape[i] = batches.shape[i]
    if cnp.PyArray_NDIM(a) >= 2:
        shape[nd] = p.a.rows
        nd += 1
    if cnp.PyArray_NDIM(b) >= 2:
        shape[nd] = p.b.columns
        nd += 1
    out = result_array(nd, shape, a)
    set_target(&p, out, p.b.columns, False)
    with nogil:
        multiply_batches(&p, &batches)
    return out


cdef inline bint can_fold(cnp.ndarray a, cnp.ndarray b) noexcept:
    """Whether the batches of ``a`` are just more rows of one matrix."""
    return cnp.PyArray_NDIM(b) <= 2 and cnp.PyArray_IS_C_CONTIGUOUS(a) and cnp.PyArray_SIZE(a) > 0


cdef cnp.ndarray fold(int code, cnp.ndarray a, cnp.ndarray b):
    rows = np.shape(a)[:cnp.PyArray_NDIM(a) - 1]
    product = single_product(code, a.reshape(-1, np.shape(b)[0]), b)
    return product.reshape(rows + np.shape(b)[1:])


# ---- the other entries --------------------------------------------------------------------------------------------

def bmm(cnp.ndarray a, cnp.ndarray b):
    """(batch, m, k) times (batch, k, n)."""
    return matmul(a, b)


def mv(cnp.ndarray a, cnp.ndarray x):
    """(m, k) times (k,)."""
    return matmul(a, x)


def dot(cnp.ndarray a, cnp.ndarray b):
    """Sum of the products of two vectors, without conjugation; long ones in a part per thread."""
    cdef Py_ssize_t size = cnp.PyArray_SIZE(a)
    cdef int parts = threads_for(size // 2)
    if parts == 1 or cnp.PyArray_NDIM(a) != 1 or cnp.PyArray_NDIM(b) != 1 or cnp.PyArray_SIZE(b) != size:
        return matmul(a, b)
    if is_half_code(code_of(a)):
        return _in_float32(dot, a.dtype, (a, b))
    share = size // parts
    products = matmul(a[:parts * share].reshape(parts, 1, share), b[:parts * share].reshape(parts, share, 1)).reshape(parts)
    ones = np.ones(parts, a.dtype)
    rest = matmul(a[parts * share:], b[parts * share:])
    return np.add(matmul(products, ones), rest, out=rest)


def linear(cnp.ndarray a, cnp.ndarray weight, cnp.ndarray bias=None):
    """a weight^T + bias over the last dimension of a; weight is (out, in), bias (out,) or one number. Without bias weight may be (in,)."""
    cdef int code = code_of(a), nd = cnp.PyArray_NDIM(a), i
    cdef Product p
    cdef Matrix w
    cdef cnp.npy_intp shape[MAX_DIMS]
    cdef cnp.ndarray out
    if bias is None and cnp.PyArray_NDIM(weight) == 1:
        return matmul(a, weight)
    if bias is not None and cnp.PyArray_NDIM(bias) <= 1 and cnp.PyArray_SIZE(bias) == 1 and cnp.PyArray_NDIM(weight) == 2:
        bias = np.broadcast_to(bias, cnp.PyArray_DIMS(weight)[0])
    check_linear(code, a, weight, bias)
    if not has_kernel(code):
        return _in_float32(linear, a.dtype, (a, weight, bias))
    p.code = code
    if nd > 2 and not cnp.PyArray_IS_C_CONTIGUOUS(a):
        a = cnp.PyArray_NewCopy(a, cnp.NPY_CORDER)
    a = operand(a, False, &p.a)
    weight = operand(weight, False, &w)
    for i in range(nd - 1):
        shape[i] = cnp.PyArray_DIMS(a)[i]
    shape[nd - 1] = w.rows
    if nd > 2:
        fold_rows(a, &p.a)
    p.b = transposed(&w)
    p.use_blas = wants_blas(code, &p.a, &p.b)
    if p.use_blas:
        if nd <= 2:
            a = blas_operand(a, False, &p.a)
        weight = blas_operand(weight, False, &w)
        p.b = transposed(&w)
    out = result_array(nd, shape, a)
    set_target(&p, out, p.b.columns, False)
    if bias is not None:
        bias = cnp.PyArray_GETCONTIGUOUS(bias)
        p.start = cnp.PyArray_BYTES(bias)
    run(&p)
    return out


cdef inline int check_linear(int code, cnp.ndarray a, cnp.ndarray weight, cnp.ndarray bias) except -1:
    cdef int nd = cnp.PyArray_NDIM(a)
    if nd == 0 or cnp.PyArray_NDIM(weight) != 2 or cnp.PyArray_DIMS(a)[nd - 1] != cnp.PyArray_DIMS(weight)[1]:
        raise _mismatch("linear", a, weight)
    if bias is not None and (cnp.PyArray_NDIM(bias) != 1 or cnp.PyArray_DIMS(bias)[0] != cnp.PyArray_DIMS(weight)[0]):
        raise _mismatch("linear", a, weight, bias)
    if code != code_of(weight) or (bias is not None and code != code_of(bias)):
        raise TypeError(f"linear: dtypes {a.dtype}, {weight.dtype}, {None if bias is None else bias.dtype} differ")
    return 0


cdef inline void fold_rows(cnp.ndarray a, Matrix* m) noexcept:
    """All dimensions but the last of a dense array as the rows of one matrix."""
    cdef int i
    m.rows = 1
    for i in range(cnp.PyArray_NDIM(a) - 1):
        m.rows *= cnp.PyArray_DIMS(a)[i]
    m.row = m.columns


def addmm(cnp.ndarray input, cnp.ndarray m1, cnp.ndarray m2, beta=1, alpha=1, cnp.ndarray out=None):
    """beta input + alpha m1 m2, where beta = 0 leaves input (and any NaN in it) out."""
    cdef int code = code_of(m1)
    cdef bint in_float32 = not has_kernel(code) or is_half_code(code) and not is_plain(beta, alpha)
    cdef cnp.ndarray result
    if m1.ndim != 2 or m2.ndim != 2 or m1.shape[1] != m2.shape[0]:
        raise _mismatch("addmm", input, m1, m2)
    if code != code_of(m2) or code != code_of(input):
        raise TypeError(f"addmm: dtypes {input.dtype}, {m1.dtype}, {m2.dtype} differ")
    if in_float32:
        result = _in_float32(addmm, m1.dtype, (input, m1, m2), beta, alpha)
    elif out is not None and cnp.PyArray_IS_C_CONTIGUOUS(out) and not shares_data(out, m1) and not shares_data(out, m2):
        result = out
    else:
        result = result_array(2, [m1.shape[0], m2.shape[1]], m1)
    if not in_float32:
        if beta != 0 and result is not input:
            np.copyto(result, input)
        add_product(code, result, m1, m2, beta, alpha)
    if out is None or result is out:
        return result
    np.copyto(out, result)
    return out


cdef inline bint shares_data(cnp.ndarray a, cnp.ndarray b) noexcept:
    return cnp.PyArray_BYTES(a) == cnp.PyArray_BYTES(b)


cdef bint is_plain(beta, alpha):
    """Whether a product is written or added as it is."""
    return alpha == 1 and (beta == 0 or beta == 1)


cdef int add_product(int code, cnp.ndarray c, cnp.ndarray a, cnp.ndarray b, beta, alpha) except -1:
    """c = beta c + alpha a b in place, for a dense c."""
    cdef Product p
    cdef bint plain = is_plain(beta, alpha)
    cdef double alpha_storage[2]
    cdef double beta_storage[2]
    p.code = code
    a = operand(a, False, &p.a)
    b = operand(b, True, &p.b)
    p.use_blas = wants_blas(code, &p.a, &p.b)
    if not plain and not p.use_blas:
        return add_scaled(c, matmul(a, b), beta, alpha)
    if p.use_blas:
        a = blas_operand(a, False, &p.a)
        b = blas_operand(b, True, &p.b)
    set_target(&p, c, p.b.columns, beta == 1)
    if not plain:
        fill_scalar(code, alpha, alpha_storage)
        fill_scalar(code, beta, beta_storage)
        p.alpha, p.beta = alpha_storage, beta_storage
        p.beta_is_zero = beta == 0
    return run(&p)


cdef int add_scaled(cnp.ndarray c, cnp.ndarray product, beta, alpha) except -1:
    """c = beta c + alpha product in place."""
    alpha, beta = (np.asarray(x).astype(c.dtype) for x in (alpha, beta))
    np.multiply(product, alpha, out=product)
    if beta == 0:
        np.copyto(c, product)
    else:
        np.multiply(c, beta, out=c)
        np.add(c, product, out=c)
    return 0
