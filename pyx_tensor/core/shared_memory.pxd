cdef class Segment:
    cdef char* start
    cdef readonly Py_ssize_t size     # bytes that can be used, behind the header
    cdef readonly Py_ssize_t header   # bytes before them
    cdef readonly int fd              # of the file, -1 where it wasn't kept
    cdef readonly str name            # of a named segment, else None
    cdef object __weakref__
