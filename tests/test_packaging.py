"""The metadata agree with each other and with what is installed."""
import importlib
import importlib.metadata
from pathlib import Path

import pytest

tomllib = pytest.importorskip("tomllib")  # in the standard library from Python 3.11 on
METADATA = tomllib.loads((Path(__file__).resolve().parents[1] / "pyproject.toml").read_text())


def test_a_build_without_isolation_needs_what_one_with_it_needs():
    assert set(METADATA["build-system"]["requires"]) <= set(METADATA["dependency-groups"]["build"])


def test_the_version_is_the_metadata_s():
    import pyx_tensor
    assert pyx_tensor.__version__ == METADATA["project"]["version"]


def test_backends_are_announced():
    """Only where the package is installed: a checkout on the path alone has no entry points."""
    try:
        importlib.metadata.distribution("pyx-tensor")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("pyx_tensor is not installed")
    announced = {entry.name: entry.value for entry in importlib.metadata.entry_points(group="pyx_tensor.backends")}
    assert announced.items() >= METADATA["project"]["entry-points"]["pyx_tensor.backends"].items()


@pytest.mark.parametrize("declaration", ["pyx_tensor/core/tensor.pxd"])
def test_declarations_are_installed(declaration):
    """Another package's Cython code can cimport from the installed one."""
    package, rest = declaration.split("/", 1)
    assert (Path(importlib.import_module(package).__file__).parent / rest).exists()


def test_compiler_report():
    from pyx_tensor_cpu import build_info
    assert "baseline" in build_info.levels
    assert build_info.compiler and build_info.flags
