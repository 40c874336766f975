"""What the processor can do."""

cdef extern from "cpu_features.h":
    int x86_64_level()


def highest_level():
    """The highest kernel level that this processor and operating system run."""
    return {3: "v3", 4: "v4"}.get(x86_64_level(), "baseline")
