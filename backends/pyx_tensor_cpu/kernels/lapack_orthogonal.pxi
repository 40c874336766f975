# QR, products of reflections, and least squares.


cdef void qr_step(const Job* job, i64 i) noexcept nogil:
    openblas.blas.geqrf[job.form](COLUMN_MAJOR, job.m, job.n, job.a + i * job.a_step, max(1, job.m), job.b + i * job.b_step)


cdef void q_step(const Job* job, i64 i) noexcept nogil:
    """The first n columns of Q out of k reflectors, all in a."""
    openblas.blas.orgqr[job.form](COLUMN_MAJOR, job.m, job.n, job.k, job.a + i * job.a_step, max(1, job.m), job.b + i * job.b_step)


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
