"""Functions of matrices, and equations between tensors."""
import math

from ...core.definitions import op
from ...core.signature import Dim, T, Ts
from .common import check_dtype, check_square, linalg_op


# --- powers and exponentials --------------------------------------------------------------------------------------
@op(public=("matrix_power",))
def linalg_matrix_power(B, input: T, n):
    """The n-th power of square matrices (..., n, n), by squaring; that of the inverse where n is negative.

    >>> torch.linalg.matrix_power(torch.tensor([[2.0, 0.0], [1.0, 1.0]]), 3)
    tensor([[8., 0.],
            [7., 1.]])
    """
    if input.ndim < 2 or input.shape[-1] != input.shape[-2]:
        raise RuntimeError(f"linalg.matrix_power: A must be batches of square matrices, but got shape {list(input.shape)}")
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"matrix_power(): argument 'n' must be int, not {type(n).__name__}")
    if n == 0:
        identity = B.eye(input.shape[-1], dtype=input.dtype, device=input.device)
        return B.where(B.isfinite(identity), identity, input)       # of input's shape, and its function: its gradient is 0
    base = B.linalg_inv(input) if n < 0 else input
    power, n = None, abs(n)
    while n:
        if n & 1:
            power = base if power is None else B.matmul(power, base)
        n >>= 1
        if n:
            base = B.matmul(base, base)
    return B.clone(power) if power is input else power


# N. Higham, The scaling and squaring method for the matrix exponential revisited (2005): the [13/13] Padé approximant, good for
# matrices of 1-norm up to 5.37 in double precision.
_PADE = (64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600, 670442572800,
         33522128640, 1323241920, 40840800, 960960, 16380, 182, 1)
_LARGEST = 5.371920351148152


def _exp_vjp(B, g, input):
    """The derivative in a direction is a block of the exponential of a matrix of twice the size (R. Mathias, 1996)."""
    n = input.shape[-1]
    at = B.adjoint(input)
    blocks = B.cat([B.cat([at, g], -1), B.cat([B.zeros_like(at), at], -1)], -2)
    return B.narrow(B.narrow(B.linalg_matrix_exp(blocks), -2, 0, n), -1, n, n)


def _pade(B, x):
    """The exponential of matrices of small norm."""
    one = B.eye(x.shape[-1], dtype=x.dtype, device=x.device)
    scale = 1.0 / _PADE[0]
    b = [c * scale for c in _PADE]
    x2 = B.matmul(x, x)
    x4 = B.matmul(x2, x2)
    x6 = B.matmul(x4, x2)

    def combined(first, second, third, last):
        return B.add(B.add(B.mul(x6, first), B.mul(x4, second)), B.add(B.mul(x2, third), B.mul(one, last) if last else 0))
    odd = B.matmul(x, B.add(B.matmul(x6, combined(b[13], b[11], b[9], 0)), combined(b[7], b[5], b[3], b[1])))
    even = B.add(B.matmul(x6, combined(b[12], b[10], b[8], 0)), combined(b[6], b[4], b[2], b[0]))
    return B._solve(B.sub(even, odd), B.add(even, odd))[0]


@op(public=("matrix_exp",), vjp=dict(input=_exp_vjp), entry=False, grad_name="LinalgMatrixExp")
def linalg_matrix_exp(B, input: T):
    """The exponentials of square matrices (..., n, n): 1 + A + A² / 2! + A³ / 3! + …

    >>> torch.linalg.matrix_exp(torch.tensor([[0.0, 1.0], [0.0, 0.0]])).round(decimals=4)
    tensor([[1., 1.],
            [0., 1.]])
    """
    if input.dtype.name in ("float16", "bfloat16"):
        return B.linalg_matrix_exp(input.float()).to(input.dtype)
    check_square("linalg.matrix_exp", input)
    if not input.numel():
        return B.clone(input)
    size = B.amax(B.sum(B.abs(input), -2), -1)
    doublings = B.ceil(B.log2(B.div(size, _LARGEST)))
    doublings = B.clamp(B.masked_fill(doublings, B.logical_not(B.isfinite(doublings)), 0), min=0)
    doublings = B.unsqueeze(B.unsqueeze(doublings, -1), -1)
    result = _pade(B, B.mul(input, B.exp2(B.neg(doublings))))
    for done in range(int(B.amax(doublings).item())):
        result = B.where(B.gt(doublings, done), B.matmul(result, result), result)
    return result


# --- equations between tensors ------------------------------------------------------------------------------------
@linalg_op()
def linalg_tensorinv(B, input: T, ind=2):
    """The inverse of `tensordot(·, A, ...)`: that of A as a matrix from its last dims to its first `ind`.

    Returns:
        A tensor of shape A.shape[ind:] + A.shape[:ind].

    >>> A = torch.eye(6).reshape(2, 3, 6)
    >>> torch.linalg.tensorinv(A).shape
    torch.Size([6, 2, 3])
    """
    check_dtype("linalg.tensorinv", input)
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    rows, columns = tuple(input.shape[:ind]), tuple(input.shape[ind:])
    if math.prod(rows) != math.prod(columns):
        raise RuntimeError(f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got {math.prod(columns)} "
                           f"!= {math.prod(rows)}")
    return B.reshape(B.linalg_inv(B.reshape(input, (math.prod(rows), math.prod(columns)))), columns + rows)


@linalg_op()
def linalg_tensorsolve(B, input: T, other: T, dims=None):
    """X of `tensordot(A, X, X.ndim) = B`.

    Args:
        input: A, of shape B.shape + X.shape, where both have as many elements. other: B. dims: dims of A to move to the end first.

    >>> A = torch.eye(6).reshape(2, 3, 6)
    >>> torch.linalg.tensorsolve(A, torch.ones(2, 3)).shape
    torch.Size([6])
    """
    check_dtype("linalg.tensorsolve", input)
    if dims is not None:
        input = B.movedim(input, tuple(dims), tuple(range(-len(dims), 0)))
    unknown = tuple(input.shape[other.ndim:])
    if math.prod(unknown) != other.numel() or math.prod(input.shape[:other.ndim]) != other.numel():
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got "
                           f"{math.prod(unknown)} != {math.prod(input.shape[:other.ndim])}")
    matrix = B.reshape(input, (other.numel(), math.prod(unknown)))
    return B.reshape(B.linalg_solve(matrix, B.reshape(other, (-1,))), unknown)


# --- vectors ------------------------------------------------------------------------------------------------------
@linalg_op(promote="common")
def linalg_vecdot(B, x: T, y: T, *, dim=-1):
    """The sums of products of two tensors along a dim, the first one conjugated. Shapes broadcast.

    >>> torch.linalg.vecdot(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor(11.)
    """
    return B.sum(B.mul(B.conj(x), y), dim)


@linalg_op()
def linalg_cross(B, input: T, other: T, *, dim: Dim = -1):
    """The cross products of vectors of three elements along a dim. Shapes broadcast.

    >>> torch.linalg.cross(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    return B.cross(input, other, dim)


@linalg_op()
def linalg_diagonal(B, A: T, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of matrices, a view with them in the last dim.

    >>> torch.linalg.diagonal(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([1., 4.])
    """
    return B.diagonal(A, offset, dim1, dim2)


def _powers(B, x, count):
    """1, x, x², … in a new last dim, `count` of them."""
    ones = B.ones((*x.shape, 1), dtype=x.dtype, device=x.device)
    repeated = B.expand(B.unsqueeze(x, -1), (*x.shape, max(count - 1, 0)))
    return B.narrow(B.cat([ones, B.cumprod(repeated, -1)], -1), -1, 0, count)


@linalg_op()
def linalg_vander(B, x: T, *, N=None):
    """The Vandermonde matrices of vectors (..., n): 1, x, x², … in columns, N of them (n by default).

    >>> torch.linalg.vander(torch.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [1, 2, 4],
            [1, 3, 9]])
    """
    x = x if x.ndim else B.unsqueeze(x, 0)
    N = x.shape[-1] if N is None else N
    if N <= 1:
        raise RuntimeError(f"N must be greater than 1, got N={N}")
    return _powers(B, x, N)


@linalg_op()
def linalg_multi_dot(B, tensors: Ts):
    """The product of several matrices (the first and the last may be vectors), in the order that costs least.

    >>> torch.linalg.multi_dot([torch.ones(2), torch.eye(2), torch.ones(2)])
    tensor(2.)
    """
    return B.multi_dot(tensors)
