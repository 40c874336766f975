"""The shape of a tensor."""
import math
import operator

cdef extern from *:
    """
    static PyObject* pyx_size_class;

    /* sizes[key] without a call of __getitem__, which does the same: an item as of any tuple, a slice as a Size. */
    static PyObject* pyx_size_subscript(PyObject* sizes, PyObject* key) {
        PyObject *arguments, *result, *item = PyTuple_Type.tp_as_mapping->mp_subscript(sizes, key);
        if (item == NULL || !PySlice_Check(key)) return item;
        arguments = PyTuple_Pack(1, item);
        Py_DECREF(item);
        if (arguments == NULL) return NULL;
        result = PyTuple_Type.tp_new((PyTypeObject*)pyx_size_class, arguments, NULL);
        Py_DECREF(arguments);
        return result;
    }
    static void pyx_quicken_subscript(PyObject* cls) {
        Py_INCREF(cls);
        pyx_size_class = cls;
        ((PyTypeObject*)cls)->tp_as_mapping->mp_subscript = pyx_size_subscript;
    }
    """
    void pyx_quicken_subscript(object cls)

__all__ = ["Size"]


class Size(tuple):
    """A tuple of ints, printed as ``torch.Size([2, 3])``, whose slices, sums and multiples are sizes too.

    Args:
        sizes: an iterable of ints, or of objects that stand for one (``__index__``), such as 0-dim integer tensors.

    Where the values are known to be ints already, ``tuple.__new__(Size, values)`` skips the check.
    """

    __slots__ = ()

    def __new__(cls, sizes=(), /):
        return tuple.__new__(cls, [_as_int(position, value) for position, value in enumerate(sizes)])

    def numel(self):
        """The number of elements of a tensor of this shape: the product of the sizes, 1 for no dimensions."""
        return math.prod(self)

    def __repr__(self):
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, key):
        item = tuple.__getitem__(self, key)
        return tuple.__new__(Size, item) if isinstance(key, slice) else item

    def __add__(self, other):
        if not isinstance(other, tuple):
            raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")
        return Size(tuple.__add__(self, other))

    def __radd__(self, other):
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, count):
        repeated = tuple.__mul__(self, count)
        return repeated if repeated is NotImplemented else tuple.__new__(Size, repeated)

    __rmul__ = __mul__

    def __reduce__(self):
        return Size, (tuple(self),)


pyx_quicken_subscript(Size)


def _as_int(position, value):
    try:
        return int(operator.index(value))
    except TypeError:
        raise TypeError(
            f"torch.Size() takes an iterable of 'int' (item {position} is '{type(value).__name__}')") from None
