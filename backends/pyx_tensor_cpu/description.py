"""What the backend says of itself in ``pyx_tensor.__config__.show()``."""
from . import build_info, level, openblas, parallel


def blas(load_libraries):
    path = openblas.library_path()
    if path is None:
        return "none: products run in the package's own loops"
    return openblas.config() if load_libraries else f"OpenBLAS, {path.name}, opened on first use"


def describe(load_libraries):
    """Name -> value. The BLAS library is only opened to be asked about itself if `load_libraries`."""
    return {
        "CPU level": f"{level.cpu_level()} of {', '.join(level.supported_levels())}",
        "compiler": build_info.compiler,
        "compiler flags": build_info.flags,
        "OpenMP": "yes" if build_info.openmp else "no: one thread",
        "threads": parallel.num_threads(),
        "BLAS": blas(load_libraries),
    }
