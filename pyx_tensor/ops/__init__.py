"""The operations, one definition each. Importing this package fills the table, the methods and the operators."""
from ..core import definitions, tensor
from ..core.frontend import Tensor
from ..core.record import namespace  # noqa: F401 (every operation by its name)
from ..core.viewop import getitem_function
from ..core.writing import setitem_function
from . import (  # noqa: F401  (each enters its operations)
    activation, adaptive_pooling, attention, channels, choosing, compare, convolution, creation, ctc, diagonal, einsum, indexing, join, layouts, linalg, loss,
    memory, nn, numeric, optim, pointwise, pooling, queries, random, ranges, recurrent, recurrent_networks, reduce, reparameterised, sampling, scan, scatter, search, segments, select, shape,
    sliding, sorting, special, spectral, statistics, stft, storage, tensor_types, views, windows)
from . import calculus, histogram, native_norm  # noqa: F401
from . import aliases, attributes, early, foreach  # noqa: F401  (after the operations that they name)


def _attach():
    """Methods of Tensor, and the operations behind its operators."""
    for name, function in definitions.methods.items():
        if name not in Tensor.__dict__:
            setattr(Tensor, name, function)
    for name, (getter, setter) in definitions.properties.items():
        setattr(Tensor, name, property(getter, setter, doc=getter.__doc__))
    table = definitions.operations
    getitem = getitem_function(table["select"], table["_index_basic"], table["index"], indexing.getitem)
    setitem = setitem_function(table["select"], table["_index_basic"], table["_index_put_into"], table["_where"], indexing.setitem)
    tensor.fill_operators(table, getitem, setitem)


_attach()
