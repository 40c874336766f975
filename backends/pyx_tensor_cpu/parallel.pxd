"""How many threads a loop gets: `prange(..., num_threads=threads_for(work))`."""

cdef int threads_for(Py_ssize_t work) noexcept nogil
cdef int thread_limit() noexcept nogil
