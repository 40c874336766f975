"""What a backend is: the one module of the core that a backend imports.

A backend knows arrays, never tensors. It declares what it can do, supplies the primitives below, and may add a method
for any operation of the table, named like the operation. Methods get arrays first, then plain arguments; arrays come
with one compute dtype, dims normalised (see docs/architecture.md). Of promotion, autograd and Tensors it is told nothing.
"""
from .derived import DerivedEntries


class OutOfMemoryError(RuntimeError, MemoryError):
    """Memory doesn't suffice for a result; a RuntimeError as PyTorch's, and Python's MemoryError."""


class allocating:
    """`with allocating(name):` raises OutOfMemoryError where NumPy can't allocate what the function of that name needs."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None and (issubclass(kind, MemoryError) or kind is ValueError and "too big" in str(error)):
            raise OutOfMemoryError(f"{self.name}(): {error}") from None


class Permissions:
    """What the user's program asks for or allows, for backends to heed; the front end writes it."""

    deterministic = False          # the same bits in every run
    tf32 = False                   # products of float32 may round their factors to 10 bits
    reduced_float16 = True         # sums of products of float16 may be added up in float16
    reduced_bfloat16 = True        # the same of bfloat16
    cudnn = True                   # cuDNN may be used
    cudnn_tf32 = True              # its convolutions of float32 may round their factors to 10 bits
    cudnn_deterministic = False    # it chooses algorithms with the same bits in every run


permissions = Permissions()


class Backend(DerivedEntries):
    """Base class of backends. Capabilities are declared here, never guessed from a name."""

    name = None                #: device type, as in ``device("name")``
    array_type = object        #: class of the arrays
    dtypes = {}                #: dtype name -> the backend's own dtype
    strided = False            #: arrays have strides, and ``as_strided`` makes any view
    views = False              #: slices and reshapes share memory with their array
    mutable = False            #: ``copy_`` writes in place
    host_memory = True         #: ``from_numpy`` and ``to_numpy`` may share memory with their argument
    recycler = 0               #: address of a C function int(PyObject*) offered the array of a tensor that dies; 0: none
    fallback_to_cpu = False    #: run what is missing on the CPU, with one warning per operation

    # -- devices
    def device_count(self):
        """How many devices there are; devices are numbered from 0."""
        return 1

    def current_device(self):
        """The index meant by a device without one; None where devices carry no index."""
        return None

    def synchronize(self, index=0):
        """Wait until the device has done all that it was asked."""

    def num_threads(self):
        """How many threads an operation may use on the host."""
        return 1

    def set_num_threads(self, n):
        """Use at most `n` threads; nothing to do where there is one."""

    def describe(self, load_libraries=False):
        """Name -> value of what `pyx_tensor.__config__.show()` tells of this backend.

        Libraries that are opened on first use are opened for this only if `load_libraries`.
        """
        return {}

    # -- arrays in and out: `index` is given only where devices carry one
    def from_numpy(self, array, index=0):
        """An array on device `index` with the values of a numpy.ndarray (shared where the backend can)."""
        raise NotImplementedError

    def to_numpy(self, array):
        """A numpy.ndarray with the values of `array` (shared where the backend can)."""
        raise NotImplementedError

    def transfer(self, array, index):
        """A copy on another device of this backend."""
        return self.from_numpy(self.to_numpy(array).copy(), index)

    def from_host(self, array, index, non_blocking=False):
        """`from_numpy`, which with `non_blocking` need not wait: the caller leaves the ndarray's values as they are until it has synchronized."""
        return self.from_numpy(array, index)

    def to_host(self, array, non_blocking=False):
        """`to_numpy`, which with `non_blocking` need not wait: the caller reads the values after it has synchronized."""
        return self.to_numpy(array)

    def is_pinned(self, array):
        """Does an ndarray lie in memory of the host that this backend's devices read and write on their own?"""
        return False

    def hold(self, array, stream):
        """Keep an array's memory until what a queue of work has been given so far is done."""

    def dtype_name(self, array):
        """The name of the array's dtype, a key of `dtypes`."""
        raise NotImplementedError

    def empty(self, shape, dtype, index=0):
        """An uninitialised C-contiguous array; `dtype` is the backend's own."""
        raise NotImplementedError

    def full(self, shape, value, dtype, index=0):
        """An array filled with a Python scalar."""
        raise NotImplementedError

    def number(self, value, dtype, *place):
        """A 0-dim array with a Python scalar that is only read, so that one may serve for several uses."""
        return self.full((), value, dtype, *place)

    def cast(self, array, dtype):
        """A new array of another dtype."""
        raise NotImplementedError

    def copy(self, array):
        """A C-contiguous copy."""
        raise NotImplementedError

    def copy_(self, array, source):
        """Write `source` (any dtype, broadcast) into `array` in place."""
        raise NotImplementedError(f"backend {self.name!r} has no arrays that can be written in place")

    def as_strided(self, array, shape, strides, offset):
        """A view of the memory of `array`: `offset` and `strides` in elements, `offset` from its first element.

        A backend that isn't `strided` gets C-contiguous arrays only and may return a copy.
        """
        raise NotImplementedError

    def strides(self, array):
        """Strides in elements; only asked of a `strided` backend."""
        raise NotImplementedError

    def view_dtype(self, array, dtype):
        """The memory of `array` read as another dtype, the last dim adjusted; ValueError where that can't be."""
        raise NotImplementedError(f"backend {self.name!r} can't read memory as another dtype")

    def offset(self, array, root):
        """Elements from the first element of `root` to that of `array`, a view of it; only for `strided` backends."""
        raise NotImplementedError


#: What `register_backend` insists on. Most other operations have defaults in terms of these, in the front end or in `derived`;
#: a backend that lacks one of the rest may ask for `fallback_to_cpu`.
MANDATORY = (
    "from_numpy", "to_numpy", "dtype_name", "empty", "full", "cast", "copy", "as_strided",
    "add", "mul", "div", "neg", "exp", "log", "sqrt", "sin", "floor", "maximum", "eq", "lt",
    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "where",
    "sum", "amax", "argmax", "matmul", "index_select", "scatter_add",
)
