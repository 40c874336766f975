"""How samples become a batch."""
import collections.abc
import copy

import numpy as np

from ...core.frontend import Tensor
from ...ops import namespace as ops
from . import worker

_NOT_NUMBERS = "SaUO"       # kinds of NumPy's dtypes that aren't numbers: strings, bytes, objects


def _unknown(what):
    return TypeError(f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {what}")


def collate_tensor_fn(batch, *, collate_fn_map=None):
    """Stack tensors; in a loader's process a batch that isn't small straight into shared memory, so that it needn't be copied again."""
    first = batch[0]
    if worker.get_worker_info() is not None and isinstance(first.array, np.ndarray):
        from ...core import sharing
        from ...multiprocessing.reductions import LOADER_THRESHOLD, new_shared
        if sharing.SUPPORTED and len(batch) * first.nbytes >= LOADER_THRESHOLD and all(
                type(item) is Tensor and item.dtype is first.dtype and item.shape == first.shape and not item.requires_grad for item in batch):
            return ops.stack(batch, 0, out=new_shared((len(batch), *first.shape), first.dtype))
    return ops.stack(batch, 0)


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    """Stack ndarrays."""
    if batch[0].dtype.kind in _NOT_NUMBERS:
        raise _unknown(batch[0].dtype)
    return collate_tensor_fn([ops.as_tensor(array) for array in batch])


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    """A tensor of NumPy's numbers."""
    return ops.as_tensor(np.array(batch))


def collate_number_fn(batch, *, collate_fn_map=None):
    """A tensor of ints or bools."""
    return ops.tensor(batch)


def collate_float_fn(batch, *, collate_fn_map=None):
    """A float64 tensor."""
    return ops.as_tensor(np.array(batch, np.float64))


def collate_str_fn(batch, *, collate_fn_map=None):
    """Strings stay a list."""
    return batch


#: class -> function(batch, collate_fn_map=...) for the batch of its objects; the first that fits is taken.
default_collate_fn_map = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_number_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def collate(batch, *, collate_fn_map=None):
    """The batch of a list of samples.

    Args:
        batch: the samples; containers (mappings, named tuples, sequences) of one structure give a container of batches.
        collate_fn_map: class (or tuple of classes) -> function(list of objects, collate_fn_map=...) that makes their batch.
    """
    first = batch[0]
    kind = type(first)
    if collate_fn_map:
        function = collate_fn_map.get(kind)
        if function is None:
            function = next((f for classes, f in collate_fn_map.items() if isinstance(first, classes)), None)
        if function is not None:
            return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, collections.abc.Mapping):
        return _rebuilt(first, {key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)))
    if isinstance(first, collections.abc.Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)]
        return columns if isinstance(first, tuple) else _rebuilt(first, columns)
    raise _unknown(kind)


def _rebuilt(like, content):
    """`content`, a dict or a list, as a container of the class of `like`, where that can be."""
    try:
        if isinstance(like, collections.abc.MutableMapping):
            result = copy.copy(like)
            result.update(content)
            return result
        if isinstance(like, collections.abc.MutableSequence):
            result = copy.copy(like)
            for place, item in enumerate(content):
                result[place] = item
            return result
        return type(like)(content)
    except TypeError:
        return content


def default_collate(batch):
    """The batch of a list of samples: tensors and arrays are stacked, numbers become a tensor, strings stay a list.

    Containers (mappings, named tuples, sequences) of one structure give a container of batches; a tuple gives a list. Raises
    TypeError for other objects, RuntimeError where sizes differ.

    >>> from pyx_tensor.utils.data import default_collate
    >>> default_collate([{"x": torch.ones(2), "y": 0}, {"x": torch.zeros(2), "y": 1}])
    {'x': tensor([[1., 1.],
            [0., 0.]]), 'y': tensor([0, 1])}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def default_convert(data):
    """NumPy's arrays and numbers as tensors, inside of containers too; everything else as it is (tuples become lists)."""
    kind = type(data)
    if isinstance(data, Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)) and not isinstance(data, (str, bytes)):
        return data if data.dtype.kind in _NOT_NUMBERS else ops.as_tensor(data)
    if isinstance(data, collections.abc.Mapping):
        return _rebuilt(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return kind(*(default_convert(item) for item in data))
    if isinstance(data, tuple):
        return [default_convert(item) for item in data]
    if isinstance(data, collections.abc.Sequence) and not isinstance(data, (str, bytes)):
        return _rebuilt(data, [default_convert(item) for item in data])
    return data
