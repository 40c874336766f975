"""Matrix products."""
from ..core.definitions import op, primitive
from ..core.signature import Raw, T, Ts


def _h(B, x):
    """The conjugate transpose of matrices."""
    x = B.transpose(x, -2, -1)
    return B.conj(x) if x.dtype.is_complex else x


def _matmul_input(B, g, input, other):
    if input.ndim == 1 and other.ndim == 1:
        return B.mul(g, B.conj(other))
    if input.ndim == 1:
        return B.squeeze(B.matmul(B.unsqueeze(g, -2), _h(B, other)), -2)
    if other.ndim == 1:
        return B.mul(B.unsqueeze(g, -1), B.conj(other))
    return B.matmul(g, _h(B, other))


def _matmul_other(B, g, input, other):
    if input.ndim == 1 and other.ndim == 1:
        return B.mul(g, B.conj(input))
    if input.ndim == 1:
        return B.mul(B.unsqueeze(B.conj(input), -1), B.unsqueeze(g, -2))
    if other.ndim == 1:
        return B.squeeze(B.matmul(_h(B, input), B.unsqueeze(g, -1)), -1)
    if other.ndim == 2 and input.ndim > 2:       # one product instead of a sum over the batch
        rows = _product(input.shape[:-1])
        return B.matmul(_h(B, B.reshape(input, (rows, input.shape[-1]))), B.reshape(g, (rows, g.shape[-1])))
    return B.matmul(_h(B, input), g)


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


@primitive(promote="same", explain=_explain_matmul, vjp=dict(input=_matmul_input, other=_matmul_other))
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


@op(promote="common")
def inner(B, input: T, other: T):
    """Sums of products over the last dim of both."""
    if input.ndim == 0 or other.ndim == 0:
        return B.mul(input, other)
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(f"inner() the last dimension must match on both input tensors but got shapes {list(input.shape)} and {list(other.shape)}")
    return B.tensordot(input, other, ((-1,), (-1,)))


@op(public=("outer", "ger"), promote="common")
def outer(B, input: T, vec2: T):
    """The products of all pairs of elements of two vectors."""
    if input.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D argument {'self' if input.ndim != 1 else 'vec2'}, but got {(input if input.ndim != 1 else vec2).ndim}-D")
    return B.mul(B.unsqueeze(input, 1), vec2)


def _scaled(B, x, factor):
    return x if factor == 1 else B.mul(x, factor)


def _plus(B, input, product, beta, alpha):
    """beta·input + alpha·product; a beta of 0 hides NaN in the input."""
    product = _scaled(B, product, alpha)
    if beta == 0:
        return product
    return B.add(product, _scaled(B, input, beta))


@op(inplace=True)
def addmm(B, input: T, mat1: T, mat2: T, *, beta=1, alpha=1):
    """`beta * input + alpha * (mat1 @ mat2)`."""
    return _plus(B, input, B.mm(mat1, mat2), beta, alpha)


@op(inplace=True)
def addmv(B, input: T, mat: T, vec: T, *, beta=1, alpha=1):
    """`beta * input + alpha * (mat @ vec)`."""
    return _plus(B, input, B.mv(mat, vec), beta, alpha)


@op(inplace=True)
def addr(B, input: T, vec1: T, vec2: T, *, beta=1, alpha=1):
    """`beta * input + alpha * outer(vec1, vec2)`."""
    return _plus(B, input, B.outer(vec1, vec2), beta, alpha)


@op(inplace=True)
def baddbmm(B, input: T, batch1: T, batch2: T, *, beta=1, alpha=1):
    """`beta * input + alpha * bmm(batch1, batch2)`."""
    return _plus(B, input, B.bmm(batch1, batch2), beta, alpha)


@op(inplace=True)
def addbmm(B, input: T, batch1: T, batch2: T, *, beta=1, alpha=1):
    """`beta * input + alpha * bmm(batch1, batch2).sum(0)`."""
    return _plus(B, input, B.sum(B.bmm(batch1, batch2), 0), beta, alpha)


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
    for i, j in zip(left, right):
        if a.shape[i] != b.shape[j]:
            raise RuntimeError(f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and second has size {b.shape[j]} in dim {j}")
    keep_a = [d for d in range(a.ndim) if d not in left]
    keep_b = [d for d in range(b.ndim) if d not in right]
    inner = 1
    for d in left:
        inner *= a.shape[d]
    rows = [a.shape[d] for d in keep_a]
    columns = [b.shape[d] for d in keep_b]
    flat_a = B.reshape(B.permute(a, keep_a + left), (_product(rows), inner))
    flat_b = B.reshape(B.permute(b, right + keep_b), (inner, _product(columns)))
    return B.reshape(B.matmul(flat_a, flat_b), rows + columns)


def _product(sizes):
    count = 1
    for size in sizes:
        count *= size
    return count


@primitive(promote="float_only", nograd=True, hidden=True, entry="qr", returns=("Q", "R"))
def linalg_qr(B, input: T, mode="reduced"):
    """Q with orthonormal columns and the upper triangular R whose product is the matrix; min(n, m) columns and rows."""
