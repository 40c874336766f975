"""Every CUDA kernel compiles for the compute capabilities that are supported, down to the device's code: by NVRTC from its wheel, without a GPU."""
import ctypes
import importlib.util
import pathlib

import pytest

from pyx_tensor_cupy import launcher

# Capability -> element types: all of them at both ends of what is supported, elsewhere the one without a header's help, and
# the one whose atomic additions are youngest.
CAPABILITIES = {70: launcher.FLOATING, 75: ("float16", "float64"), 80: ("float16", "float64"), 86: ("float16", "float64"), 90: launcher.FLOATING,
                100: ("float16", "float64"), 120: ("float16", "float64")}


def library():
    """NVRTC from the wheel nvidia-cuda-nvrtc-cu12, which still knows capability 7.0."""
    [folder] = importlib.util.find_spec("nvidia.cuda_nvrtc").submodule_search_locations
    return ctypes.CDLL(str(pathlib.Path(folder, "lib", "libnvrtc.so.12")))


@pytest.fixture(scope="module")
def nvrtc():
    return library()


def text(nvrtc, program, size, get):
    length = ctypes.c_size_t()
    assert getattr(nvrtc, size)(program, ctypes.byref(length)) == 0
    buffer = ctypes.create_string_buffer(length.value)
    assert getattr(nvrtc, get)(program, buffer) == 0
    return buffer.raw


def compiled(nvrtc, file, element, capability):
    """(status, what the compiler says, the device's code)."""
    program = ctypes.c_void_p()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), launcher.source(file).encode(), f"{file}.cu".encode(), 0, None, None) == 0
    options = [o.encode() for o in (*launcher.options(element), f"--gpu-architecture=sm_{capability}")]
    try:
        status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        log = text(nvrtc, program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog").rstrip(b"\0").decode().strip()
        log = "\n".join(line for line in log.splitlines() if line.strip() and "are deprecated and may be removed" not in line)      # said of 7.0
        return status, log, b"" if status else text(nvrtc, program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("file", launcher.files())
def test_compiles(nvrtc, file, capability):
    for element in CAPABILITIES[capability]:
        status, log, code = compiled(nvrtc, file, element, capability)
        assert status == 0 and not log, f"{file}.cu for {element}: {log}"
        assert code.startswith(b"\x7fELF")


def test_an_error_shows(nvrtc, monkeypatch):
    monkeypatch.setattr(launcher, "source", lambda file: "__global__ void k() { nonsense(); }")
    status, log, _ = compiled(nvrtc, "pointwise", "float32", 90)
    assert status != 0 and 'identifier "nonsense" is undefined' in log
