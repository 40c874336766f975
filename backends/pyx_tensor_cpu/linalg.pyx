# cython: wraparound=True
"""Factorisations and solvers over OpenBLAS's LAPACK, for batches of matrices.

Entries take arrays (..., m, n) of float32, float64, complex64 or complex128. Where a factorisation can fail, the last
result is ``info`` (int32, one per matrix): 0 for success, LAPACK's number otherwise; nothing is raised for it.
Batches run over the threads; where there are few, one matrix after the other, large ones with OpenBLAS's threads.

LAPACK's matrices are column-major, so it reads a row-major matrix as its transpose. Where the answer follows from that
of the transpose (inverse, determinant, SVD, symmetric problems) nothing is transposed in memory.
"""
cimport numpy as cnp
from cython.parallel cimport prange
from libc.string cimport memcpy, memset

import numpy as np

from pyx_tensor_cpu cimport openblas
from pyx_tensor_cpu.product cimport fill_scalar
from pyx_tensor_cpu.dtypes cimport C64, F32, code_of
from pyx_tensor_cpu.openblas cimport (
    COLUMN_MAJOR, geev_complex_t, geev_real_t, gelsd_double_t, gelsd_single_t, gelsy_double_t, gelsy_single_t, i64,
)
from pyx_tensor_cpu.parallel cimport thread_limit, threads_for


cnp.import_array()

# LAPACK calls OpenBLAS in many small steps: with threads inside, solving systems of 256 equations took 17 times as
# long as without, and only inverses and Cholesky factors of 512 rows gained.
cdef i64 LARGE = 512 ** 3

cdef struct Job:
    # What a step needs to treat matrix i of a batch: sizes, options, and memory with its bytes per matrix.
    int form                        # float32, float64, complex64, complex128
    i64 m, n, k
    char option, trans, diag
    double tolerance
    char* a
    char* b
    char* c
    char* d
    i64 a_step, b_step, c_step, d_step
    i64* pivots
    i64 pivots_step                 # in integers
    cnp.int32_t* info

ctypedef void (*step_t)(const Job* job, i64 i) noexcept nogil


# ---- batches ------------------------------------------------------------------------------------------------------

cdef int for_each(step_t step, const Job* job, i64 count) except -1:
    cdef i64 i, work = job.m * job.n * min(job.m, job.n)
    cdef int threads
    with nogil:
        threads = threads_for(count * work) if count >= 2 * thread_limit() else 1
        openblas.use_threads(thread_limit() if threads == 1 and work >= LARGE else 1)
        for i in prange(count, num_threads=threads, schedule="static"):
            step(job, i)
    return 0


cdef int start(Job* job, str op, cnp.ndarray a, bint square=True) except -1:
    """Check the matrices and note their sizes as LAPACK sees them: a row-major m by n matrix is n by m to it."""
    cdef int code = code_of(a)
    if code < F32:
        raise TypeError(f"{op}: not implemented for dtype {a.dtype}")
    if a.ndim < 2 or (square and a.shape[a.ndim - 1] != a.shape[a.ndim - 2]):
        raise ValueError(f"{op}: expected {'square ' if square else ''}matrices, got shape {np.shape(a)}")
    if not openblas.load():
        raise openblas.absence(op)
    job.form = code - F32
    job.m, job.n = a.shape[a.ndim - 1], a.shape[a.ndim - 2]
    job.trans = job.diag = job.option = b'N'
    return 0


cdef i64 matrix_bytes(cnp.ndarray a) except -1:
    return a.shape[a.ndim - 1] * a.shape[a.ndim - 2] * cnp.PyArray_ITEMSIZE(a)


cdef void set_a(Job* job, cnp.ndarray a):
    job.a = cnp.PyArray_BYTES(a)
    job.a_step = matrix_bytes(a)


cdef void set_b(Job* job, cnp.ndarray b):
    job.b = cnp.PyArray_BYTES(b)
    job.b_step = matrix_bytes(b)


cdef void set_c(Job* job, cnp.ndarray c):
    job.c = cnp.PyArray_BYTES(c)
    job.c_step = matrix_bytes(c)


cdef void set_d(Job* job, cnp.ndarray d):
    job.d = cnp.PyArray_BYTES(d)
    job.d_step = matrix_bytes(d)


cdef cnp.ndarray new_info(Job* job, batch):
    cdef cnp.ndarray info = np.zeros(batch, np.int32)
    job.info = <cnp.int32_t*>cnp.PyArray_DATA(info)
    return info


cdef cnp.ndarray new_pivots(Job* job, batch):
    cdef cnp.ndarray pivots = np.empty((*batch, min(job.m, job.n)), np.int64)
    job.pivots = <i64*>cnp.PyArray_DATA(pivots)
    job.pivots_step = min(job.m, job.n)
    return pivots


def _batch(a):
    return a.shape[:-2]


cdef cnp.ndarray _spread(cnp.ndarray a, batch):
    """The matrices broadcast to the given batch sizes, if any."""
    return a if batch is None or _batch(a) == batch else np.broadcast_to(a, (*batch, *np.shape(a)[-2:]))


cdef cnp.ndarray _copy(cnp.ndarray a, batch=None):
    """A dense row-major copy, broadcast to the given batch sizes."""
    return cnp.PyArray_NewCopy(_spread(a, batch), cnp.NPY_CORDER)


cdef cnp.ndarray _transposed_copy(cnp.ndarray a, batch=None):
    """A dense copy of the transposed matrices: column-major as LAPACK wants it."""
    return _copy(cnp.PyArray_SwapAxes(a, a.ndim - 1, a.ndim - 2), batch)


cdef cnp.ndarray _dense(cnp.ndarray a, batch):
    """Dense row-major matrices that are only read, broadcast to the given batch sizes."""
    return cnp.PyArray_GETCONTIGUOUS(_spread(a, batch))


cdef void clear_below(cnp.ndarray a) noexcept:
    """Zeros below the diagonal of dense row-major matrices."""
    cdef i64 m = a.shape[a.ndim - 2], n = a.shape[a.ndim - 1], size = cnp.PyArray_ITEMSIZE(a), i, row
    cdef i64 count = cnp.PyArray_SIZE(a) // max(1, m * n)
    cdef char* at = cnp.PyArray_BYTES(a)
    for i in range(count):
        for row in range(m):
            memset(at + (i * m + row) * n * size, 0, min(row, n) * size)


def _common_batch(str op, a, b):
    if b.ndim < 2 or a.dtype != b.dtype:
        raise ValueError(f"{op}: expected matrices of one dtype, got shapes {a.shape} and {b.shape}, dtypes {a.dtype} and {b.dtype}")
    if _batch(a) == _batch(b):
        return _batch(a)
    try:
        return np.broadcast_shapes(_batch(a), _batch(b))
    except ValueError:
        raise ValueError(f"{op}: batches of shapes {a.shape} and {b.shape} do not broadcast") from None


def _real(dtype):
    return np.empty(0, dtype).real.dtype


# ---- factorisations -----------------------------------------------------------------------------------------------

include "kernels/small_lu.pxi"
include "kernels/lapack_lu.pxi"
include "kernels/lapack_triangular.pxi"
include "kernels/lapack_orthogonal.pxi"
include "kernels/lapack_ldl.pxi"
include "kernels/lapack_spectral.pxi"
