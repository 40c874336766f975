"""`vmap`: a function of one sample as a function of a batch of them."""
from contextlib import contextmanager
from functools import wraps

from ..core.record import namespace as B
from ..core.tensor import TensorBase
from ..ops.random import default_generator
from . import _trees as trees


def _is_dim(value):
    return value is None or isinstance(value, int)


def _name(func):
    return getattr(func, "__name__", repr(func))


def _dims_of(args, in_dims, name):
    """The dim of each leaf of the arguments that is mapped over, counted from the front, or None; ValueError where `in_dims` doesn't fit them."""
    call = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not args:
        raise ValueError(f"{call}: got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with no inputs.")
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(f"{call}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: {type(in_dims)}.")
    dims = trees.spread(list(in_dims) if isinstance(in_dims, tuple) else in_dims, list(args), _is_dim)
    if dims is None:
        raise ValueError(f"{call}: in_dims is not compatible with the structure of inputs: {len(args)} arguments.")
    return [_dim_of(leaf, dim, call) for leaf, dim in zip(trees.leaves(args), dims)]


def _dim_of(leaf, dim, call):
    if dim is None:
        return None
    if not isinstance(leaf, TensorBase):
        raise ValueError(f"{call}: got in_dim={dim} for an input, but the input is of type {type(leaf)}: only tensors are mapped over, "
                         "use None as its in_dim.")
    if not -leaf.ndim <= dim < leaf.ndim:
        raise ValueError(f"{call}: got in_dim={dim} for some input, but that input is a Tensor of dimensionality {leaf.ndim} so expected in_dim to "
                         f"satisfy -{leaf.ndim} <= in_dim < {leaf.ndim}.")
    return dim % leaf.ndim


def _batch_size(args, dims, name):
    sizes = {leaf.shape[dim] for leaf, dim in zip(trees.leaves(args), dims) if dim is not None}
    if not sizes:
        raise ValueError(f"vmap({name}): at least one input must have a dim to map over, in_dims are all None.")
    if len(sizes) > 1:
        raise ValueError(f"vmap({name}): expected all tensors to have the same size in the mapped dimension, got sizes {sorted(sizes)} for the mapped "
                         "dimension")
    return sizes.pop()


@contextmanager
def _draws(randomness):
    """Yields what starts a sample's random numbers; RuntimeError at the end where there may be none."""
    before = default_generator.get_state()

    def start():
        if randomness == "same":
            default_generator.set_state(before)
    yield start
    if randomness == "error" and not B.equal(default_generator.get_state(), before):
        default_generator.set_state(before)
        raise RuntimeError("vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags "
                           "on vmap or perform the randomness operation out of vmap")


def _tensors_of(output, name):
    for leaf in trees.leaves(output):
        if not isinstance(leaf, TensorBase):
            raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(leaf)}.")
    return trees.leaves(output)


def _joined(parts, dim, name):
    """The results of all samples as one tensor, or the one that all have alike where `dim` is None."""
    if dim is not None:
        if not -parts[0].ndim - 1 <= dim <= parts[0].ndim:
            raise IndexError(f"vmap({name}): Dimension out of range (expected to be in range of [{-parts[0].ndim - 1}, {parts[0].ndim}], but got {dim})")
        return B.stack(parts, dim)
    if any(part is not parts[0] and not B.equal(part, parts[0]) for part in parts):
        raise ValueError(f"vmap({name}, ...): `{name}` can not return a tensor that differs between samples when out_dim is None.")
    return parts[0]


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """A function that maps `func` over a dim of its arguments, and stacks the results along a new one.

    `func` is called for one sample after the other, so that it costs as much as a loop; what it does in Python may depend on the values. Derivatives
    of the results, and functions within one another, are as of that loop.

    Args:
        func: takes and returns tensors, also in nested tuples, lists and dicts.
        in_dims: the dim to map over: one for all arguments, or one for each (None: the same for all samples), nested as they are where they
            are nested. Keyword arguments are the same for all samples.
        out_dims: where the new dim stands in the results, in the same way; None for a result that doesn't depend on the sample.
        randomness: 'error' if `func` may draw no random numbers, 'same' for the same ones for all samples, 'different' for others each.
        chunk_size: accepted; the samples are computed one by one all the same.

    >>> import pyx_tensor as torch
    >>> torch.vmap(torch.dot)(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([[1., 1.], [2., 0.]]))
    tensor([3., 6.])

    Raises:
        ValueError: `in_dims` or `out_dims` don't fit the arguments or results, sizes of the mapped dims differ, or a result is no tensor.
        RuntimeError: random numbers were drawn with 'error'.
        NotImplementedError: there is no sample, so that the results' shapes aren't known.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = _name(func)

    @wraps(func)
    def mapped(*args, **kwargs):
        dims = _dims_of(args, in_dims, name)
        size = _batch_size(args, dims, name)
        if not size:
            raise NotImplementedError(f"vmap({name}): the mapped dim is of size 0, and without a sample the results' shapes aren't known")
        samples = [[leaf] * size if dim is None else B.unbind(leaf, dim) for leaf, dim in zip(trees.leaves(args), dims)]
        outputs = []
        with _draws(randomness) as start:
            for sample in zip(*samples):
                start()
                outputs.append(func(*trees.like(args, sample), **kwargs))
        places = trees.spread(out_dims, outputs[0], _is_dim)
        if places is None and isinstance(out_dims, tuple) and len(out_dims) == 1:
            places = trees.spread(out_dims[0], outputs[0], _is_dim)
        if places is None:
            raise ValueError(f"vmap({name}, ..., out_dims={out_dims}): out_dims is not compatible with the structure of the outputs.")
        parts = zip(*[_tensors_of(output, name) for output in outputs])
        return trees.like(outputs[0], [_joined(list(part), dim, name) for part, dim in zip(parts, places)])
    return mapped
