"""What an installation is made of and how it runs here: the first thing to put into a report of a fault."""
import platform
from importlib.metadata import version

from .core.registry import get_backend, registered_backends


def show(load_libraries=False):
    """A text with the versions, and what each backend in use says of its compiler, processor level, threads and BLAS.

    Args:
        load_libraries: also open the libraries that are otherwise opened on first use, to ask them about themselves.
    """
    lines = [f"pyx_tensor {version('pyx-tensor')}, Python {platform.python_version()}, {platform.platform()}"]
    lines += [f"  {package} {version(package)}" for package in ("numpy", "ml_dtypes")]
    for name in registered_backends():
        lines.append(f"device {name}:")
        lines += [f"  {key}: {value}" for key, value in get_backend(name).describe(load_libraries).items()]
    return "\n".join(lines) + "\n"
