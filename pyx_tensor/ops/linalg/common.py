"""What the operations of linear algebra share: checks of their matrices, and the errors of factorisations."""
import functools

from ...core.definitions import op, primitive
from ...core.record import namespace as B
from ...core.record import type_name

# What isn't in the package's own namespace: the functions of `pyx_tensor.linalg`, and the operations behind them.
linalg_op = functools.partial(op, hidden=True, method=False)
linalg_primitive = functools.partial(primitive, hidden=True, method=False)


class LinAlgError(RuntimeError):
    """A factorisation met a matrix that it can't do: a singular one, one that isn't positive definite, one without convergence."""


LinAlgError.__module__ = "pyx_tensor.linalg"


def title(dtype):
    """'Float' for float32, as messages name it."""
    return type_name(dtype)[6:-6]


def check_floating(name, x):
    """RuntimeError where x holds integers or bools."""
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {title(x.dtype)}")


def check_dtype(name, x):
    """RuntimeError where x holds no numbers that LAPACK takes (NotImplementedError for those of low precision)."""
    check_floating(name, x)
    if x.dtype.name in ("float16", "bfloat16"):
        raise NotImplementedError(f"\"{name}\" not implemented for '{title(x.dtype)}': Low precision dtypes not supported")


def check_matrices(name, x, argument="A"):
    """RuntimeError where x isn't a matrix or a batch of them, of floating point or complex numbers."""
    if x.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")
    check_dtype(name, x)


def check_square(name, x, argument="A"):
    """RuntimeError where x isn't a square matrix or a batch of them, of floating point or complex numbers."""
    check_matrices(name, x, argument)
    if x.shape[-1] != x.shape[-2]:
        raise RuntimeError(f"{name}: {argument} must be batches of square matrices, but they are {x.shape[-2]} by {x.shape[-1]} matrices")


def check_same_dtype(name, x, y, names=("A", "B")):
    if x.dtype is not y.dtype:
        raise RuntimeError(f"{name}: Expected {names[0]} and {names[1]} to have the same dtype, but found {names[0]} of type "
                           f"{title(x.dtype)} and {names[1]} of type {title(y.dtype)} instead")


def check_equations(name, A, right, left=True, names=("A", "B")):
    """RuntimeError where A X = B (X A = B unless `left`) makes no sense for these shapes and dtypes."""
    check_same_dtype(name, A, right, names)
    if right.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {names[1]} must have at least 2 dimensions.")
    if A.shape[-1 if not left else -2] != right.shape[-2 if left else -1]:
        sizes = [f"{x.shape[-2]}x{x.shape[-1]}" for x in (A, right)]
        raise RuntimeError(f"{name}: Incompatible shapes of {names[0]} and {names[1]} for the equation {'AX = B' if left else 'XA = B'} "
                           f"({sizes[0]} and {sizes[1]})")
    check_batches(name, A, right)


def check_batches(name, x, y):
    """RuntimeError where the batch sizes of two batches of matrices don't broadcast."""
    if x.shape[:-2] != y.shape[:-2]:
        try:
            B.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        except RuntimeError:
            raise RuntimeError(f"{name}: the batch dimensions of shapes {list(x.shape)} and {list(y.shape)} don't broadcast") from None


def check_info(name, info, what):
    """LinAlgError with the first number in `info` that isn't 0; `what(number)` says what it means."""
    if not bool(B.any(info)):
        return
    for at, number in enumerate(B.reshape(info, (-1,)).tolist()):
        if number:
            where = f"(Batch element {at}): " if info.ndim else ""
            raise (LinAlgError if number > 0 else RuntimeError)(f"{name}: {where}{what(number)}")


def zero_on_diagonal(number):
    return f"The diagonal element {number} is zero, the inversion could not be completed because the input matrix is singular."
