"""`import pyx_tensor` loads what it needs and nothing else. Modules are counted, not milliseconds."""
import subprocess
import sys

NEEDLESS = {
    # the standard library's expensive ones: only a rare path wants them
    "asyncio", "concurrent.futures", "ctypes", "doctest", "email", "http", "importlib.metadata", "importlib.resources",
    "inspect", "logging", "multiprocessing", "pdb", "socket", "ssl", "subprocess", "tempfile", "unittest",
    "urllib.request", "zipfile",
    # loaded with the first big matrix product, not before
    "scipy_openblas64",
    # a device's package is loaded when the device is named
    "cupy", "pyx_tensor_cupy", "pyx_tensor_reference",
    # never needed
    "hypothesis", "matplotlib", "pytest", "scipy", "setuptools", "torch", "tqdm",
}


def modules_after(statement):
    code = f"{statement}\nimport sys\nprint(*sys.modules, sep='\\n')"
    return set(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split())


def test_nothing_needless_is_imported():
    added = modules_after("import pyx_tensor") - modules_after("import numpy, ml_dtypes")
    assert "pyx_tensor.core" in added
    assert not added & NEEDLESS
