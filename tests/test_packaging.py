"""The metadata agree with each other and with what is installed."""
import importlib
import importlib.metadata
from pathlib import Path

import pytest
import pyx_tensor

tomllib = pytest.importorskip("tomllib")  # in the standard library from Python 3.11 on
METADATA = tomllib.loads((Path(__file__).resolve().parents[1] / "pyproject.toml").read_text())


def test_a_build_without_isolation_needs_what_one_with_it_needs():
    assert set(METADATA["build-system"]["requires"]) <= set(METADATA["dependency-groups"]["build"])


def installed():
    """The distribution; a checkout on the path alone has none."""
    try:
        return importlib.metadata.distribution("pyx-tensor")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("pyx_tensor is not installed")


def test_the_version_is_the_metadata_s():
    assert pyx_tensor.__version__ == installed().version


def test_backends_are_announced():
    announced = {entry.name: entry.value for entry in installed().entry_points if entry.group == "pyx_tensor.backends"}
    assert announced == METADATA["project"]["entry-points"]["pyx_tensor.backends"]


@pytest.mark.parametrize("declaration", ["pyx_tensor/core/tensor.pxd", "pyx_tensor/core/op.pxd", "pyx_tensor/core/device.pxd"])
def test_declarations_are_installed(declaration):
    """Another package's Cython code can cimport from the installed one."""
    package, rest = declaration.split("/", 1)
    assert (Path(importlib.import_module(package).__file__).parent / rest).exists()


def test_compiler_report():
    from pyx_tensor_cpu import build_info
    assert "baseline" in build_info.levels
    assert build_info.compiler and build_info.flags
