"""Singular values, eigenvalues, and their vectors."""
from ...core.definitions import op
from ...core.signature import T
from .common import LinAlgError, check_info, check_matrices, check_square, linalg_op, linalg_primitive


# --- derivatives --------------------------------------------------------------------------------------------------
def _unused(B, *gradients):
    """Whether no function of these outputs is differentiated: their gradients are constant zeros."""
    return not any(g.requires_grad or bool(B.any(g)) for g in gradients)


def _off_diagonal(B, numerator, denominator):
    """A quotient of square matrices without its diagonal."""
    one = B.eye(denominator.shape[-1], dtype=denominator.dtype, device=denominator.device)
    return B.div(B.mul(numerator, B.sub(1, one)), B.add(denominator, one))


def _differences(B, values):
    """values[j] - values[i] at (i, j)."""
    return B.sub(B.unsqueeze(values, -2), B.unsqueeze(values, -1))


def _check_phase(B, name, phase, scale):
    """Complex vectors are determined up to a factor of absolute value 1 each, on which a loss mustn't depend."""
    if bool(B.any(B.gt(B.abs(phase), B.add(B.mul(B.abs(scale), 1e-2), 1e-2)))):
        raise RuntimeError(f"{name}: The vectors in the complex case are specified up to multiplication by e^{{i phi}}. The specified loss "
                           "function depends on this quantity, so it is ill-defined.")


def _imaginary_diagonal(B, x):
    return B.imag(B.diagonal(x, 0, -2, -1))


# --- singular values ----------------------------------------------------------------------------------------------
def _svd_vjp(B, g, y):
    """J. Townsend, Differentiating the singular value decomposition (2016); Z.-Q. Wan & S.-X. Zhang (2019) for complex numbers.

    Vectors beyond the min(m, n) that belong to singular values are arbitrary; their gradients are left out.
    """
    k = y[1].shape[-1]

    def needed(values):
        return B.narrow(values[0], -1, 0, k), values[1], B.narrow(values[2], -2, 0, k)
    (U, S, Vh), (to_u, to_s, to_vh) = needed(y), needed(g)
    S, to_s = S.to(U.dtype), to_s.to(U.dtype)
    if _unused(B, to_u, to_vh):
        return B.matmul(B.mul(U, B.unsqueeze(to_s, -2)), Vh)
    in_u, in_v = B.matmul(B.adjoint(U), to_u), B.matmul(Vh, B.adjoint(to_vh))
    columns, rows = B.unsqueeze(S, -2), B.unsqueeze(S, -1)
    spread = B.mul(_differences(B, S), B.add(columns, rows))
    inner = B.add(B.mul(_off_diagonal(B, B.sub(in_u, B.adjoint(in_u)), spread), columns),
                  B.mul(_off_diagonal(B, B.sub(in_v, B.adjoint(in_v)), spread), rows))
    diagonal = to_s
    if U.dtype.is_complex:
        phase = _imaginary_diagonal(B, in_u)
        _check_phase(B, "svd_backward", B.add(phase, _imaginary_diagonal(B, in_v)), phase)
        diagonal = B.add(diagonal, B.div(B.mul(phase, 1j), S))
    inner = B.add(inner, B.diag_embed(diagonal))
    if U.shape[-2] > k:
        result = B.matmul(B.add(B.matmul(U, inner), B.div(B.sub(to_u, B.matmul(U, in_u)), columns)), Vh)
    else:
        result = B.matmul(U, B.matmul(inner, Vh))
    if Vh.shape[-1] > k:
        result = B.add(result, B.matmul(U, B.div(B.sub(to_vh, B.matmul(B.adjoint(in_v), Vh)), rows)))
    return result


@linalg_primitive(entry="svd", grad_name="LinalgSvd", returns=("U", "S", "Vh", "info"), nondiff=("info",),
           vjp=dict(A=_svd_vjp))
def _svd(B, A: T, full_matrices):
    """The decomposition, and LAPACK's info."""


def _values_vjp(B, g, A):
    U, _, Vh, _ = B._svd(A, False)
    return B.matmul(B.mul(U, B.unsqueeze(g[0].to(U.dtype), -2)), Vh)


@linalg_primitive(entry="svdvals", grad_name="LinalgSvd", returns=("S", "info"), nondiff=("info",), vjp=dict(A=_values_vjp))
def _svdvals(B, A: T):
    """Singular values alone, and LAPACK's info."""


def _no_convergence(number):
    return ("The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated values "
            f"(error code: {number}).")


def _check_svd(B, name, A, info):
    if bool(B.any(B.ne(info, 0))) and not bool(B.all(B.isfinite(A))):
        raise LinAlgError(f"{name}: The algorithm failed to converge because the input matrix contained non-finite values.")
    check_info(name, info, _no_convergence)


def _check_driver(name, driver):
    if driver is not None:
        raise RuntimeError(f"{name}: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.")


@linalg_op(returns=("U", "S", "Vh"))
def linalg_svd(B, A: T, full_matrices=True, *, driver=None):
    """(U, S, Vh) with A = U diag(S) Vh: orthonormal columns of U and rows of Vh, and singular values S in descending order.

    Args:
        A: (..., m, n). full_matrices: square U and Vh; else they have the smaller of m and n columns and rows.

    The gradient exists where singular values are distinct (and, where vectors count, not 0). A loss mustn't depend on the
    vectors' signs or phases.

    >>> U, S, Vh = torch.linalg.svd(torch.tensor([[3.0, 0.0], [0.0, 4.0]]))
    >>> S.round(decimals=4)
    tensor([4., 3.])
    """
    check_matrices("linalg.svd", A)
    _check_driver("linalg.svd", driver)
    U, S, Vh, info = B._svd(A, bool(full_matrices))
    _check_svd(B, "linalg.svd", A, info)
    return U, S, Vh


@linalg_op()
def linalg_svdvals(B, A: T, *, driver=None):
    """The singular values of matrices (..., m, n) in descending order, (..., min(m, n)).

    >>> torch.linalg.svdvals(torch.tensor([[3.0, 0.0], [0.0, -4.0]])).round(decimals=4)
    tensor([4., 3.])
    """
    check_matrices("linalg.svdvals", A)
    _check_driver("linalg.svdvals", driver)
    S, info = B._svdvals(A)
    _check_svd(B, "linalg.svdvals", A, info)
    return S


@op(returns=("U", "S", "V"))
def svd(B, input: T, some=True, compute_uv=True):
    """(U, S, V) with input = U diag(S) V^H. `torch.linalg.svd`, which gives V^H, is today's name for it.

    Args:
        some: min(m, n) columns in U and V; else they are square. compute_uv: False for zeros in place of the vectors.
    """
    check_matrices("svd", input)
    if not compute_uv:
        zeros = [B.zeros((*input.shape[:-2], n, n), dtype=input.dtype, device=input.device) for n in input.shape[-2:]]
        return zeros[0], B.linalg_svdvals(input), zeros[1]
    U, S, Vh = B.linalg_svd(input, not some)
    return U, S, B.adjoint(Vh)


# --- Hermitian matrices -------------------------------------------------------------------------------------------
def _eigh_vjp(B, g, y):
    """M. Giles, Collected matrix derivative results (2008), section 3.1, for orthonormal vectors."""
    values, V = y[0], y[1]
    inner = B.diag_embed(g[0]).to(V.dtype)
    if not _unused(B, g[1]):
        turned = B.matmul(B.adjoint(V), g[1])
        if V.dtype.is_complex:
            _check_phase(B, "linalg_eigh_backward", _imaginary_diagonal(B, turned), B.real(B.diagonal(turned, 0, -2, -1)))
        turned = B.mul(B.sub(turned, B.adjoint(turned)), 0.5)       # as A, the gradient is Hermitian
        inner = B.add(inner, _off_diagonal(B, turned, _differences(B, values).to(V.dtype)))
    return B.matmul(V, B.matmul(inner, B.adjoint(V)))


@linalg_primitive(entry="eigh", grad_name="LinalgEigh", returns=("eigenvalues", "eigenvectors", "info"), nondiff=("info",),
           vjp=dict(A=_eigh_vjp))
def _eigh(B, A: T, uplo):
    """The decomposition, and LAPACK's info."""


def _eigvalsh_vjp(B, g, A, uplo):
    V = B._eigh(A, uplo)[1]
    return B.matmul(B.mul(V, B.unsqueeze(g[0].to(V.dtype), -2)), B.adjoint(V))


@linalg_primitive(entry="eigvalsh", grad_name="LinalgEigh", returns=("eigenvalues", "info"), nondiff=("info",),
           vjp=dict(A=_eigvalsh_vjp))
def _eigvalsh(B, A: T, uplo):
    """Eigenvalues alone, and LAPACK's info."""


def _triangle_letter(name, A, uplo):
    check_square(name, A)
    if not isinstance(uplo, str) or uplo.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {uplo}")
    return uplo.upper()


@linalg_op(returns=("eigenvalues", "eigenvectors"))
def linalg_eigh(B, input: T, UPLO="L"):
    """(L, V) with A = V diag(L) V^H, for Hermitian matrices: eigenvalues L in ascending order, and orthonormal columns V.

    Args:
        input: A, (..., n, n). UPLO: which triangle of A is read, 'L' or 'U'.

    The gradient exists where eigenvalues are distinct; it takes A for Hermitian. A loss mustn't depend on the vectors' signs
    or phases.

    >>> L, V = torch.linalg.eigh(torch.tensor([[2.0, 1.0], [1.0, 2.0]]))
    >>> L.round(decimals=4)
    tensor([1., 3.])
    """
    values, vectors, info = B._eigh(input, _triangle_letter("linalg.eigh", input, UPLO))
    check_info("linalg.eigh", info, _no_convergence)
    return values, vectors


@linalg_op()
def linalg_eigvalsh(B, input: T, UPLO="L"):
    """The eigenvalues of Hermitian matrices (..., n, n) in ascending order; UPLO tells which triangle is read.

    >>> torch.linalg.eigvalsh(torch.tensor([[2.0, 1.0], [1.0, 2.0]])).round(decimals=4)
    tensor([1., 3.])
    """
    values, info = B._eigvalsh(input, _triangle_letter("linalg.eigvalsh", input, UPLO))
    check_info("linalg.eigvalsh", info, _no_convergence)
    return values


# --- general matrices ---------------------------------------------------------------------------------------------
def _eig_vjp(B, g, y):
    """C. Boeddeker et al., On the computation of complex-valued gradients (2017), eq. 4.77, for vectors of norm 1."""
    values, V = y[0], y[1]
    inner = B.diag_embed(g[0])
    if not _unused(B, g[1]):
        turned = B.matmul(B.adjoint(V), g[1])
        diagonal = B.diagonal(turned, 0, -2, -1)
        _check_phase(B, "linalg_eig_backward", B.imag(diagonal), B.real(diagonal))
        turned = B.sub(turned, B.mul(B.matmul(B.adjoint(V), V), B.unsqueeze(B.real(diagonal), -2)))
        inner = B.add(inner, _off_diagonal(B, turned, B.conj(_differences(B, values))))
    return B._solve(B.adjoint(V), B.matmul(inner, B.adjoint(V)))[0]


@linalg_primitive(entry="eig", result="complex", grad_name="LinalgEig", returns=("eigenvalues", "eigenvectors", "info"),
           nondiff=("info",), vjp=dict(A=_eig_vjp))
def _eig(B, A: T):
    """The decomposition, and LAPACK's info."""


def _eigvals_vjp(B, g, A):
    V = B._eig(A)[1]
    return B._solve(B.adjoint(V), B.mul(B.unsqueeze(g[0], -1), B.adjoint(V)))[0]


@linalg_primitive(entry="eigvals", result="complex", grad_name="LinalgEig", returns=("eigenvalues", "info"),
           nondiff=("info",), vjp=dict(A=_eigvals_vjp))
def _eigvals(B, A: T):
    """Eigenvalues alone, and LAPACK's info."""


def _check_finite(B, name, A):
    check_square(name, A)
    if not bool(B.all(B.isfinite(A))):
        raise RuntimeError(f"{name}: input tensor should not contain infs or NaNs.")


@linalg_op(returns=("eigenvalues", "eigenvectors"))
def linalg_eig(B, input: T):
    """(L, V) with A V = V diag(L), for square matrices: complex eigenvalues and, as columns, vectors of norm 1.

    The order of the eigenvalues isn't defined. The gradient exists where they are distinct. A loss mustn't depend on the
    vectors' phases. For Hermitian matrices `torch.linalg.eigh` is faster and more accurate.

    >>> L, V = torch.linalg.eig(torch.tensor([[2.0, 0.0], [0.0, 3.0]]))
    >>> L
    tensor([2.+0.j, 3.+0.j])
    """
    _check_finite(B, "linalg.eig", input)
    values, vectors, info = B._eig(input)
    check_info("linalg.eig", info, _no_convergence)
    return values, vectors


@linalg_op()
def linalg_eigvals(B, input: T):
    """The eigenvalues of square matrices (..., n, n), complex, in no particular order.

    >>> torch.linalg.eigvals(torch.tensor([[0.0, 1.0], [-1.0, 0.0]])).imag.abs().round(decimals=4)
    tensor([1., 1.])
    """
    _check_finite(B, "linalg.eigvals", input)
    values, info = B._eigvals(input)
    check_info("linalg.eigvals", info, _no_convergence)
    return values
