"""A piece of memory that several processes map.

It is an anonymous file, which lives as long as somebody has it mapped or open and so can't be left behind, or a named one,
which is counted in its own first bytes and removed by whoever lets go of it last. `sharing.py` makes and opens them.
"""
cimport numpy as cnp
from cpython.ref cimport Py_INCREF

import os

from .dtype cimport DType

cnp.import_array()

cdef extern from *:
    """
    #include <errno.h>
    #if defined(_WIN32)
    static void* pyx_map(int fd, size_t size) { (void)fd; (void)size; errno = ENOSYS; return NULL; }
    static void pyx_unmap(void* start, size_t size) { (void)start; (void)size; }
    static long long pyx_count(long long* at, long long change) { return *at += change; }
    #else
    #include <sys/mman.h>
    static void* pyx_map(int fd, size_t size) {
        void* start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        return start == MAP_FAILED ? NULL : start;
    }
    static void pyx_unmap(void* start, size_t size) { munmap(start, size); }
    static long long pyx_count(long long* at, long long change) { return __atomic_add_fetch(at, change, __ATOMIC_SEQ_CST); }
    #endif
    static int pyx_errno(void) { return errno; }
    """
    void* pyx_map(int fd, size_t size) nogil
    void pyx_unmap(void* start, size_t size) nogil
    long long pyx_count(long long* at, long long change) nogil
    int pyx_errno() nogil

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(type subtype, cnp.dtype descr, int nd, const cnp.npy_intp* dims, const cnp.npy_intp* strides,
                                void* data, int flags, void* obj)

HEADER = 64     # bytes before the memory of a named segment, which hold its count of users
_unlink = None


def set_unlink(function):
    """Called once by sharing.py: function(name) removes a named segment."""
    global _unlink
    _unlink = function


cdef class Segment:
    """`size` bytes of an open file, mapped for as long as this object lives.

    Args:
        fd: descriptor of the file. It is kept (and closed in the end) where `keep`, so that the segment can be sent on.
        size: bytes, after the header of a named segment.
        name: of a named segment, else None.
    """

    def __cinit__(self, int fd, Py_ssize_t size, str name=None, bint keep=True):
        self.fd = -1
        self.header = HEADER if name is not None else 0
        self.start = <char*>pyx_map(fd, size + self.header)
        if self.start == NULL:
            raise OSError(pyx_errno(), f"{os.strerror(pyx_errno())}, mapping {size + self.header} bytes of shared memory")
        self.size = size
        self.name = name
        self.fd = fd if keep else -1

    def address(self):
        """Of the first byte behind the header."""
        return <size_t>(self.start + self.header)

    def count(self, int change):
        """Change the number of users of a named segment, those on their way to another process included; returns it."""
        return pyx_count(<long long*>self.start, change)

    def release(self):
        """Stop to count as a user. Without one left a named segment's name is removed; the memory stays mapped here."""
        name, self.name = self.name, None
        if name is not None and pyx_count(<long long*>self.start, -1) == 0 and _unlink is not None:
            _unlink(name)

    def __dealloc__(self):
        if self.start == NULL:
            return
        try:
            self.release()
            if self.fd >= 0:
                os.close(self.fd)
        except Exception:      # the interpreter is going down
            pass
        pyx_unmap(self.start, self.size + self.header)

    def array(self, DType dtype not None, Py_ssize_t offset, Py_ssize_t nbytes):
        """The bytes from `offset` on as a row of elements, an ndarray whose base is this segment."""
        cdef cnp.dtype descr = dtype.numpy
        cdef cnp.npy_intp count = nbytes // dtype.itemsize
        cdef cnp.ndarray result
        if offset < 0 or nbytes < 0 or offset > self.size - nbytes:
            raise ValueError(f"bytes {offset} to {offset + nbytes} lie outside of a shared segment of {self.size} bytes")
        Py_INCREF(descr)                            # NumPy steals this reference
        result = PyArray_NewFromDescr(cnp.ndarray, descr, 1, &count, NULL, self.start + self.header + offset,
                                      cnp.NPY_ARRAY_CARRAY, NULL)
        cnp.set_array_base(result, self)
        return result
