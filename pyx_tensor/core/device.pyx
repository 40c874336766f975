"""Devices: a backend's name and an index. One object each."""

cimport cython

cdef extern from *:
    """
    static PyObject* pyx_make_device = NULL;
    static PyObject* pyx_new_device(PyTypeObject* type, PyObject* args, PyObject* names) {
        return PyObject_Call(pyx_make_device, args, names);
    }
    static void pyx_set_constructor(PyTypeObject* type, PyObject* function) {
        Py_INCREF(function);
        pyx_make_device = function;
        type->tp_new = pyx_new_device;
        type->tp_vectorcall = NULL;      /* which would bypass tp_new */
    }
    """
    void pyx_set_constructor(type cls, object function)

cdef dict _devices = {}
cdef object _resolver = None      # the registry's function: Device -> (backend, slot, canonical index)


def set_resolver(function):
    """Called once by the registry, which alone knows how to find a backend."""
    global _resolver
    _resolver = function


cdef Device _intern(str type, object index):
    key = (type, index)
    found = _devices.get(key)
    if found is None:
        found = Device.__new__(Device)
        (<Device>found).type = type
        (<Device>found).index = index
        (<Device>found).slot = -1
        _devices[key] = found
    return <Device>found


@cython.binding(False)     # method descriptors check the type of self, bound functions do not
cdef class Device:
    """A device, by its backend's name and, where there are several, an index.

    >>> Device("cpu")
    device(type='cpu')
    >>> Device("cuda:1") is Device("cuda", 1)
    True
    """

    cdef int resolve(self) except -1:
        """Find the backend; RuntimeError where there is none or it has no such device."""
        cdef Device canonical
        if self.slot >= 0:
            return 0
        backend, slot, index = _resolver(self)
        canonical = _intern(self.type, index)
        canonical._backend = self._backend = backend
        canonical.ordinal = self.ordinal = index or 0
        canonical.canonical = self.canonical = canonical
        canonical.slot = self.slot = slot
        canonical.recycle = self.recycle = <int (*)(void*) noexcept><size_t>backend.recycler
        return 0

    @property
    def backend(self):
        """The backend object behind this device (loaded on first use)."""
        self.resolve()
        return self._backend

    def forget(self):
        """Drop what was resolved; the registry calls it when the backend's current device changes."""
        self.slot = -1

    def __repr__(self):
        if self.index is None:
            return f"device(type={self.type!r})"
        return f"device(type={self.type!r}, index={self.index})"

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return hash((self.type, self.index))

    def __reduce__(self):
        return make_device, (self.type, self.index)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __enter__(self):
        _default_stack.append(self)
        return self

    def __exit__(self, *exc):
        _default_stack.pop()


cdef Device _parse(str text):
    kind, colon, number = text.partition(":")
    if not kind or not kind.replace("_", "").isalnum() or (colon and not number.isdecimal()):
        raise RuntimeError(f"Invalid device string: '{text}'")
    return _intern(kind, int(number) if colon else None)


def make_device(type, index=None):
    """`device("cpu")`, `device("cuda:1")`, `device("cuda", 1)`, or a device itself.

    Raises RuntimeError for a malformed string, TypeError for anything else.
    """
    if isinstance(type, Device):
        return type
    if isinstance(type, int) and not isinstance(type, bool) and index is None:
        return _intern("cuda", type)      # PyTorch's rule: a bare index means an accelerator
    if not isinstance(type, str):
        raise TypeError(f"device(): argument 'type' must be str, not {type.__class__.__name__}")
    if index is None:
        return _parse(type)
    if ":" in type:
        raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
    if not isinstance(index, int) or index < 0:
        raise RuntimeError(f"Device index must be a non-negative int, got {index!r}")
    return _intern(type, index)


# A call of the class looks the object up: there is one for each name.
pyx_set_constructor(Device, make_device)


cdef Device as_device(object what):
    """The resolved, canonical device for a user's `device` argument (None: the default device)."""
    cdef Device found
    if what is None:
        return default_device()
    found = <Device>what if isinstance(what, Device) else <Device>make_device(what)
    found.resolve()
    return found.canonical


def resolved_device(what):
    """The device that tensors carry for a `device` argument; RuntimeError where there is none."""
    return as_device(what)


cdef list _default_stack = []
cdef Device _default = _intern("cpu", None)


cdef Device default_device():
    cdef Device found = _default if not _default_stack else <Device>_default_stack[-1]
    found.resolve()
    return found.canonical


def get_default_device():
    """The device on which tensors are made where no `device` is given."""
    return default_device()


def set_default_device(device):
    """Set the device on which tensors are made where no `device` is given (None: back to cpu)."""
    global _default
    found = _intern("cpu", None) if device is None else as_device(device)
    _default = found
