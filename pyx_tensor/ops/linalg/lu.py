"""LU with row exchanges, and what solves systems of equations by it."""
from ...core.definitions import composes, methods, op
from ...core.record import namespace
from ...core.signature import Raw, T
from .common import check_equations, check_info, check_matrices, check_same_dtype, check_square, linalg_op, linalg_primitive, zero_on_diagonal


# --- the factorisation --------------------------------------------------------------------------------------------
def _triangles(B, compact):
    """L with its unit diagonal, and U."""
    m, n = compact.shape[-2:]
    k = min(m, n)
    below = B.tril(B.narrow(compact, -1, 0, k), -1)
    return B.add(below, B.eye(m, k, dtype=compact.dtype, device=compact.device)), B.triu(B.narrow(compact, -2, 0, k))


def _permuted(B, x, order):
    """The rows of matrices in another order."""
    return B.gather(x, -2, B.expand(B.unsqueeze(order, -1), tuple(x.shape)))


def _lu_vjp(B, g, y):
    """From L^-1 P^T dA U^-1 = L^-1 dL + dU U^-1, whose terms are a strictly lower and an upper triangle.

    Where the matrix is wide, U = (U1 U2) with U2 = L^-1 P^T A2; where it is tall, the rows below of L are A2 U^-1.
    """
    compact, pivots, _ = y
    m, n = compact.shape[-2:]
    k = min(m, n)
    lower, upper = _triangles(B, compact)
    to_lower, to_upper = B.tril(B.narrow(g[0], -1, 0, k), -1), B.triu(B.narrow(g[0], -2, 0, k))
    L, U = B.narrow(lower, -2, 0, k), B.narrow(upper, -1, 0, k)
    from_lower = B.matmul(B.adjoint(L), B.narrow(to_lower, -2, 0, k))
    from_upper = B.matmul(B.narrow(to_upper, -1, 0, k), B.adjoint(U))
    if n > k:
        from_lower = B.sub(from_lower, B.matmul(B.narrow(to_upper, -1, k, n - k), B.adjoint(B.narrow(upper, -1, k, n - k))))
    if m > k:
        from_upper = B.sub(from_upper, B.matmul(B.adjoint(B.narrow(lower, -2, k, m - k)), B.narrow(to_lower, -2, k, m - k)))
    inner = B.add(B.tril(from_lower, -1), B.triu(from_upper))
    inner = B._triangular_solve(B.conj(L), inner, False, True, True)

    def over_upper(x):      # x U^-H
        return B.adjoint(B._triangular_solve(U, B.adjoint(x), True, False, False))
    result = over_upper(inner)
    if n > k:
        beside = B._triangular_solve(B.conj(L), B.narrow(to_upper, -1, k, n - k), False, True, True)
        result = B.cat([result, beside], -1)
    if m > k:
        result = B.cat([result, over_upper(B.narrow(to_lower, -2, k, m - k))], -2)
    return _permuted(B, result, B.argsort(B._lu_permutation(pivots, m)))


@linalg_primitive(entry="lu_factor", grad_name="LinalgLuFactorEx", returns=("LU", "pivots", "info"),
           nondiff=("pivots", "info"), vjp=dict(A=_lu_vjp))
def _lu_factor(B, A: T):
    """L and U in one matrix, the row exchanged with row i (counted from 1, int32), and LAPACK's info."""


@linalg_primitive(entry="lu_permutation", nograd=True)
def _lu_permutation(B, pivots: Raw, rows):
    """int64 places with (P^T A)[i] = A[places[i]], from exchanges counted from 1."""


def _needs_pivots(name, pivot):
    if not pivot:
        raise RuntimeError(f"{name}: LU without pivoting is not implemented on the CPU")


def zero_pivot(number):
    return (f"U[{number},{number}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the "
            "factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)")


@linalg_op(returns=("LU", "pivots", "info"))
def linalg_lu_factor_ex(B, A: T, *, pivot=True, check_errors=False):
    """(LU, pivots, info) as `torch.linalg.lu_factor` gives the first two, with an int32 for each matrix instead of an error.

    `info` is 0, or the place of the first zero on U's diagonal, counted from 1. check_errors: raise then after all.
    """
    check_matrices("torch.lu_factor", A)
    _needs_pivots("linalg.lu_factor", pivot)
    result = B._lu_factor(A)
    if check_errors:
        check_info("torch.linalg.lu_factor_ex", result[2], zero_pivot)
    return tuple(result)


@linalg_op(returns=("LU", "pivots"))
def linalg_lu_factor(B, A: T, *, pivot=True):
    """(LU, pivots) of A = P L U: both triangles in one matrix, and the rows exchanged one after the other.

    Args:
        A: (..., m, n).

    Returns:
        LU, (..., m, n): U, and below its diagonal L without its own, which is 1. pivots, (..., min(m, n)), int32: row i
        was exchanged with row pivots[i], both counted from 1.

    Raises:
        LinAlgError: U has a zero on its diagonal.

    >>> torch.linalg.lu_factor(torch.tensor([[1.0, 2.0], [2.0, 4.5]]))
    torch.return_types.linalg_lu_factor(
    LU=tensor([[ 2.0000,  4.5000],
            [ 0.5000, -0.2500]]),
    pivots=tensor([2, 2], dtype=torch.int32))
    """
    compact, pivots, info = B.linalg_lu_factor_ex(A, pivot=pivot)
    check_info("torch.linalg.lu_factor", info, zero_pivot)
    return compact, pivots


def _permutation_matrix(B, pivots, rows, dtype):
    places = B._lu_permutation(pivots, rows)
    counted = B.unsqueeze(B.arange(rows, device=pivots.device), -1)
    return B.eq(counted, B.unsqueeze(places, -2)).to(dtype)


@linalg_op(returns=("P", "L", "U"))
def linalg_lu(B, A: T, *, pivot=True):
    """(P, L, U) with A = P L U: a permutation, a lower triangle with a diagonal of ones, an upper triangle.

    Args:
        A: (..., m, n); L is (..., m, k) and U (..., k, n) with k the smaller of m and n.

    >>> P, L, U = torch.linalg.lu(torch.tensor([[1.0, 2.0], [2.0, 4.5]]))
    >>> P @ L @ U
    tensor([[1.0000, 2.0000],
            [2.0000, 4.5000]])
    """
    check_matrices("linalg.lu", A)
    _needs_pivots("linalg.lu", pivot)
    compact, pivots, _ = B._lu_factor(A)
    return _permutation_matrix(B, pivots, A.shape[-2], A.dtype), *_triangles(B, compact)


@op(returns=("P", "L", "U"), method=False)
def lu_unpack(B, LU_data: T, LU_pivots: Raw, unpack_data=True, unpack_pivots=True):
    """(P, L, U) from what `torch.linalg.lu_factor` gives; empty tensors for what isn't asked for."""
    if LU_pivots.dtype.name != "int32":
        raise RuntimeError(f"torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype, got {LU_pivots.dtype}")
    empty = B.empty((0,), dtype=LU_data.dtype, device=LU_data.device)
    P = _permutation_matrix(B, LU_pivots, LU_data.shape[-2], LU_data.dtype) if unpack_pivots else empty
    return (P, *(_triangles(B, LU_data) if unpack_data else (empty, empty)))


@op(returns=("LU", "pivots", "info"))
def _lu_with_info(B, A: T, pivot=True, check_errors=True):
    """(LU, pivots, info), with an error for a zero on U's diagonal if `check_errors`."""
    return tuple(B.linalg_lu_factor_ex(A, pivot=pivot, check_errors=check_errors))


@composes
def lu(A, pivot=True, get_infos=False):
    """(LU, pivots), and info where `get_infos`. `torch.linalg.lu_factor` and `torch.linalg.lu_factor_ex` are today's names for it."""
    result = namespace._lu_with_info(A, pivot, not get_infos)
    return result if get_infos else tuple(result[:2])


methods["lu"] = lu


# --- systems of equations -----------------------------------------------------------------------------------------
@linalg_op(entry="lu_solve")
def _lu_solve(B, LU: T, pivots: Raw, right: T, adjoint):
    """X of A X = B from A's factors, or of A^H X = B."""
    places = B._lu_permutation(pivots, LU.shape[-1])
    batch = B.broadcast_shapes(LU.shape[:-2], right.shape[:-2])
    right, places = B.expand(right, (*batch, *right.shape[-2:])), B.expand(places, (*batch, places.shape[-1]))
    if not adjoint:
        right = B._triangular_solve(LU, _permuted(B, right, places), False, False, True)
        return B._triangular_solve(LU, right, True, False, False)
    LU = B.conj(LU)
    right = B._triangular_solve(LU, right, True, True, False)
    right = B._triangular_solve(LU, right, False, True, True)
    return _permuted(B, right, B.argsort(places))


@linalg_op()
def linalg_lu_solve(B, LU: T, pivots: Raw, other: T, *, left=True, adjoint=False):
    """X of A X = B from `torch.linalg.lu_factor`'s results for A.

    Args:
        LU, pivots: (..., n, n) and (..., n). other: B, (..., n, k), or (..., k, n) unless `left`.
        left: False for X A = B. adjoint: take A^H in place of A.
    """
    check_square("torch.linalg.lu_solve", LU, "LU")
    if pivots.dtype.name != "int32":
        raise RuntimeError(f"linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32. Got {pivots.dtype}")
    check_equations("linalg.lu_solve", LU, other, left, ("LU", "B"))
    if tuple(pivots.shape) != tuple(LU.shape[:-1]):
        raise RuntimeError(f"linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix: pivots have shape "
                           f"{list(pivots.shape)}, LU {list(LU.shape)}")
    if left:
        return B._lu_solve(LU, pivots, other, adjoint)
    return B.adjoint(B._lu_solve(LU, pivots, B.adjoint(other), not adjoint))


@op()
def lu_solve(B, input: T, LU_data: T, LU_pivots: Raw):
    """X of A X = `input` from A's LU factors. `torch.linalg.lu_solve` is today's name for it."""
    return B.linalg_lu_solve(LU_data, LU_pivots, input)


def _solve_vjp(B, g, y, A, needs):
    """From A dX = dB - dA X."""
    to_right = B._solve(B.adjoint(A), g[0])[0]
    return B.neg(B.matmul(to_right, B.adjoint(y[0]))) if needs[0] else None, to_right


@linalg_op(entry="solve", grad_name="LinalgSolveEx", returns=("result", "info"), nondiff=("info",),
    vjp={("A", "right"): _solve_vjp})
def _solve(B, A: T, right: T):
    """X of A X = B, and LAPACK's info."""
    compact, pivots, info = B._lu_factor(B.expand(A, (*B.broadcast_shapes(A.shape[:-2], right.shape[:-2]), *A.shape[-2:])))
    return B._lu_solve(compact, pivots, right, False), info


def _is_vector(A, right):
    """PyTorch's rule: a right-hand side of one dim, or of A's batch with a vector for each matrix."""
    return right.ndim == 1 or (A.ndim - 1 == right.ndim and tuple(right.shape) == tuple(A.shape[:-1]))


def _singular(number):
    return "The solver failed because the input matrix is singular."


@linalg_op(returns=("result", "info"))
def linalg_solve_ex(B, A: T, other: T, *, left=True, check_errors=False):
    """(X, info) as `torch.linalg.solve` gives X, with an int32 for each matrix instead of an error."""
    return _solved(B, "linalg.solve_ex" if check_errors else "linalg.solve", A, other, left, check_errors)


def _solved(B, name, A, other, left, check_errors):
    check_square("linalg.solve", A)
    check_same_dtype("linalg.solve", A, other)
    vector = _is_vector(A, other)
    if vector and not left:
        raise RuntimeError("linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case linalg.solve "
                           "is equivalent to B / A.squeeze(-1)")
    right = B.unsqueeze(other, -1) if vector else other
    check_equations("linalg.solve", A, right, left)
    if left:
        result, info = B._solve(A, right)
    else:
        result, info = B._solve(B.transpose(A, -2, -1), B.transpose(right, -2, -1))
        result = B.transpose(result, -2, -1)
    if check_errors:
        check_info(name, info, _singular)
    return B.squeeze(result, -1) if vector else result, info


@linalg_op()
def linalg_solve(B, A: T, other: T, *, left=True):
    """X of A X = B, for square matrices that aren't singular.

    Args:
        A: (..., n, n). other: B, (..., n, k), or (..., n) for one right-hand side. Batches broadcast.
        left: False for X A = B.

    Raises:
        LinAlgError: a matrix is singular.

    >>> A = torch.tensor([[3.0, 1.0], [1.0, 2.0]])
    >>> torch.linalg.solve(A, torch.tensor([9.0, 8.0]))
    tensor([2., 3.])
    """
    return _solved(B, "torch.linalg.solve", A, other, left, True)[0]


# --- inverses -----------------------------------------------------------------------------------------------------
@linalg_op(entry="inv", grad_name="LinalgInvEx", returns=("inverse", "info"), nondiff=("info",),
    vjp=dict(A=lambda B, g, y: B.neg(B.matmul(B.adjoint(y[0]), B.matmul(g[0], B.adjoint(y[0]))))))
def _inv(B, A: T):
    """The inverse, and LAPACK's info."""
    return tuple(B._solve(A, B.eye(A.shape[-1], dtype=A.dtype, device=A.device)))


@linalg_op(returns=("inverse", "info"))
def linalg_inv_ex(B, A: T, *, check_errors=False):
    """(inverse, info) as `torch.linalg.inv` gives the first, with an int32 for each matrix instead of an error."""
    check_square("linalg.inv", A)
    result = B._inv(A)
    if check_errors:
        check_info("linalg.inv_ex", result[1], zero_on_diagonal)
    return tuple(result)


@op(public=("inverse",))
def linalg_inv(B, A: T):
    """The inverses of square matrices (..., n, n).

    Raises:
        LinAlgError: a matrix is singular.

    >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [1.0, 4.0]]))
    tensor([[ 0.5000,  0.0000],
            [-0.1250,  0.2500]])
    """
    check_square("linalg.inv", A)
    inverse, info = B._inv(A)
    check_info("linalg.inv", info, zero_on_diagonal)
    return inverse
