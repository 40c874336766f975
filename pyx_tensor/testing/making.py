"""make_tensor: tensors of random elements to test with."""
import math

from ..core.record import namespace as B


def _limits(dtype, low, high):
    """The bounds [low, high) by default, and cut to what the dtype holds."""
    if dtype.name == "bool":
        first, last = 0, 2
    elif dtype.is_floating_point or dtype.is_complex:
        first, last = -9, 9
    else:
        first, last = (-9 if dtype.is_signed else 0), 10
    low, high = first if low is None else low, last if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"make_tensor: `low` and `high` cannot be NaN, but got low={low} and high={high}")
    if low > high or low == high and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"make_tensor: `low` must be less than `high`, but got low={low} and high={high}")
    return low, high


def make_tensor(*shape, dtype, device, low=None, high=None, requires_grad=False, noncontiguous=False, exclude_zero=False, memory_format=None):
    """A tensor of the given shape with random elements of [low, high).

    Args:
        shape: sizes, or one sequence of them. dtype, device: of the tensor.
        low, high: by default -9 and 9 for floating-point and complex dtypes (both parts), -9 and 10 for integers (0 and 10 for unsigned ones).
        noncontiguous: elements lie apart in memory, where there are several. exclude_zero: zeros are replaced by the smallest positive number
            (of integers by 1). memory_format: in what order dims lie in memory; not together with `noncontiguous`.

    >>> import pyx_tensor as torch
    >>> x = torch.testing.make_tensor(2, 3, dtype=torch.int64, device="cpu", low=0, high=4)
    >>> x.shape, bool(((x >= 0) & (x < 4)).all())
    (torch.Size([2, 3]), True)

    Raises:
        ValueError: `low` isn't below `high`; `noncontiguous` with `memory_format`; `requires_grad` for an integer or bool dtype.
    """
    shape = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    low, high = _limits(dtype, low, high)
    differentiable = dtype.is_floating_point or dtype.is_complex
    if noncontiguous and memory_format is not None:
        raise ValueError(f"make_tensor: the parameters `noncontiguous` and `memory_format` are mutually exclusive, but got {noncontiguous=} and {memory_format=}")
    if requires_grad and not differentiable:
        raise ValueError(f"make_tensor: `requires_grad` must be False for integral and boolean tensors, but got dtype {dtype}")
    if differentiable:
        result = B.empty(shape, dtype=dtype, device=device)
        (B.view_as_real(result) if dtype.is_complex else result).uniform_(low, high)
    else:
        result = B.randint(math.ceil(low), math.ceil(high), shape, dtype=dtype, device=device)
    if exclude_zero:
        tiny = 1 if not differentiable else B.tensor(2.0 ** -14 if dtype.itemsize == 2 else 2.0 ** -126, dtype=dtype)
        result = B.where(result == 0, tiny, result)
    if noncontiguous and result.numel() > 1:
        result = B.repeat_interleave(result, 2, -1)[..., ::2]
    elif memory_format is not None:
        result = result.contiguous(memory_format=memory_format)
    return result.requires_grad_(requires_grad)
