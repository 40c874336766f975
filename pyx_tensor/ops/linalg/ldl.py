"""L D L^T of symmetric and L D L^H of Hermitian matrices that need not be definite."""
from ...core.signature import Raw, T
from .common import check_equations, check_info, check_square, linalg_op, linalg_primitive


@linalg_primitive(entry="ldl_factor", nograd=True, returns=("LD", "pivots", "info"))
def _ldl_factor(B, input: T, hermitian):
    """LAPACK's sytrf or hetrf of the lower triangle."""


@linalg_primitive(entry="ldl_solve", nograd=True)
def _ldl_solve(B, LD: T, pivots: Raw, right: T, hermitian):
    """LAPACK's sytrs or hetrs."""


def _zero_block(number):
    return f"D[{number},{number}] is exactly zero; the factorization has been completed, but D is singular."


@linalg_op(nograd=True, entry=False, returns=("LD", "pivots", "info"))
def linalg_ldl_factor_ex(B, input: T, *, hermitian=False, check_errors=False):
    """(LD, pivots, info) as `torch.linalg.ldl_factor` gives the first two, with an int32 for each matrix instead of an error."""
    check_square("torch.linalg.ldl_factor_ex", input)
    LD, pivots, info = B._ldl_factor(input, bool(hermitian))
    if check_errors:
        check_info("torch.linalg.ldl_factor_ex", info, _zero_block)
    return B.tril(LD), pivots, info


@linalg_op(nograd=True, entry=False, returns=("LD", "pivots"))
def linalg_ldl_factor(B, input: T, *, hermitian=False):
    """(LD, pivots) of A = L D L^T (L D L^H if `hermitian`): both in one matrix, and the rows exchanged, as LAPACK stores them.

    Args:
        input: A, (..., n, n), symmetric or Hermitian; its lower triangle is read.

    Returns:
        LD, (..., n, n): D, of blocks of one or two rows, and below it L. pivots, (..., n), int32, counted from 1; two equal
        negative ones belong to a block of two rows. There is no derivative.
    """
    LD, pivots, info = B.linalg_ldl_factor_ex(input, hermitian=hermitian)
    check_info("torch.linalg.ldl_factor", info, _zero_block)
    return LD, pivots


@linalg_op(nograd=True, entry=False)
def linalg_ldl_solve(B, LD: T, pivots: Raw, other: T, *, hermitian=False):
    """X of A X = B from `torch.linalg.ldl_factor`'s results for A; `other` is B, (..., n, k). There is no derivative.

    >>> A = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> torch.linalg.ldl_solve(*torch.linalg.ldl_factor(A), torch.tensor([[3.0], [5.0]]))
    tensor([[5.],
            [3.]])
    """
    check_square("torch.linalg.ldl_solve", LD, "LD")
    check_equations("torch.linalg.ldl_solve", LD, other, names=("LD", "B"))
    if tuple(pivots.shape) != tuple(LD.shape[:-1]):
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
                           f"{list(pivots.shape)} and LD with shape {list(LD.shape)}")
    if pivots.dtype.is_floating_point or pivots.dtype.is_complex or pivots.dtype.name == "bool":
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {pivots.dtype}")
    return B._ldl_solve(LD, pivots, other, bool(hermitian))
