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
from pyx_tensor_cpu.blas cimport fill_scalar
from pyx_tensor_cpu.dtypes cimport C64, F32, code_of
from pyx_tensor_cpu.openblas cimport (
    COLUMN_MAJOR, geev_complex_t, geev_real_t, gelsd_double_t, gelsd_single_t, gelsy_double_t, gelsy_single_t, i64,
)
from pyx_tensor_cpu.parallel cimport thread_limit, threads_for

from pyx_tensor_cpu.openblas import PACKAGE

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
        raise NotImplementedError(f"{op}: needs OpenBLAS; install the package {PACKAGE}")
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


# ---- LU -----------------------------------------------------------------------------------------------------------

include "kernels/small_lu.pxi"


cdef bint is_small(const Job* job) noexcept nogil:
    return job.form < C64 - F32 and job.m <= SMALL and job.n <= SMALL


cdef void lu_step(const Job* job, i64 i) noexcept nogil:
    cdef char* a = job.a + i * job.a_step
    cdef i64* pivots = job.pivots + i * job.pivots_step
    if not is_small(job):
        job.info[i] = <cnp.int32_t>openblas.blas.getrf[job.form](COLUMN_MAJOR, job.m, job.n, a, max(1, job.m), pivots)
    elif job.form == 0:
        job.info[i] = <cnp.int32_t>small_lu(<float*>a, job.m, job.n, pivots)
    else:
        job.info[i] = <cnp.int32_t>small_lu(<double*>a, job.m, job.n, pivots)


cdef void lu_solve_step(const Job* job, i64 i) noexcept nogil:
    cdef char* a = job.a + i * job.a_step
    cdef char* b = job.b + i * job.b_step
    cdef i64* pivots = job.pivots + i * job.pivots_step
    if not is_small(job):
        openblas.blas.getrs[job.form](COLUMN_MAJOR, job.trans, job.n, job.k, a, max(1, job.n), pivots, b, max(1, job.n))
    elif job.form == 0:
        small_lu_solve(<const float*>a, pivots, <float*>b, job.n, job.k, job.trans != b'N')
    else:
        small_lu_solve(<const double*>a, pivots, <double*>b, job.n, job.k, job.trans != b'N')


cdef void solve_step(const Job* job, i64 i) noexcept nogil:
    lu_step(job, i)
    if job.info[i] == 0:
        lu_solve_step(job, i)


cdef void inverse_step(const Job* job, i64 i) noexcept nogil:
    cdef char* a = job.a + i * job.a_step
    cdef i64* pivots = job.pivots + i * job.pivots_step
    lu_step(job, i)
    if job.info[i] != 0:
        return
    if not is_small(job):
        job.info[i] = <cnp.int32_t>openblas.blas.getri[job.form](COLUMN_MAJOR, job.n, a, max(1, job.n), pivots)
    elif job.form == 0:
        small_inverse(<float*>a, pivots, job.n)
    else:
        small_inverse(<double*>a, pivots, job.n)


def lu_factor(cnp.ndarray a):
    """(lu, pivots, info) of P A = L U with L's unit diagonal left out; pivots count rows from 1 (int32)."""
    cdef Job job
    start(&job, "lu_factor", a, square=False)
    job.m, job.n = job.n, job.m
    work = _transposed_copy(a)
    set_a(&job, work)
    info = new_info(&job, _batch(a))
    pivots = new_pivots(&job, _batch(a))
    if work.size:
        for_each(lu_step, &job, info.size)
    return _transposed_copy(work), pivots.astype(np.int32), info


def lu_permutation(cnp.ndarray pivots, i64 rows):
    """Places (int64) of the rows that a factorisation puts in order, from exchanges counted from 1."""
    cdef cnp.ndarray steps = np.ascontiguousarray(pivots, np.int64)      # of one dim at least
    cdef i64 k = steps.shape[steps.ndim - 1], i, j, count = cnp.PyArray_SIZE(steps) // max(1, k)
    cdef const i64* step = <const i64*>cnp.PyArray_DATA(steps)
    cdef cnp.ndarray places
    cdef i64* place
    if steps.size and (k > rows or steps.min() < 1 or steps.max() > rows):
        raise ValueError(f"lu_permutation: pivots must lie between 1 and {rows}, got {steps.min()} to {steps.max()}")
    places = np.empty((*np.shape(steps)[:-1], rows), np.int64)
    places[...] = np.arange(rows)
    place = <i64*>cnp.PyArray_DATA(places)
    for i in range(count):
        for j in range(k):
            place[j], place[step[j] - 1] = place[step[j] - 1], place[j]
        place += rows
        step += k
    return places


cdef cnp.ndarray set_pivots(Job* job, str op, cnp.ndarray pivots, batch, bint signed):
    """Pivots from outside, for each matrix of the batch; checked, since LAPACK exchanges the rows that they name unseen."""
    cdef cnp.ndarray pivots64 = np.array(np.broadcast_to(pivots, (*batch, job.n)), np.int64, order="C")
    size = np.abs(pivots64) if signed else pivots64
    if size.size and (size.min() < 1 or size.max() > job.n):
        raise ValueError(f"{op}: pivots must lie between 1 and {job.n}, got {pivots64.min()} to {pivots64.max()}")
    job.pivots = <i64*>cnp.PyArray_DATA(pivots64)
    job.pivots_step = job.n
    return pivots64


def lu_solve(cnp.ndarray lu, cnp.ndarray pivots, cnp.ndarray b, bint adjoint=False):
    """X of A X = B from lu_factor's results, or of A^H X = B."""
    cdef Job job
    start(&job, "lu_solve", lu)
    batch = _common_batch("lu_solve", lu, b)
    _check_rows("lu_solve", lu, b)
    held = set_pivots(&job, "lu_solve", pivots, batch, False)
    job.trans = b'C' if adjoint else b'N'
    work, x = _transposed_copy(lu, batch), _transposed_copy(b, batch)
    set_a(&job, work)
    set_b(&job, x)
    job.k = b.shape[b.ndim - 1]
    if x.size:
        for_each(lu_solve_step, &job, x.size // (job.n * job.k))
    return _transposed_copy(x)


def _check_rows(str op, a, b):
    if a.shape[-2] != b.shape[-2]:
        raise ValueError(f"{op}: {b.shape[-2]} rows of shape {b.shape} do not fit matrices of shape {a.shape}")


def solve(cnp.ndarray a, cnp.ndarray b):
    """(X, info) of A X = B; a vector b stands for one column. X holds B where A is singular."""
    cdef Job job
    start(&job, "solve", a)
    if b.ndim == 1:
        x, info = solve(a, b[:, None])
        return np.ascontiguousarray(x[..., 0]), info
    batch = _common_batch("solve", a, b)
    _check_rows("solve", a, b)
    work, x = _copy(a, batch), _transposed_copy(b, batch)
    set_a(&job, work)
    set_b(&job, x)
    job.trans = b'T'      # LAPACK factors the transpose
    job.k = b.shape[b.ndim - 1]
    info = new_info(&job, batch)
    pivots = new_pivots(&job, batch)
    if work.size:
        for_each(solve_step, &job, info.size)
    return _transposed_copy(x), info


def inv(cnp.ndarray a):
    """(inverse, info)."""
    cdef Job job
    start(&job, "inv", a)
    work = _copy(a)
    set_a(&job, work)
    info = new_info(&job, _batch(a))
    pivots = new_pivots(&job, _batch(a))
    if work.size:
        for_each(inverse_step, &job, info.size)
    return work, info


def slogdet(cnp.ndarray a):
    """(sign, log of the determinant's absolute value); sign is complex for complex matrices, 0 for singular ones."""
    diagonal, odd = _lu_diagonal("slogdet", a)
    size = np.abs(diagonal)
    with np.errstate(divide="ignore", invalid="ignore"):  # log(0), and 0/0 where the sign is 0 anyway
        signs = np.where(size == 0, diagonal, diagonal / size)
        return np.asarray(signs.prod(-1) * odd), np.asarray(np.log(size).sum(-1))


def det(cnp.ndarray a):
    """Determinant."""
    diagonal, odd = _lu_diagonal("det", a)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return np.asarray(diagonal.prod(-1) * odd)


def _lu_diagonal(str op, cnp.ndarray a):
    """The diagonal of U, and -1 where an odd number of rows was exchanged (else 1); a matrix and its transpose agree."""
    cdef Job job
    start(&job, op, a)
    work = _copy(a)
    set_a(&job, work)
    info = new_info(&job, _batch(a))
    pivots = new_pivots(&job, _batch(a))
    if work.size:
        for_each(lu_step, &job, info.size)
    exchanges = (pivots != np.arange(1, job.n + 1)).sum(-1)
    return np.diagonal(work, axis1=-2, axis2=-1), (1 - 2 * (exchanges & 1)).astype(a.dtype)


# ---- Cholesky and triangular systems ------------------------------------------------------------------------------

cdef bint is_nan(const Job* job, const char* at) noexcept nogil:
    """Whether the real part of a number of the job's type is NaN."""
    cdef double x = (<const float*>at)[0] if job.form == 0 or job.form == C64 - F32 else (<const double*>at)[0]
    return x != x


cdef void cholesky_step(const Job* job, i64 i) noexcept nogil:
    """The factor, with zeros in the other triangle. OpenBLAS goes on with a pivot that is NaN; to LAPACK it isn't positive."""
    cdef char* a = job.a + i * job.a_step
    cdef i64 n = job.n, size = job.k, row
    job.info[i] = <cnp.int32_t>openblas.blas.potrf[job.form](COLUMN_MAJOR, job.option, n, a, max(1, n))
    for row in range(n):
        if job.option == b'U':           # to LAPACK the upper triangle, to us the lower one
            memset(a + (row * n + row + 1) * size, 0, (n - row - 1) * size)
        else:
            memset(a + row * n * size, 0, row * size)
        if job.info[i] == 0 and is_nan(job, a + (row * n + row) * size):
            job.info[i] = <cnp.int32_t>(row + 1)


cdef void triangular_step(const Job* job, i64 i) noexcept nogil:
    """X^T A^T = B^T, which is how LAPACK reads the row-major A X = B; of one column, A x = b from the transpose of A."""
    cdef char side = b'R', turned = b'N' if job.trans == b'T' else b'T'
    cdef double one[2]
    cdef i64 lda = max(1, job.n), ldb = max(1, job.k)
    cdef char* a = job.a + i * job.a_step
    cdef char* b = job.b + i * job.b_step
    if job.k == 1:
        openblas.blas.trsv[job.form](&job.option, &turned, &job.diag, &job.n, a, &lda, b, &ldb)
        return
    fill_scalar(job.form + F32, 1, one)
    openblas.blas.trsm[job.form](&side, &job.option, &job.trans, &job.diag, &job.k, &job.n, one, a, &lda, b, &ldb)


def cholesky(cnp.ndarray a, bint upper=False):
    """(L, info) of A = L L^H, or U of A = U^H U with ``upper``; reads that triangle only."""
    cdef Job job
    cdef cnp.ndarray work
    start(&job, "cholesky", a)
    work = _copy(a)
    set_a(&job, work)
    job.option = b'L' if upper else b'U'
    job.k = cnp.PyArray_ITEMSIZE(work)
    info = new_info(&job, _batch(a))
    if work.size:
        for_each(cholesky_step, &job, info.size)
    return work, info


def triangular_solve(cnp.ndarray a, cnp.ndarray b, bint upper=False, bint transpose=False, bint unitriangular=False):
    """X of A X = B, or A^T X = B with ``transpose``, reading one triangle of A (without its diagonal if unitriangular)."""
    cdef Job job
    start(&job, "triangular_solve", a)
    batch = _common_batch("triangular_solve", a, b)
    _check_rows("triangular_solve", a, b)
    work, x = _dense(a, batch), _copy(b, batch)
    set_a(&job, work)
    set_b(&job, x)
    job.option = b'L' if upper else b'U'
    job.trans = b'T' if transpose else b'N'
    job.diag = b'U' if unitriangular else b'N'
    job.k = b.shape[b.ndim - 1]
    if x.size:
        for_each(triangular_step, &job, x.size // (job.n * job.k))
    return x


def cholesky_solve(cnp.ndarray b, cnp.ndarray factor, bint upper=False):
    """X of A X = B from cholesky's factor of A."""
    adjoint = factor.swapaxes(-1, -2).conj()
    lower, higher = (adjoint, factor) if upper else (factor, adjoint)
    return triangular_solve(higher, triangular_solve(lower, b, False), True)


# ---- QR and least squares -----------------------------------------------------------------------------------------

cdef void qr_step(const Job* job, i64 i) noexcept nogil:
    openblas.blas.geqrf[job.form](COLUMN_MAJOR, job.m, job.n, job.a + i * job.a_step, max(1, job.m), job.b + i * job.b_step)


cdef void q_step(const Job* job, i64 i) noexcept nogil:
    """The first n columns of Q out of k reflectors, all in a."""
    openblas.blas.orgqr[job.form](COLUMN_MAJOR, job.m, job.n, job.k, job.a + i * job.a_step, max(1, job.m), job.b + i * job.b_step)


cdef void least_squares_step(const Job* job, i64 i) noexcept nogil:
    """gelsd, or gelsy if the option is 'Y'; b holds max(m, n) rows, c the singular values, d the rank."""
    cdef i64 lda = max(1, job.m), ldb = max(1, job.m, job.n)
    cdef void* a = job.a + i * job.a_step
    cdef void* b = job.b + i * job.b_step
    cdef void* s = job.c + i * job.c_step
    cdef i64* rank = <i64*>(job.d + i * job.d_step)
    cdef i64* pivots = job.pivots + i * job.pivots_step
    cdef bint single = job.form == 0 or job.form == C64 - F32
    cdef i64 info
    if job.option == b'Y' and single:
        info = (<gelsy_single_t>openblas.blas.gelsy[job.form])(COLUMN_MAJOR, job.m, job.n, job.k, a, lda, b, ldb, pivots, <float>job.tolerance, rank)
    elif job.option == b'Y':
        info = (<gelsy_double_t>openblas.blas.gelsy[job.form])(COLUMN_MAJOR, job.m, job.n, job.k, a, lda, b, ldb, pivots, job.tolerance, rank)
    elif single:
        info = (<gelsd_single_t>openblas.blas.gelsd[job.form])(COLUMN_MAJOR, job.m, job.n, job.k, a, lda, b, ldb, s, <float>job.tolerance, rank)
    else:
        info = (<gelsd_double_t>openblas.blas.gelsd[job.form])(COLUMN_MAJOR, job.m, job.n, job.k, a, lda, b, ldb, s, job.tolerance, rank)
    job.info[i] = <cnp.int32_t>info


def qr(cnp.ndarray a, str mode="reduced"):
    """(Q, R); 'complete' makes Q square, 'r' leaves Q empty."""
    cdef Job job
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"qr: mode must be 'reduced', 'complete' or 'r', got {mode!r}")
    start(&job, "qr", a, square=False)
    job.m, job.n = job.n, job.m
    job.k = min(job.m, job.n)
    columns = job.m if mode == "complete" else job.k
    batch = _batch(a)
    count = int(np.prod(batch))
    factors, tau = _transposed_copy(a), np.empty((*batch, 1, job.k), a.dtype)
    set_a(&job, factors)
    set_b(&job, tau)
    if factors.size:
        for_each(qr_step, &job, count)
    r = _transposed_copy(factors[..., :columns])
    clear_below(r)
    if mode == "r":
        return np.empty((0,), a.dtype), r
    q = np.zeros((*batch, columns, job.m), a.dtype)
    q[..., :job.k, :] = factors[..., :job.k, :]
    if job.k == 0:
        q[...] = np.eye(columns, job.m)
    set_a(&job, q)
    job.n = columns
    if job.k and count:
        for_each(q_step, &job, count)
    return _transposed_copy(q), r


def geqrf(cnp.ndarray a):
    """(factors, tau): R, and below it the reflections whose product is Q."""
    cdef Job job
    start(&job, "geqrf", a, square=False)
    job.m, job.n = job.n, job.m
    factors, tau = _transposed_copy(a), np.zeros((*_batch(a), 1, min(job.m, job.n)), a.dtype)
    set_a(&job, factors)
    set_b(&job, tau)
    if factors.size:
        for_each(qr_step, &job, int(np.prod(_batch(a))))
    return _transposed_copy(factors), tau[..., 0, :]


cdef i64 count_reflections(cnp.ndarray a, cnp.ndarray tau) except? -2:
    """How many factors tau has for each matrix; -1 where it isn't a batch of vectors as `a` is one of matrices."""
    return tau.shape[tau.ndim - 1] if tau.ndim == a.ndim - 1 and tau.dtype == a.dtype and np.shape(tau)[:-1] == _batch(a) else -1


def householder_product(cnp.ndarray a, cnp.ndarray tau):
    """The first columns of the product of reflections that geqrf gives."""
    cdef Job job
    start(&job, "householder_product", a, square=False)
    job.m, job.n = job.n, job.m
    job.k = count_reflections(a, tau)
    if not job.m >= job.n >= job.k >= 0:
        raise ValueError(f"householder_product: {np.shape(tau)} factors do not fit matrices of shape {np.shape(a)}")
    q, factors = _transposed_copy(a), _copy(tau[..., None, :])
    set_a(&job, q)
    set_b(&job, factors)
    if q.size:
        for_each(q_step, &job, int(np.prod(_batch(a))))
    return _transposed_copy(q)


cdef void q_times_step(const Job* job, i64 i) noexcept nogil:
    """Q times the m by n matrices in c, or c times Q, out of k reflections."""
    cdef i64 rows = job.m if job.option == b'L' else job.n
    job.info[i] = <cnp.int32_t>openblas.blas.ormqr[job.form](
        COLUMN_MAJOR, job.option, job.trans, job.m, job.n, job.k, job.a + i * job.a_step, max(1, rows), job.b + i * job.b_step,
        job.c + i * job.c_step, max(1, job.m))


def ormqr(cnp.ndarray a, cnp.ndarray tau, cnp.ndarray c, bint left=True, bint transpose=False):
    """Q C, C Q or the same with Q^H, from geqrf's results."""
    cdef Job job
    start(&job, "ormqr", a, square=False)
    k = count_reflections(a, tau)
    if (c.ndim != a.ndim or c.dtype != a.dtype or _batch(a) != _batch(c) or np.shape(a)[-2] != np.shape(c)[-2 if left else -1]
            or not 0 <= k <= min(np.shape(a)[-2:])):
        raise ValueError(f"ormqr: shapes {np.shape(a)}, {np.shape(tau)} and {np.shape(c)} do not fit")
    reflections, factors, result = _transposed_copy(a[..., :k]), _copy(tau[..., None, :]), _transposed_copy(c)
    set_a(&job, reflections)
    set_b(&job, factors)
    set_c(&job, result)
    job.m, job.n, job.k = c.shape[c.ndim - 2], c.shape[c.ndim - 1], k
    job.option = b'L' if left else b'R'
    job.trans = b'N' if not transpose else b'T' if job.form < C64 - F32 else b'C'
    info = new_info(&job, _batch(a))
    if result.size and k:
        for_each(q_times_step, &job, info.size)
    return _transposed_copy(result)


# ---- L D L^T ------------------------------------------------------------------------------------------------------

cdef void ldl_step(const Job* job, i64 i) noexcept nogil:
    cdef openblas.sytrf_t factor = openblas.blas.hetrf[job.form] if job.option == b'H' else openblas.blas.sytrf[job.form]
    job.info[i] = <cnp.int32_t>factor(
        COLUMN_MAJOR, b'L', job.n, job.a + i * job.a_step, max(1, job.n), job.pivots + i * job.pivots_step)


cdef void ldl_solve_step(const Job* job, i64 i) noexcept nogil:
    cdef openblas.sytrs_t solver = openblas.blas.hetrs[job.form] if job.option == b'H' else openblas.blas.sytrs[job.form]
    solver(
        COLUMN_MAJOR, b'L', job.n, job.k, job.a + i * job.a_step, max(1, job.n), job.pivots + i * job.pivots_step,
        job.b + i * job.b_step, max(1, job.n))


def ldl_factor(cnp.ndarray a, bint hermitian=False):
    """(LD, pivots, info) of A = L D L^T, or L D L^H with ``hermitian``, from the lower triangle; pivots as LAPACK's (int32)."""
    cdef Job job
    start(&job, "ldl_factor", a)
    work = _transposed_copy(a)
    set_a(&job, work)
    job.option = b'H' if hermitian else b'S'
    info = new_info(&job, _batch(a))
    pivots = new_pivots(&job, _batch(a))
    if work.size:
        for_each(ldl_step, &job, info.size)
    return _transposed_copy(work), pivots.astype(np.int32), info


def ldl_solve(cnp.ndarray ld, cnp.ndarray pivots, cnp.ndarray b, bint hermitian=False):
    """X of A X = B from ldl_factor's results."""
    cdef Job job
    start(&job, "ldl_solve", ld)
    batch = _common_batch("ldl_solve", ld, b)
    _check_rows("ldl_solve", ld, b)
    held = set_pivots(&job, "ldl_solve", pivots, batch, True)
    _check_blocks(held)
    work, x = _transposed_copy(ld, batch), _transposed_copy(b, batch)
    set_a(&job, work)
    set_b(&job, x)
    job.k = b.shape[b.ndim - 1]
    job.option = b'H' if hermitian else b'S'
    if x.size:
        for_each(ldl_solve_step, &job, x.size // (job.n * job.k))
    return _transposed_copy(x)


def _check_blocks(pivots):
    """A negative pivot stands for a block of two rows, so that negative ones come in pairs."""
    for row in pivots.reshape(-1, pivots.shape[-1]) if pivots.size else ():
        run = 0
        for value in row.tolist() + [1]:
            if value > 0 and run % 2:
                raise ValueError("ldl_solve: negative pivots must come in pairs")
            run = run + 1 if value < 0 else 0


def lstsq(cnp.ndarray a, cnp.ndarray b, rcond=None, str driver="gelsd"):
    """(X, rank, singular values, info): X of least norm among those that minimise |A X - B|.

    Singular values below rcond times the largest count as zero (default: eps max(m, n)). Driver 'gelsy' takes complete
    orthogonal factorisation instead and returns no singular values.
    """
    cdef Job job
    if driver not in ("gelsd", "gelsy"):
        raise ValueError(f"lstsq: driver must be 'gelsd' or 'gelsy', got {driver!r}")
    start(&job, "lstsq", a, square=False)
    batch = _common_batch("lstsq", a, b)
    _check_rows("lstsq", a, b)
    job.m, job.n = job.n, job.m
    job.k = b.shape[b.ndim - 1]
    job.tolerance = np.finfo(a.dtype).eps * max(job.m, job.n) if rcond is None else rcond
    job.option = b'Y' if driver == "gelsy" else b'D'
    factors = _transposed_copy(a, batch)
    x = np.zeros((*batch, job.k, max(job.m, job.n)), a.dtype)
    x[..., :job.m] = b.swapaxes(-1, -2)
    values = np.empty((*batch, 1, min(job.m, job.n)), _real(a.dtype))
    rank = np.zeros((*batch, 1, 1), np.int64)
    free_columns = np.zeros((*batch, job.n), np.int64)
    set_a(&job, factors)
    set_b(&job, x)
    set_c(&job, values)
    set_d(&job, rank)
    job.pivots = <i64*>cnp.PyArray_DATA(<cnp.ndarray>free_columns)
    job.pivots_step = job.n
    info = new_info(&job, batch)
    if factors.size:
        for_each(least_squares_step, &job, info.size)
    else:
        x[...] = 0
    found = np.ascontiguousarray(x[..., :job.n].swapaxes(-1, -2))
    return found, rank[..., 0, 0].copy(), values[..., 0, :] if driver == "gelsd" else values[..., 0, :0], info


# ---- singular values ----------------------------------------------------------------------------------------------

cdef void svd_step(const Job* job, i64 i) noexcept nogil:
    """A^T = U S V^H: read row by row, its V^H is A's U and its U is A's V^H."""
    job.info[i] = <cnp.int32_t>openblas.blas.gesdd[job.form](
        COLUMN_MAJOR, job.option, job.m, job.n, job.a + i * job.a_step, max(1, job.m), job.b + i * job.b_step,
        job.c + i * job.c_step, max(1, job.m), job.d + i * job.d_step, max(1, job.n if job.option == b'A' else job.k))


cdef tuple svd_with(cnp.ndarray a, char option):
    cdef Job job
    start(&job, "svd", a, square=False)
    job.k = min(job.m, job.n)
    job.option = option
    batch = _batch(a)
    u_columns = job.n if option == b'A' else job.k
    v_rows = job.m if option == b'A' else job.k
    work = _copy(a)
    s = np.empty((*batch, 1, job.k), _real(a.dtype))
    u = np.empty((*batch, job.n, u_columns) if option != b'N' else (*batch, 0, 0), a.dtype)
    vh = np.empty((*batch, v_rows, job.m) if option != b'N' else (*batch, 0, 0), a.dtype)
    set_a(&job, work)
    set_b(&job, s)
    set_c(&job, vh)
    set_d(&job, u)
    info = new_info(&job, batch)
    if work.size:
        for_each(svd_step, &job, info.size)
    else:
        for unitary in (u, vh):
            unitary[...] = np.eye(*unitary.shape[-2:])
    return u, s[..., 0, :], vh, info


def svd(cnp.ndarray a, bint full_matrices=False):
    """(U, S, Vh, info) of A = U diag(S) Vh, S descending."""
    return svd_with(a, b'A' if full_matrices else b'S')


def svdvals(cnp.ndarray a):
    """(S, info)."""
    _, s, _, info = svd_with(a, b'N')
    return s, info


# ---- eigenvalues --------------------------------------------------------------------------------------------------

cdef void eigh_step(const Job* job, i64 i) noexcept nogil:
    job.info[i] = <cnp.int32_t>openblas.blas.syevd[job.form](
        COLUMN_MAJOR, job.diag, job.option, job.n, job.a + i * job.a_step, max(1, job.n), job.b + i * job.b_step)


cdef void eig_real_step(const Job* job, i64 i) noexcept nogil:
    """b holds the real parts, then the imaginary parts; c the right eigenvectors."""
    cdef char* parts = job.b + i * job.b_step
    cdef i64 n = max(1, job.n)
    job.info[i] = <cnp.int32_t>(<geev_real_t>openblas.blas.geev[job.form])(
        COLUMN_MAJOR, b'N', job.option, job.n, job.a + i * job.a_step, n, parts, parts + job.b_step // 2,
        NULL, n, job.c + i * job.c_step, n)


cdef void eig_complex_step(const Job* job, i64 i) noexcept nogil:
    cdef i64 n = max(1, job.n)
    job.info[i] = <cnp.int32_t>(<geev_complex_t>openblas.blas.geev[job.form])(
        COLUMN_MAJOR, b'N', job.option, job.n, job.a + i * job.a_step, n, job.b + i * job.b_step,
        NULL, n, job.c + i * job.c_step, n)


cdef tuple eigh_with(cnp.ndarray a, str uplo, char vectors):
    cdef Job job
    if uplo not in ("L", "U"):
        raise ValueError(f"eigh: uplo must be 'L' or 'U', got {uplo!r}")
    start(&job, "eigh", a)
    work = _copy(a)
    w = np.empty((*_batch(a), 1, job.n), _real(a.dtype))
    set_a(&job, work)
    set_b(&job, w)
    job.option = b'U' if uplo == "L" else b'L'
    job.diag = vectors
    info = new_info(&job, _batch(a))
    if work.size:
        for_each(eigh_step, &job, info.size)
    return w[..., 0, :], work, info


def eigh(cnp.ndarray a, str uplo="L"):
    """(w, V, info) of the Hermitian A = V diag(w) V^H, w ascending; reads one triangle."""
    w, vectors, info = eigh_with(a, uplo, b'V')
    return w, _transposed_copy(vectors.conj()), info


def eigvalsh(cnp.ndarray a, str uplo="L"):
    """(w, info)."""
    w, _, info = eigh_with(a, uplo, b'N')
    return w, info


cdef tuple eig_with(cnp.ndarray a, char vectors):
    cdef Job job
    start(&job, "eig", a)
    if not np.isfinite(a).all():
        raise ValueError("eig: the matrix holds infinite values or NaN")
    real = job.form < C64 - F32
    work = _transposed_copy(a)
    w = np.empty((*_batch(a), 2 if real else 1, job.n), a.dtype)
    v = np.empty(np.shape(work), a.dtype)
    set_a(&job, work)
    set_b(&job, w)
    set_c(&job, v)
    job.option = vectors
    info = new_info(&job, _batch(a))
    if work.size:
        for_each(eig_real_step if real else eig_complex_step, &job, info.size)
    if not real:
        return w[..., 0, :], v, info
    return _join_parts(w[..., 0, :], w[..., 1, :], v, vectors == b'V') + (info,)


def _join_parts(real, imag, v, with_vectors):
    """Complex eigenvalues and (row) vectors: a pair's vectors are v[j] + i v[j + 1] and its conjugate."""
    dtype = np.result_type(real.dtype, np.complex64)
    w = np.empty(real.shape, dtype)
    w.real, w.imag = real, imag
    joined = v.astype(dtype)
    if with_vectors and imag.any():
        first, second = imag > 0, imag < 0
        joined.imag[first] = np.roll(v, -1, -2)[first]
        joined.real[second] = np.roll(v, 1, -2)[second]
        joined.imag[second] = -v[second]
    return w, joined


def eig(cnp.ndarray a):
    """(w, V, info) of A V = V diag(w), always complex."""
    w, vectors, info = eig_with(a, b'V')
    return w, _transposed_copy(vectors), info


def eigvals(cnp.ndarray a):
    """(w, info)."""
    w, _, info = eig_with(a, b'N')
    return w, info
