# Singular values and eigenvalues.


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
