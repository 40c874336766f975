"""OpenMP."""
from ..core.threads import get_num_threads


def is_available():
    """Whether one operation may use several threads."""
    return get_num_threads() > 1
