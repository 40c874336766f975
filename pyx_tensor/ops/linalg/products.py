"""Matrix products."""
import math

from ...core.definitions import composes, op, primitive
from ...core.dtype import by_name
from ...core.record import namespace
from ...core.signature import Number, T, Ts
from ...core.tensor import TensorBase


def _matmul_input(B, g, input, other):
    if input.ndim == 1 and other.ndim == 1:
        return B.mul(g, B.conj(other))
    if input.ndim == 1:
        return B.squeeze(B.matmul(B.unsqueeze(g, -2), B.adjoint(other)), -2)
    if other.ndim == 1:
        return B.mul(B.unsqueeze(g, -1), B.conj(other))
    return B.matmul(g, B.adjoint(other))


def _matmul_other(B, g, input, other):
    if input.ndim == 1 and other.ndim == 1:
        return B.mul(g, B.conj(input))
    if input.ndim == 1:
        return B.mul(B.unsqueeze(B.conj(input), -1), B.unsqueeze(g, -2))
    if other.ndim == 1:
        return B.squeeze(B.matmul(B.adjoint(input), B.unsqueeze(g, -1)), -1)
    if other.ndim == 2 and input.ndim > 2:       # one product instead of a sum over the batch
        rows = math.prod(input.shape[:-1])
        return B.matmul(B.adjoint(B.reshape(input, (rows, input.shape[-1]))), B.reshape(g, (rows, g.shape[-1])))
    return B.matmul(B.adjoint(input), g)


def _shapes(input, other):
    return f"{'x'.join(map(str, input.shape))} and {'x'.join(map(str, other.shape))}"


def _explain_matmul(input, other):
    if input.ndim == 0 or other.ndim == 0:
        return f"both arguments to matmul need to be at least 1D, but they are {input.ndim}D and {other.ndim}D"
    if input.ndim == 1 and other.ndim == 1:
        return f"inconsistent tensor size, expected tensor {list(input.shape)} and src {list(other.shape)} to have the same number of elements"
    if input.shape[-1] != other.shape[-2 if other.ndim > 1 else 0]:
        if input.ndim <= 2 and other.ndim <= 2:
            return f"mat1 and mat2 shapes cannot be multiplied ({_shapes(input, other)})"
        return f"Expected size for first two dimensions of batch2 tensor to fit the first operand's: shapes {_shapes(input, other)}"
    return f"the batch dimensions of the operands don't broadcast: shapes {list(input.shape)} and {list(other.shape)}"


def _matmul_name(input, other):
    """A node's name, by the dims of the operands."""
    return f"{ {(2, 2): 'Mm', (2, 1): 'Mv', (1, 1): 'Dot'}.get((input.ndim, other.ndim), 'Bmm')}Backward0"


@primitive(promote="same", explain=_explain_matmul, grad_name=_matmul_name, vjp=dict(input=_matmul_input, other=_matmul_other))
def matmul(B, input: T, other: T):
    """The matrix product.

    Vectors are rows on the left and columns on the right; of more than two dims the last two are matrices and the others
    broadcast: (n, m) @ (m, p) -> (n, p), (b, n, m) @ (m, p) -> (b, n, p), (m) @ (m) -> ().

    Raises:
        RuntimeError: the inner sizes or the dtypes differ, or an operand has no dim.
    """


def _need(name, condition, message):
    if not condition:
        raise RuntimeError(f"{name}: {message}")


@op()
def mm(B, input: T, mat2: T):
    """The product of two matrices (n, m) and (m, p)."""
    if input.ndim != 2 or mat2.ndim != 2:
        raise RuntimeError(f"{'self' if input.ndim != 2 else 'mat2'} must be a matrix")
    return B.matmul(input, mat2)


@op()
def bmm(B, input: T, mat2: T):
    """The products of two batches of matrices (b, n, m) and (b, m, p)."""
    if input.ndim != 3 or mat2.ndim != 3:
        raise RuntimeError(f"batch{1 if input.ndim != 3 else 2} must be a 3D tensor")
    if input.shape[0] != mat2.shape[0] or input.shape[2] != mat2.shape[1]:
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{input.shape[0]}, {input.shape[2]}] but got: "
                           f"[{mat2.shape[0]}, {mat2.shape[1]}].")
    return B.matmul(input, mat2)


@op()
def mv(B, input: T, vec: T):
    """A matrix (n, m) times a vector (m)."""
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {vec.ndim}, {input.ndim}, {vec.ndim}")
    if input.shape[1] != vec.shape[0]:
        raise RuntimeError(f"size mismatch, got input ({input.shape[0]}), mat ({_shapes(input, input).split(' ')[0]}), vec ({vec.shape[0]})")
    return B.matmul(input, vec)


@op()
def dot(B, input: T, tensor: T):
    """The sum of products of two vectors."""
    if input.ndim != 1 or tensor.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {input.ndim}D and {tensor.ndim}D tensors")
    return B.matmul(input, tensor)


@op()
def vdot(B, input: T, other: T):
    """The sum of products of two vectors, the first one conjugated."""
    return B.dot(B.conj(input), other)


@op(promote="common", numbers="none")
def inner(B, input: T, other: T):
    """Sums of products over the last dim of both."""
    if input.ndim == 0 or other.ndim == 0:
        return B.mul(input, other)
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(f"inner() the last dimension must match on both input tensors but got shapes {list(input.shape)} and {list(other.shape)}")
    return B.tensordot(input, other, ((-1,), (-1,)))


@op(public=("outer", "ger"), promote="common", numbers="none")
def outer(B, input: T, vec2: T):
    """The products of all pairs of elements of two vectors."""
    if input.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D argument {'self' if input.ndim != 1 else 'vec2'}, but got {(input if input.ndim != 1 else vec2).ndim}-D")
    return B.mul(B.unsqueeze(input, 1), vec2)


def _scaled(B, x, factor):
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        factor = bool(factor) if x.dtype.name == "bool" else int(factor)
    return x if factor == 1 else B.mul(x, factor)


def _hidden(B, x):
    """0·x without NaN for infinities and NaN, as in BLAS; the gradient is 0, not missing."""
    return B.masked_fill(x, B.ones((), dtype=by_name["bool"], device=x.device), 0)


def _plus(B, input, product, beta, alpha):
    """beta·input + alpha·product."""
    product = _scaled(B, product, alpha) if alpha else _hidden(B, product)
    if beta:
        return B.add(product, _scaled(B, input, beta))
    return B.add(product, _hidden(B, input)) if input.requires_grad else B.expand(product, B.broadcast_shapes(product.shape, input.shape))


def _of_half_type(*tensors):
    """Whether all are of one half type."""
    return tensors[0].dtype.name in ("float16", "bfloat16") and all(t.dtype is tensors[0].dtype for t in tensors)


def _plus_product(B, multiply, input, a, b, beta, alpha):
    """beta·input + alpha·multiply(a, b); half types in float32, rounded once."""
    if not _of_half_type(input, a, b):
        return _plus(B, input, multiply(a, b), beta, alpha)
    return _plus(B, input.float(), multiply(a.float(), b.float()), beta, alpha).to(a.dtype)


@op(inplace=True)
def addmm(B, input: T, mat1: T, mat2: T, *, beta: Number = 1, alpha: Number = 1):
    """`beta * input + alpha * (mat1 @ mat2)`. A factor of 0 hides NaN and infinities of its term."""
    if beta == alpha == 1 and input.ndim == 1 and mat1.ndim == mat2.ndim == 2 and input.shape[0] == mat2.shape[1] and _of_half_type(input, mat1, mat2):
        return B.linear(mat1, B.t(mat2), input)                 # a layer by another name, whose kernel rounds once
    return _plus_product(B, B.mm, input, mat1, mat2, beta, alpha)


@op(inplace=True)
def addmv(B, input: T, mat: T, vec: T, *, beta: Number = 1, alpha: Number = 1):
    """`beta * input + alpha * (mat @ vec)`. A factor of 0 hides NaN and infinities of its term."""
    return _plus_product(B, B.mv, input, mat, vec, beta, alpha)


@op(inplace=True)
def addr(B, input: T, vec1: T, vec2: T, *, beta: Number = 1, alpha: Number = 1):
    """`beta * input + alpha * outer(vec1, vec2)`. Unlike in the sums of matrix products, an alpha of 0 hides no NaN."""
    return _plus(B, input, _scaled(B, B.outer(vec1, vec2), alpha), beta, 1)


@op(inplace=True)
def baddbmm(B, input: T, batch1: T, batch2: T, *, beta: Number = 1, alpha: Number = 1):
    """`beta * input + alpha * bmm(batch1, batch2)`."""
    return _plus_product(B, B.bmm, input, batch1, batch2, beta, alpha)


@op(inplace=True)
def addbmm(B, input: T, batch1: T, batch2: T, *, beta: Number = 1, alpha: Number = 1):
    """`beta * input + alpha * bmm(batch1, batch2).sum(0)`."""
    return _plus_product(B, lambda a, b: B.sum(B.bmm(a, b), 0, dtype=a.dtype), input, batch1, batch2, beta, alpha)


@op(method=False)
def tensordot(B, a: T, b: T, dims=2):
    """Sums of products over pairs of dims: the last `dims` of a with the first of b, or two lists of dims."""
    if hasattr(dims, "tolist"):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        left, right = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        left, right = ([d] if isinstance(d, int) else list(d) for d in dims)
    left, right = [d % a.ndim for d in left], [d % b.ndim for d in right]
    for i, j in zip(left, right):      # a dim of size 1 broadcasts: the other's sum is what counts
        if a.shape[i] == 1:
            b = B.sum(b, j, True, dtype=b.dtype)
        elif b.shape[j] == 1:
            a = B.sum(a, i, True, dtype=a.dtype)
        if a.shape[i] != b.shape[j]:
            raise RuntimeError(f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and second has size {b.shape[j]} in dim {j}")
    keep_a = [d for d in range(a.ndim) if d not in left]
    keep_b = [d for d in range(b.ndim) if d not in right]
    inner = 1
    for d in left:
        inner *= a.shape[d]
    rows = [a.shape[d] for d in keep_a]
    columns = [b.shape[d] for d in keep_b]
    flat_a = B.reshape(B.permute(a, keep_a + left), (math.prod(rows), inner))
    flat_b = B.reshape(B.permute(b, right + keep_b), (inner, math.prod(columns)))
    return B.reshape(B.matmul(flat_a, flat_b), rows + columns)


# --- several products ---------------------------------------------------------------------------------------------
@op()
def kron(B, input: T, other: T):
    """The Kronecker product: each element of `input` times all of `other`, in its place."""
    ndim = max(input.ndim, other.ndim)
    left, right = [(1,) * (ndim - t.ndim) + tuple(t.shape) for t in (input, other)]
    product = B.mul(B.reshape(input, [n for size in left for n in (size, 1)]), B.reshape(other, [n for size in right for n in (1, size)]))
    return B.reshape(product, [a * b for a, b in zip(left, right)])


def _cheapest_split(sizes):
    """For a chain of matrices sizes[i] × sizes[i+1]: where to split each stretch (i, j) for the fewest multiplications."""
    cost, split = {}, {}
    n = len(sizes) - 1
    for i in range(n):
        cost[i, i] = 0
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            cost[i, j], split[i, j] = min((cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j))
    return split


@op(method=False, hidden=True)
def multi_dot(B, tensors: Ts):
    """The product of several matrices (the first and the last may be vectors), in the order that costs least."""
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    chain = list(tensors)
    row, column = chain[0].ndim == 1, chain[-1].ndim == 1
    chain[0] = B.unsqueeze(chain[0], 0) if row else chain[0]
    chain[-1] = B.unsqueeze(chain[-1], 1) if column else chain[-1]
    for at, t in enumerate(chain):
        if t.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {at} must be 2D but got {tensors[at].ndim}D")
        if t.dtype is not chain[0].dtype:
            raise RuntimeError(f"multi_dot(): all tensors must have be the same dtype, got {chain[0].dtype} and {t.dtype}")
        if at and t.shape[0] != chain[at - 1].shape[1]:
            raise RuntimeError(f"multi_dot(): tensors {at - 1} and {at} with shapes {list(chain[at - 1].shape)} and {list(t.shape)} cannot be multiplied")
    split = _cheapest_split([chain[0].shape[0]] + [t.shape[1] for t in chain])

    def product(i, j):
        return chain[i] if i == j else B.matmul(product(i, split[i, j]), product(split[i, j] + 1, j))
    result = product(0, len(chain) - 1)
    shape = [n for n, drop in zip(result.shape, (row, column)) if not drop]
    return B.reshape(result, shape)


@composes
def chain_matmul(*matrices, out=None):
    """The product of several matrices, in the order that costs least."""
    matrices = list(matrices[0]) if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)) else list(matrices)
    if len(matrices) == 1 and not isinstance(matrices[0], TensorBase):
        raise TypeError(f"chain_matmul(): argument 'matrices' must be Tensors, not {type(matrices[0]).__name__}")
    result = matrices[0] if len(matrices) == 1 else namespace.multi_dot(matrices)
    return result if out is None else out.copy_(result)
