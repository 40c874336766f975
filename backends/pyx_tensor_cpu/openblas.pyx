"""OpenBLAS out of the installed ``scipy_openblas64`` package, opened on first use and never linked against.

The package is found but not imported. It is a separate copy from the one inside NumPy, so its thread count is ours.
"""
import ctypes
import importlib.util
from pathlib import Path

from pyx_tensor.core.protocol import OutOfMemoryError

cdef extern from "pages.h" nogil:
    void* pages_allocate(size_t size)
    void pages_release(void* data, size_t size)

cdef enum:
    ROOM = 128 << 20              # bytes, more than the library and what it works in take

PACKAGE = "scipy_openblas64"
LIBRARY_SUFFIXES = (".so", ".dylib", ".dll")

ctypedef int (*get_int_t)() noexcept nogil
ctypedef void (*set_int_t)(int) noexcept nogil
ctypedef const char* (*get_string_t)() noexcept nogil

cdef OpenBLAS blas                # filled by load()
cdef int state = 0                # 0 before a load() succeeds, 1 loaded, -1 not to be had
cdef object library = None        # keeps the library open
cdef set_int_t set_num_threads = NULL
cdef get_int_t get_num_threads = NULL
cdef int threads = 0              # what OpenBLAS was last told


cdef bint load() except -1:
    """Fill ``blas`` on the first call; False when the library is missing, lacks a function, or can't have its memory now."""
    global state
    if state == 0 and _has_room():
        state = 1 if _open() else -1
    return state == 1


cdef object absence(str op):
    """The exception for an operation that needs OpenBLAS, where ``load`` is False."""
    if state == 0:
        return OutOfMemoryError(f"{op}: OpenBLAS can't have the {ROOM >> 20} MB that it works in")
    return NotImplementedError(f"{op}: needs OpenBLAS; install the package {PACKAGE}")


cdef bint _has_room() noexcept:
    """Whether there is the memory that OpenBLAS works in. It takes it as it is opened, and ends the process where it can't."""
    cdef void* room = pages_allocate(ROOM)
    if room == NULL:
        return False
    pages_release(room, ROOM)
    return True


cdef void use_threads(int n) noexcept nogil:
    """Let the following calls use at most n threads."""
    global threads
    if n != threads and set_num_threads != NULL:
        set_num_threads(n)
        threads = n


def library_path():
    """Path of the OpenBLAS library, or None where the package is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder, "lib").glob(f"*{PACKAGE.replace('64', '64_')}*")):
            if path.suffix in LIBRARY_SUFFIXES:
                return path
    return None


def available():
    """Whether OpenBLAS can be used."""
    return load()


def config():
    """OpenBLAS's own description of its version and processor target, or None where it is missing."""
    if not load():
        return None
    return (<get_string_t>_address("scipy_openblas_get_config64_"))().decode()


def num_threads():
    """The number of threads OpenBLAS would use now (0 where it is missing)."""
    return get_num_threads() if load() else 0


cdef void* _address(str name) except NULL:
    return <void*><size_t>ctypes.cast(getattr(library, name), ctypes.c_void_p).value


cdef bint _open() except -1:
    global library, set_num_threads, get_num_threads
    path = library_path()
    if path is None:
        return False
    try:
        library = ctypes.CDLL(str(path))
        set_num_threads = <set_int_t>_address("scipy_openblas_set_num_threads64_")
        get_num_threads = <get_int_t>_address("scipy_openblas_get_num_threads64_")
        _fill_table()
        # LAPACKE would refuse matrices that hold NaN; here NaN in gives NaN out
        (<set_int_t>_address("scipy_LAPACKE_set_nancheck64_"))(0)
    except (OSError, AttributeError):  # not loadable on this machine, or a release without one of the functions
        library = None
        set_num_threads = NULL
        return False
    return True


cdef int _row(void** row, str real, str complex_=None) except -1:
    """Look up the four forms of one function; in a name, ``?`` stands for the letter of the type."""
    cdef int i
    for i, letter in enumerate("sdcz"):
        name = complex_ if complex_ is not None and letter in "cz" else real
        row[i] = _address("scipy_" + name.replace("?", letter))
    return 0


cdef int _fill_table() except -1:
    _row(<void**>blas.gemm, "?gemm_64_")
    _row(<void**>blas.gemv, "?gemv_64_")
    _row(<void**>blas.trsm, "?trsm_64_")
    _row(<void**>blas.trsv, "?trsv_64_")
    _row(<void**>blas.getrf, "LAPACKE_?getrf64_")
    _row(<void**>blas.getrs, "LAPACKE_?getrs64_")
    _row(<void**>blas.getri, "LAPACKE_?getri64_")
    _row(<void**>blas.potrf, "LAPACKE_?potrf64_")
    _row(<void**>blas.potrs, "LAPACKE_?potrs64_")
    _row(<void**>blas.potri, "LAPACKE_?potri64_")
    _row(<void**>blas.gesdd, "LAPACKE_?gesdd64_")
    _row(<void**>blas.syevd, "LAPACKE_?syevd64_", "LAPACKE_?heevd64_")
    _row(<void**>blas.geev, "LAPACKE_?geev64_")
    _row(<void**>blas.geqrf, "LAPACKE_?geqrf64_")
    _row(<void**>blas.orgqr, "LAPACKE_?orgqr64_", "LAPACKE_?ungqr64_")
    _row(<void**>blas.ormqr, "LAPACKE_?ormqr64_", "LAPACKE_?unmqr64_")
    _row(<void**>blas.sytrf, "LAPACKE_?sytrf64_")
    _row(<void**>blas.sytrs, "LAPACKE_?sytrs64_")
    _row(<void**>blas.hetrf, "LAPACKE_?sytrf64_", "LAPACKE_?hetrf64_")
    _row(<void**>blas.hetrs, "LAPACKE_?sytrs64_", "LAPACKE_?hetrs64_")
    _row(<void**>blas.gelsd, "LAPACKE_?gelsd64_")
    _row(<void**>blas.gelsy, "LAPACKE_?gelsy64_")
    return 0
