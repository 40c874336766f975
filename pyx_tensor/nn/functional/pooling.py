"""Pooling and unpooling."""
from ...core.dtype import by_name
from ...ops import namespace as ops
from ...ops.pooling import read_windows
from ...ops.sliding import each
from ._arguments import takes_tensors

avg_pool1d, avg_pool2d, avg_pool3d = ops.avg_pool1d, ops.avg_pool2d, ops.avg_pool3d
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = ops.adaptive_avg_pool1d, ops.adaptive_avg_pool2d, ops.adaptive_avg_pool3d


def _max_pool(spatial):
    values, with_indices = getattr(ops, f"max_pool{spatial}d"), getattr(ops, f"max_pool{spatial}d_with_indices")

    def pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        function = with_indices if return_indices else values
        return function(input, kernel_size, stride, padding, dilation, ceil_mode)

    def pool_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        return with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)

    pool.__name__ = pool.__qualname__ = f"max_pool{spatial}d"
    pool.__doc__ = values.__doc__ + "\n    With `return_indices` also where in its plane each greatest element stands."
    pool_with_indices.__name__ = pool_with_indices.__qualname__ = f"max_pool{spatial}d_with_indices"
    pool_with_indices.__doc__ = with_indices.__doc__
    return takes_tensors()(pool), takes_tensors()(pool_with_indices)


max_pool1d, max_pool1d_with_indices = _max_pool(1)
max_pool2d, max_pool2d_with_indices = _max_pool(2)
max_pool3d, max_pool3d_with_indices = _max_pool(3)


def _adaptive_max_pool(spatial):
    with_indices = getattr(ops, f"adaptive_max_pool{spatial}d")

    def pool(input, output_size, return_indices=False):
        values, indices = with_indices(input, output_size)
        return (values, indices) if return_indices else values

    def pool_with_indices(input, output_size, return_indices=False):
        return with_indices(input, output_size)

    pool.__name__ = pool.__qualname__ = f"adaptive_max_pool{spatial}d"
    pool_with_indices.__name__ = pool_with_indices.__qualname__ = pool.__name__ + "_with_indices"
    pool.__doc__ = pool_with_indices.__doc__ = with_indices.__doc__
    return takes_tensors()(pool), takes_tensors()(pool_with_indices)


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _adaptive_max_pool(1)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _adaptive_max_pool(2)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _adaptive_max_pool(3)


def _lp_pool(spatial):
    average = getattr(ops, f"avg_pool{spatial}d")

    def pool(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        kernel = each(kernel_size, spatial, lambda: f"lp_pool{spatial}d: kernel_size must be a single int, or a tuple of {spatial}")
        count = 1
        for k in kernel:
            count *= k
        mean = average(input.pow(norm_type), kernel, stride, 0, ceil_mode)
        return (mean.sign() * mean.abs().relu()).mul(count).pow(1.0 / norm_type)

    pool.__name__ = pool.__qualname__ = f"lp_pool{spatial}d"
    pool.__doc__ = f"The ``norm_type``-norm of each window, (Σ xᵖ)^(1/p), over the last {spatial} dims; see :func:`avg_pool{spatial}d`."
    return takes_tensors()(pool)


lp_pool1d, lp_pool2d, lp_pool3d = _lp_pool(1), _lp_pool(2), _lp_pool(3)


# --- fractional ---------------------------------------------------------------------------------------------------
def _fractional_max_pool(spatial):
    name = f"fractional_max_pool{spatial}d"

    def with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        if input.dim() not in (spatial + 1, spatial + 2):
            raise IndexError(f"{name}: Expected {spatial + 1}D or {spatial + 2}D input, got shape {list(input.shape)}")
        kernel = each(kernel_size, spatial, lambda: f"{name}: kernel_size must either be a single Int or tuple of Ints")
        size = tuple(input.shape[input.dim() - spatial:])
        if output_size is None:
            ratios = (output_ratio,) * spatial if isinstance(output_ratio, (int, float)) else tuple(output_ratio)
            if len(ratios) != spatial or not all(0 < ratio < 1 for ratio in ratios):
                raise ValueError(f"{name}: output_ratio must be between 0 and 1 (got {output_ratio})")
            output_size = [int(n * ratio) for n, ratio in zip(size, ratios)]
        grid = each(output_size, spatial, lambda: f"{name}: output_size must either be a single Int or tuple of Ints")
        for what, n, g, k in zip(("time", "height", "width")[3 - spatial:], size, grid, kernel):
            if g + k - 1 > n:
                raise RuntimeError(f"{name}(): pool {what} {k} too large relative to input {what} {n}")
        batch = input if input.dim() == spatial + 2 else input.unsqueeze(0)
        if 0 in batch.shape[1:]:
            raise RuntimeError(f"{name}: Expected input with non-zero size for non-batch dimensions, but input has sizes {list(input.shape)}")
        if _random_samples is None:
            _random_samples = ops.rand(batch.size(0), batch.size(1), spatial, dtype=input.dtype, device=input.device)
        if batch is not input:
            _random_samples = _random_samples[:1]
        if tuple(_random_samples.shape) != (*batch.shape[:2], spatial):
            raise RuntimeError(f"Expect _random_samples to have shape {(*batch.shape[:2], spatial)}, but got {tuple(_random_samples.shape)}")
        values, indices = ops._fractional_max_pool(batch, kernel, grid, _random_samples)
        return (values, indices) if batch is input else (values.squeeze(0), indices.squeeze(0))

    def pool(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        values, indices = with_indices(input, kernel_size, output_size, output_ratio, return_indices, _random_samples)
        return (values, indices) if return_indices else values

    pool.__name__ = pool.__qualname__ = name
    with_indices.__name__ = with_indices.__qualname__ = name + "_with_indices"
    pool.__doc__ = with_indices.__doc__ = f"""The greatest elements of windows at places drawn for each plane (Graham, 2015).

    Args:
        input: (N, C, *) or (C, *) with {spatial} spatial dims.
        kernel_size: the windows' size.
        output_size, output_ratio: how many windows there are along each dim, or which part of the input's size that is.
        return_indices: return also where in its plane each greatest element stands.
    """
    return takes_tensors()(pool), takes_tensors()(with_indices)


fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional_max_pool(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional_max_pool(3)


# --- unpooling ----------------------------------------------------------------------------------------------------
def _unpooled_size(input, kernel, stride, padding, output_size):
    """The spatial sizes that were pooled: by default the smallest possible ones."""
    spatial = len(kernel)
    default = [(n - 1) * s + k - 2 * p for n, k, s, p in zip(input.shape[input.dim() - spatial:], kernel, stride, padding)]
    if output_size is None:
        return tuple(default)
    if len(output_size) == spatial + 2:
        output_size = output_size[2:]
    if len(output_size) != spatial:
        raise ValueError(f"output_size should be a sequence containing {spatial} or {spatial + 2} elements, but it has a length of "
                         f"'{len(output_size)}'")
    for d, (n, size, s) in enumerate(zip(output_size, default, stride)):
        if not size - s < n < size + s:
            raise ValueError(f'invalid output_size "{tuple(output_size)}" (dim {d} must be between {size - s} and {size + s})')
    return tuple(output_size)


def _max_unpool(spatial):
    name = f"max_unpool{spatial}d"

    def unpool(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        kernel, stride, padding, _ = read_windows(name, spatial, kernel_size, stride, padding)
        size = _unpooled_size(input, kernel, stride, padding, output_size)
        if indices.dtype is not by_name["int64"]:
            raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype}")
        if indices.shape != input.shape:
            raise RuntimeError(f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got indices tensor "
                               f"with shape: {list(indices.shape)}")
        if input.dim() not in (spatial + 1, spatial + 2):
            raise RuntimeError(f"Input to max_unpooling{spatial}d should be a {spatial + 1}d or {spatial + 2}d Tensor, but got a tensor with "
                               f"{input.dim()} dimensions.")
        count = 1
        for n in size:
            count *= n
        outside = (indices < 0) | (indices >= count)
        if bool(outside.any()):
            raise RuntimeError(f"Found an invalid max index: {int(indices[outside][0])} (output volumes are of size "
                               f"{'x'.join(map(str, size + (1,) * (spatial == 1)))})")
        return ops._max_unpool(input, indices, size)

    unpool.__name__ = unpool.__qualname__ = name
    unpool.__doc__ = f"""Planes of zeros with the input's elements at the places that :func:`max_pool{spatial}d` told.

    Args:
        input, indices: what max pooling returned.
        kernel_size, stride, padding: those of the pooling.
        output_size: the size of what was pooled, where several are possible.
    """
    return takes_tensors(2)(unpool)


max_unpool1d, max_unpool2d, max_unpool3d = _max_unpool(1), _max_unpool(2), _max_unpool(3)
