"""The one place that knows about threads. `work` counts elements times their cost, an addition being 1."""

cdef extern from "threads.h" nogil:
    bint HAS_THREADS
    int omp_limit()
    int inside_parallel()
    int watch_forks()
    int pool_started
    int forked_with_pool

cdef Py_ssize_t GRAIN = 1 << 15     # a thread takes some microseconds to wake: below twice this one is faster alone
cdef int threads = omp_limit()

if watch_forks():
    raise MemoryError("pthread_atfork failed: no memory to register the fork handler")


cdef int threads_for(Py_ssize_t work) noexcept nogil:
    """Threads for `work`: 1 when it is small, inside another parallel loop, or in a child forked after parallel work."""
    global pool_started
    if work < 2 * GRAIN or threads == 1 or forked_with_pool or inside_parallel():
        return 1
    pool_started = 1
    return <int>min(work // GRAIN, <Py_ssize_t>threads)


cdef int thread_limit() noexcept nogil:
    """Threads that a library with a pool of its own may use here."""
    return 1 if inside_parallel() else threads


def num_threads():
    return threads


def set_num_threads(int n):
    """Use at most `n` threads in every loop; without OpenMP there is one, whatever `n` is."""
    global threads
    if n < 1:
        raise ValueError(f"the number of threads must be positive, got {n}")
    threads = n if HAS_THREADS else 1
