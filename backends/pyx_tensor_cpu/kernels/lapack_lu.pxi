# LU, and what solves systems, inverts and takes determinants by it.


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
