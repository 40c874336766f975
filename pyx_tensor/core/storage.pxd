from .device cimport Device
from .dtype cimport DType
from .geometry cimport Geometry

cdef struct Alias:                    # a tensor's place in the list of those on one memory
    void* owner                       # the tensor, which leaves the list before it dies
    Alias* next
    Alias* previous

cdef class Storage:
    cdef readonly object array        # the array that owns the memory
    cdef readonly DType dtype
    cdef readonly Device device
    cdef char* pointer                # first byte, NULL where the backend has no addressable memory
    cdef readonly Py_ssize_t nbytes
    cdef readonly bint resizable
    cdef Alias* aliases
    cdef object __weakref__

cdef inline void add_alias(Storage storage, Alias* alias, object owner) noexcept:
    alias.owner = <void*>owner
    alias.next = storage.aliases
    alias.previous = NULL
    if storage.aliases != NULL:
        storage.aliases.previous = alias
    storage.aliases = alias

cdef inline void remove_alias(Storage storage, Alias* alias) noexcept:
    if alias.next != NULL:
        alias.next.previous = alias.previous
    if alias.previous != NULL:
        alias.previous.next = alias.next
    elif storage.aliases == alias:
        storage.aliases = alias.next
    alias.next = alias.previous = NULL

cdef Storage storage_of(object array, DType dtype, Device device)
cdef int locate(Geometry* g, object array, DType dtype, Device device, Storage storage) except -1
cdef int check_bounds(const Geometry* g, Py_ssize_t available) except -1
cdef object ndarray_view(object like, Storage storage, Geometry* g)
cdef void keep_view(void* array) noexcept
cdef object memory_as(Storage storage, DType dtype)
