# Cholesky factors and triangular systems.


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
