# L D L^T of symmetric and L D L^H of Hermitian matrices.


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
