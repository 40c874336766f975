"""Matrix products: matmul, bmm, addmm, linear, mv, dot over OpenBLAS and this package's own kernels.

OpenBLAS takes float and complex matrices that are large enough to repay its call; small ones, integers and machines
without OpenBLAS take the kernels of ``kernels/matmul.pxi``. Row-major C = A B is given to OpenBLAS as C^T = B^T A^T.
"""
cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.string cimport memset

import importlib

import ml_dtypes
import numpy as np

from pyx_tensor_cpu cimport openblas
from pyx_tensor_cpu.matmul_kernels cimport (
    BOOL, COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, MatmulKernels, UINT8, UINT16, UINT32, UINT64, product_t,
)

cnp.import_array()

cdef enum:
    MAX_DIMS = 64           # NumPy's limit
    MAX_TYPE_NUMBERS = 24   # NumPy's own number types lie below

cdef struct TypeRow:
    int element              # Element of the kernels, -1 where there is none
    int bytes

cdef TypeRow type_rows[MAX_TYPE_NUMBERS]
cdef MatmulKernels* kernels = NULL
cdef object half_types = frozenset((np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)))


def _fill_type_rows():
    cdef int number
    for number in range(MAX_TYPE_NUMBERS):
        type_rows[number].element = -1
    unsigned = {1: UINT8, 2: UINT16, 4: UINT32, 8: UINT64}
    inexact = {"f4": FLOAT32, "f8": FLOAT64, "c8": COMPLEX64, "c16": COMPLEX128}
    for letter in "?bBhHiIlLqQfdFD":
        dtype = np.dtype(letter)
        number = dtype.num
        type_rows[number].bytes = dtype.itemsize
        if dtype.kind == "b":
            type_rows[number].element = BOOL
        else:
            type_rows[number].element = inexact.get(dtype.str[1:]) or unsigned[dtype.itemsize]


def use_level(str level):
    """Take the kernels compiled for one CPU level."""
    global kernels
    capsule = importlib.import_module(f"pyx_tensor_cpu.{level}.matmul").matmul_kernels
    kernels = <MatmulKernels*>PyCapsule_GetPointer(capsule, "pyx_tensor_cpu.matmul_kernels")


_fill_type_rows()
use_level("v4")


# ---- one product of two matrices ----------------------------------------------------------------------------------

cdef inline bint rows_are_dense(const Matrix* m) noexcept nogil:
    return (m.column == 1 or m.columns == 1) and (m.row >= max(1, m.columns) or m.rows == 1)


cdef inline bint columns_are_dense(const Matrix* m) noexcept nogil:
    return (m.row == 1 or m.rows == 1) and (m.column >= max(1, m.rows) or m.columns == 1)


cdef bint is_blas_layout(const Matrix* m) noexcept nogil:
    """Whether BLAS can take the matrix as it lies in memory, plain or transposed."""
    return rows_are_dense(m) or columns_are_dense(m)


cdef inline Matrix transposed(const Matrix* m) noexcept nogil:
    cdef Matrix t
    t.data = m.data
    t.rows, t.columns = m.columns, m.rows
    t.row, t.column = m.column, m.row
    return t


cdef i64 small_limit = 4096
def set_small(i64 n):
    global small_limit
    small_limit = n

cdef inline bint is_small(int element, i64 m, i64 n, i64 k) noexcept nogil:
    """Whether the kernels beat OpenBLAS."""
    return m * n * k <= small_limit


cdef void gemm(int element, const Matrix* a, const Matrix* b, void* c, const void* alpha, const void* beta) noexcept nogil:
    """c = alpha a b + beta c, with c dense and row-major; a and b in a BLAS layout; no size is zero."""
    cdef int form = element - FLOAT32
    cdef i64 m = a.rows, n = b.columns, k = a.columns
    cdef bint plain_a = rows_are_dense(a), plain_b = rows_are_dense(b)
    cdef char trans_a = b'N' if plain_a else b'T'
    cdef char trans_b = b'N' if plain_b else b'T'
    cdef i64 lda = max(1, a.columns if a.rows == 1 else a.row) if plain_a else max(1, a.rows if a.columns == 1 else a.column)
    cdef i64 ldb = max(1, b.columns if b.rows == 1 else b.row) if plain_b else max(1, b.rows if b.columns == 1 else b.column)
    openblas.blas.gemm[form](&trans_b, &trans_a, &n, &m, &k, alpha, b.data, &ldb, a.data, &lda, beta, c, &n)


cdef void gemv(int element, const Matrix* a, const Matrix* x, void* y, const void* alpha, const void* beta) noexcept nogil:
    """y = alpha a x + beta y for a matrix x of one column."""
    cdef int form = element - FLOAT32
    cdef bint plain = rows_are_dense(a)
    cdef i64 inner = a.columns if plain else a.rows
    cdef i64 outer = a.rows if plain else a.columns
    cdef i64 lda = max(1, inner if outer == 1 else (a.row if plain else a.column))
    cdef char trans = b'T' if plain else b'N'
    cdef i64 x_step = x.row if x.rows > 1 else 1, y_step = 1
    openblas.blas.gemv[form](&trans, &inner, &outer, alpha, a.data, &lda, x.data, &x_step, beta, y, &y_step)


cdef void blas_product(int element, const Matrix* a, const Matrix* b, void* c, const void* alpha, const void* beta) noexcept nogil:
    cdef Matrix a_t, b_t
    if b.columns == 1:
        gemv(element, a, b, c, alpha, beta)
    elif a.rows == 1:
        a_t = transposed(a)
        b_t = transposed(b)
        gemv(element, &b_t, &a_t, c, alpha, beta)
    else:
        gemm(element, a, b, c, alpha, beta)


cdef inline void fill_scalar(int element, double complex value, double* storage) noexcept nogil:
    """Write a number as BLAS reads it: one or two float32 or float64."""
    cdef float* single = <float*>storage
    if element == FLOAT32 or element == COMPLEX64:
        single[0] = <float>value.real
        single[1] = <float>value.imag
    else:
        storage[0] = value.real
        storage[1] = value.imag


cdef void multiply(int element, const Matrix* a, const Matrix* b, void* c, bint accumulate, bint use_blas) noexcept nogil:
    """c = a b, or c += a b; c is dense and row-major. BLAS layouts are needed only with ``use_blas``."""
    cdef double one[2]
    cdef double beta[2]
    if not use_blas:
        kernels.product[element](a.data, a.row, a.column, b.data, b.row, b.column, c, a.rows, b.columns, a.columns, accumulate)
        return
    fill_scalar(element, 1, one)
    fill_scalar(element, 1 if accumulate else 0, beta)
    if not accumulate and (a.rows == 1 or b.columns == 1):
        # gemv scales what is there, so NaN in fresh memory would survive a factor of 0
        memset(c, 0, a.rows * b.columns * (4 << (element - FLOAT32) if element <= FLOAT64 else 8 << (element - COMPLEX64)))
    blas_product(element, a, b, c, one, beta)


# ---- arrays -------------------------------------------------------------------------------------------------------

cdef inline int element_of(cnp.ndarray a) noexcept:
    cdef int number = cnp.PyArray_TYPE(a)
    return type_rows[number].element if 0 <= number < MAX_TYPE_NUMBERS else -1


cdef inline bint wants_blas(int element, i64 m, i64 n, i64 k) except -1:
    return element >= FLOAT32 and m * n * k != 0 and not is_small(element, m, n, k) and openblas.load()


cdef inline bint strides_count_elements(cnp.ndarray a):
    cdef int i
    cdef i64 size = cnp.PyArray_ITEMSIZE(a)
    for i in range(cnp.PyArray_NDIM(a)):
        if cnp.PyArray_STRIDES(a)[i] % size:
            return False
    return True


cdef inline int matrix_of(cnp.ndarray a, bint column_vector, Matrix* m) except -1:
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
    return 0


cdef cnp.ndarray operand(cnp.ndarray a, bint column_vector, bint use_blas, Matrix* m):
    """Fill m from a, or from a dense copy where the strides are of no use; return the array that m points into."""
    if not strides_count_elements(a):
        a = cnp.PyArray_NewCopy(a, cnp.NPY_CORDER)
    matrix_of(a, column_vector, m)
    if use_blas and not is_blas_layout(m):
        a = cnp.PyArray_NewCopy(a, cnp.NPY_CORDER)
        matrix_of(a, column_vector, m)
    return a


cdef inline cnp.ndarray new_array(int nd, cnp.npy_intp* shape, cnp.ndarray like):
    return cnp.PyArray_EMPTY(nd, shape, cnp.PyArray_TYPE(like), 0)


def _mismatch(str op, cnp.ndarray a, cnp.ndarray b):
    return ValueError(f"{op}: shapes {np.shape(a)} and {np.shape(b)} do not fit together")


def _unsupported(str op, cnp.ndarray a):
    return TypeError(f"{op}: not implemented for dtype {a.dtype}")


cdef cnp.ndarray with_other_type(op, cnp.ndarray a, tuple others):
    """The products of types without a kernel: half precision goes through float32."""
    if a.dtype not in half_types:
        raise _unsupported(op.__name__, a)
    arrays = [None if x is None else x.astype(np.float32) for x in (a, *others)]
    return op(*arrays).astype(a.dtype)


cpdef cnp.ndarray matmul(cnp.ndarray a, cnp.ndarray b):
    """NumPy's matmul: vectors are rows or columns, leading dimensions are batches and broadcast."""
    cdef int element = element_of(a)
    cdef int a_nd = cnp.PyArray_NDIM(a), b_nd = cnp.PyArray_NDIM(b)
    cdef i64 k
    if element < 0:
        return with_other_type(matmul, a, (b,))
    if a_nd == 0 or b_nd == 0:
        raise _mismatch("matmul", a, b)
    k = cnp.PyArray_DIMS(a)[a_nd - 1]
    if k != cnp.PyArray_DIMS(b)[max(0, b_nd - 2)] or cnp.PyArray_TYPE(a) != cnp.PyArray_TYPE(b):
        raise _mismatch("matmul", a, b)
    if a_nd <= 2 and b_nd <= 2:
        return single_product(element, a, b)
    return batched_product(element, a, b)


cdef cnp.ndarray single_product(int element, cnp.ndarray a, cnp.ndarray b):
    cdef Matrix ma, mb
    cdef int nd = 0
    cdef cnp.npy_intp shape[2]
    cdef i64 k = cnp.PyArray_DIMS(a)[cnp.PyArray_NDIM(a) - 1], m = 1, n = 1
    cdef bint use_blas
    cdef cnp.ndarray out
    if cnp.PyArray_NDIM(a) == 2:
        m = shape[0] = cnp.PyArray_DIMS(a)[0]
        nd = 1
    if cnp.PyArray_NDIM(b) == 2:
        n = shape[nd] = cnp.PyArray_DIMS(b)[1]
        nd += 1
    use_blas = wants_blas(element, m, n, k)
    a = operand(a, False, use_blas, &ma)
    b = operand(b, True, use_blas, &mb)
    out = new_array(nd, shape, a)
    run(element, &ma, &mb, cnp.PyArray_BYTES(out), False, use_blas)
    return out


cdef inline int run(int element, const Matrix* a, const Matrix* b, char* c, bint accumulate, bint use_blas) except -1:
    """One product; the GIL is kept through what takes a microsecond or two."""
    if use_blas or a.rows * b.columns * a.columns > 100_000:
        with nogil:
            multiply(element, a, b, c, accumulate, use_blas)
    else:
        multiply(element, a, b, c, accumulate, use_blas)
    return 0


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


cdef inline void multiply_batch(int element, const Batches* batches, i64 index, Matrix a, Matrix b,
                                char* c, i64 c_bytes, bint use_blas) noexcept nogil:
    cdef int i
    cdef i64 rest = index, position
    for i in range(batches.nd - 1, -1, -1):
        position = rest % batches.shape[i]
        rest //= batches.shape[i]
        a.data += position * batches.a_step[i]
        b.data += position * batches.b_step[i]
    multiply(element, &a, &b, c + index * c_bytes, False, use_blas)


cdef cnp.ndarray batched_product(int element, cnp.ndarray a, cnp.ndarray b):
    cdef Matrix ma, mb
    cdef Batches batches
    cdef cnp.npy_intp shape[MAX_DIMS]
    cdef int i, nd
    cdef i64 index, c_bytes
    cdef bint use_blas
    cdef char* c
    cdef cnp.ndarray out
    if can_fold(a, b):
        return fold(element, a, b)
    matrix_of(a, False, &ma)
    matrix_of(b, True, &mb)
    use_blas = wants_blas(element, ma.rows, mb.columns, ma.columns)
    a = operand(a, False, use_blas, &ma)
    b = operand(b, True, use_blas, &mb)
    broadcast_batches(a, b, &batches)
    nd = batches.nd
    for i in range(nd):
        shape[i] = batches.shape[i]
    if cnp.PyArray_NDIM(a) >= 2:
        shape[nd] = ma.rows
        nd += 1
    if cnp.PyArray_NDIM(b) >= 2:
        shape[nd] = mb.columns
        nd += 1
    out = new_array(nd, shape, a)
    c = cnp.PyArray_BYTES(out)
    c_bytes = ma.rows * mb.columns * cnp.PyArray_ITEMSIZE(out)
    with nogil:
        for index in range(batches.count):
            multiply_batch(element, &batches, index, ma, mb, c, c_bytes, use_blas)
    return out


cdef inline bint can_fold(cnp.ndarray a, cnp.ndarray b):
    """Whether the batches of ``a`` are just more rows of one matrix."""
    return cnp.PyArray_NDIM(a) > 2 and cnp.PyArray_NDIM(b) <= 2 and cnp.PyArray_IS_C_CONTIGUOUS(a) and cnp.PyArray_SIZE(a) > 0


cdef cnp.ndarray fold(int element, cnp.ndarray a, cnp.ndarray b):
    rows = np.shape(a)[:cnp.PyArray_NDIM(a) - 1]
    product = single_product(element, a.reshape(-1, np.shape(b)[0]), b)
    return product.reshape(rows + np.shape(b)[1:])


# ---- the other entries --------------------------------------------------------------------------------------------

def bmm(cnp.ndarray a, cnp.ndarray b):
    """(batch, m, k) times (batch, k, n)."""
    return matmul(a, b)


def mv(cnp.ndarray a, cnp.ndarray x):
    """(m, k) times (k,)."""
    return matmul(a, x)


def dot(cnp.ndarray a, cnp.ndarray b):
    """Sum of the products of two vectors, without conjugation."""
    return matmul(a, b)
