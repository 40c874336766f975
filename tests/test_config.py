"""`pyx_tensor.__config__.show()` tells what runs here, and opens no library unless asked."""
import subprocess
import sys

import pyx_tensor
import pyx_tensor.__config__
import pytest
from pyx_tensor_cpu import build_info, level


def test_versions_and_compiler():
    text = pyx_tensor.__config__.show()
    assert f"pyx_tensor {pyx_tensor.__version__}" in text
    assert f"compiler: {build_info.compiler}\n" in text
    assert f"compiler flags: {build_info.flags}\n" in text


@pytest.mark.parametrize("name", level.supported_levels())
def test_the_level_in_use_is_shown(name):
    before = level.cpu_level()
    level.set_cpu_level(name)
    try:
        assert f"CPU level: {name} of" in pyx_tensor.__config__.show()
    finally:
        level.set_cpu_level(before)


def test_libraries_are_opened_only_on_request():
    code = """
import pyx_tensor.__config__
def opened(): return "/scipy_openblas64/" in open("/proc/self/maps").read()
print("OpenBLAS" in pyx_tensor.__config__.show(), opened())
pyx_tensor.__config__.show(load_libraries=True)
print(opened())
"""
    if not sys.platform.startswith("linux"):
        pytest.skip("reads /proc")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "True False\nTrue\n"
