cdef class Device:
    cdef readonly str type
    cdef readonly object index        # int or None
    cdef object _backend              # resolved by the registry on first use
    cdef int slot                     # column of the backend in the tables of operations, -1 until resolved
    cdef int ordinal                  # device number given to the backend
    cdef Device canonical             # the device that tensors carry (an index filled in where the backend has several)
    cdef int (*recycle)(void*) noexcept     # the backend's use for the array of a tensor that dies, or NULL
    cdef int resolve(self) except -1

cdef Device as_device(object what)
cdef Device default_device()
