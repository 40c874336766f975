"""How many threads the kernels of the host's backend use."""
from .registry import get_backend


def get_num_threads():
    """The number of threads that one operation on the CPU may use."""
    return get_backend("cpu").num_threads()


def set_num_threads(num_threads):
    """Let one operation on the CPU use at most `num_threads` threads, in our loops and in BLAS alike.

    Raises RuntimeError where it is not a positive int.
    """
    if not isinstance(num_threads, int) or isinstance(num_threads, bool):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(num_threads).__name__}")
    if num_threads < 1:
        raise RuntimeError(f"set_num_threads expects a positive integer, but got {num_threads}")
    get_backend("cpu").set_num_threads(num_threads)


def get_num_interop_threads():
    """How many operations run at once: one, as each is done when its function returns."""
    return 1


def set_num_interop_threads(num_threads):
    """Taken for programs that ask for it; operations still run one after the other. RuntimeError unless it's a positive int."""
    if not isinstance(num_threads, int) or isinstance(num_threads, bool) or num_threads < 1:
        raise RuntimeError(f"set_num_interop_threads expects a positive integer, but got {num_threads}")
