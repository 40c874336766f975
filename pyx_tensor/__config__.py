"""What an installation is made of and how it runs here: the first thing to put into a report of a fault."""
import platform

import ml_dtypes
import numpy

from .core.device import get_default_device
from .core.registry import get_backend, registered_backends
from .version import __version__


def show(load_libraries=False):
    """A text with the versions, and what each backend in use says of its compiler, processor level, threads and BLAS.

    Args:
        load_libraries: also open the libraries that are otherwise opened on first use, to ask them about themselves.
    """
    lines = [
        f"pyx_tensor {__version__}, Python {platform.python_version()}, {platform.platform()}",
        f"  numpy {numpy.__version__}",
        f"  ml_dtypes {ml_dtypes.__version__}",
    ]
    for name in {get_default_device().type: None, **dict.fromkeys(registered_backends())}:
        lines.append(f"device {name}:")
        lines += [f"  {key}: {value}" for key, value in get_backend(name).describe(load_libraries).items()]
    return "\n".join(lines) + "\n"
