"""The graphs that the CUDA backend makes, by the package nvidia-cudnn-frontend itself.

Without cuDNN's library, a stub that tells a version lets the package check names, dtypes, shapes and strides of what it is given. Where the
library's wheels are installed too (nvidia-cudnn-cu12 and nvidia-cublas-cu12, 1.3 GB), it builds the convolutions' plans for an H100 that isn't there.
"""
import ctypes
import functools
import importlib.util
import json
import math
import pathlib
import subprocess
import sys

import pytest

import cudnn_standin
import pyx_tensor as torch
from conv_samples import CONVOLUTIONS
from cuda_devices import devices, first_device  # noqa: F401 (fixtures)
from pyx_tensor_cupy.cudnn import Plan
from test_cudnn import TOLERANCE, attention, compare, convolution, library, random  # noqa: F401 (a fixture among them)

# What cuDNN asks a device for.
H100 = dict(
    cudaDeviceId=0, deviceVer=900, driverVer=13000, maxGridSize=[2147483647, 65535, 65535], maxBlockSize=[1024, 1024, 64], regsPerBlock=65536,
    multiProcessorCount=132, warpSize=32, maxSharedMemoryPerBlock=49152, maxSharedMemoryPerBlockOptin=232448, reservedSharedMemoryPerBlock=1024,
    maxRegistersPerSM=65536, maxCtasPerSM=32, maxThreadsPerBlock=1024, maxThreadsPerSM=2048, pciDeviceId=0x2330, isTccDriver=0, supportCoopLaunch=1,
    totalGlobalMem=85 * 10 ** 9, smClockRateKHz=1980000, memClockRateKHz=2619000, l2CacheSize=52428800, deviceName="NVIDIA H100 80GB HBM3")


def wheel_library(package, name):
    """A library in one of NVIDIA's wheels; None where that isn't installed."""
    try:
        spec = importlib.util.find_spec(f"nvidia.{package}")
    except ModuleNotFoundError:
        return None
    found = spec and list(pathlib.Path(next(iter(spec.submodule_search_locations)), "lib").glob(name))
    return found[0] if found else None


LIBRARIES = [wheel_library("cublas", "libcublasLt.so.*"), wheel_library("cudnn", "libcudnn.so.*")]


def load_stub(folder):
    source, stub = folder / "stub.c", folder / "libcudnn.so.9"
    source.write_text(f"unsigned long cudnnGetVersion(void) {{ return {cudnn_standin.VERSION}; }}\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libcudnn.so.9", str(source), "-o", str(stub)], check=True)
    ctypes.CDLL(str(stub), ctypes.RTLD_GLOBAL)      # the package asks for the name, and gets what is loaded


@pytest.fixture(scope="module")
def frontend(tmp_path_factory):
    """The package, with a library behind it, for a device of capability 9.0."""
    if all(LIBRARIES):
        for path in LIBRARIES:
            ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
    else:
        load_stub(tmp_path_factory.mktemp("stub"))
    import cudnn

    class Module:
        module = cudnn
        __getattr__ = staticmethod(functools.partial(getattr, cudnn))
        device = cudnn.create_device_properties(json.dumps(H100)) if all(LIBRARIES) else None

        def pygraph(self, **facts):
            return cudnn.pygraph(**facts, sm_version=90, sm_count=132, **({"device_property": self.device} if self.device else {}))

    return Module()


class Checked(Plan):
    """A plan of which only what needs no library is done."""

    def _build(self, module, avoided):
        self.graph.validate()
        assert all(getattr(module.numerical_note, name) for name in avoided) and module.heur_mode.A and module.heur_mode.FALLBACK


def plans_of(library):  # noqa: F811
    """How the plans that were run over the stand-in are made."""
    assert library.plans and not any(isinstance(plan, str) for plan in library.plans.values())
    return [key[1:] for key in library.plans]


def remade(frontend, monkeypatch, made, kind=Checked):
    """A plan by the package itself, which may import parts of it late."""
    monkeypatch.setitem(sys.modules, "cudnn", frontend.module)
    handle = None if frontend.device else frontend.Handle(1, 0, 0) if hasattr(frontend, "Handle") else 1
    return kind(frontend, handle, *made)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(frontend, library, monkeypatch, name, dtype):  # noqa: F811
    with torch.backends.cudnn.flags(allow_tf32=dtype != "float32", deterministic=dtype == "float16"):
        compare(*convolution(name), dtype)
    for made in plans_of(library):
        plan = remade(frontend, monkeypatch, made, Plan if all(LIBRARIES) else Checked)
        if all(LIBRARIES):
            assert plan.workspace >= 0 and plan.graph.get_execution_plan_count() > 0


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shapes", [[(2, 3, 5, 8)] * 3, [(2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 16)]], ids=str)
def test_attention(frontend, library, monkeypatch, shapes, causal, dtype):  # noqa: F811
    compare(attention(causal, 0.4), [random(*shape, seed=i) for i, shape in enumerate(shapes)], dtype)
    assert len(plans_of(library)) == 2
    for made in plans_of(library):
        remade(frontend, monkeypatch, made)


@pytest.mark.parametrize("change", ["name", "option", "strides"])
def test_what_is_wrong_shows(frontend, library, monkeypatch, change):  # noqa: F811
    compare(*convolution("2-d"))
    operation, names, described, options, avoided = plans_of(library)[0]
    if change == "name":
        names = "images", names[1]
    elif change == "option":
        options += ("paddings", 1),
    else:
        described = (described[0], (described[1][0], described[1][1], (9, 3, 1)), described[2])
    with pytest.raises(Exception, match="incompatible function arguments|unexpected arguments|stride"):
        remade(frontend, monkeypatch, (operation, names, described, options, avoided))


@pytest.mark.skipif(not all(LIBRARIES), reason="needs the library: nvidia-cudnn-cu12 and nvidia-cublas-cu12")
def test_flags_change_the_plan(frontend, library, monkeypatch):  # noqa: F811
    """What is avoided leads to another algorithm, which here shows by its workspace."""
    shapes = (32, 64, 56, 56), (64, 64, 3, 3), (32, 64, 56, 56)
    described = tuple([("float32", shape, tuple(math.prod(shape[i + 1:]) for i in range(4))) for shape in shapes])
    options = ("pre_padding", (1, 1)), ("post_padding", (1, 1)), ("stride", (1, 1)), ("dilation", (1, 1))
    workspaces = [remade(frontend, monkeypatch, ("conv_fprop", ("image", "weight"), described, options, avoided), Plan).workspace
                  for avoided in (("DOWN_CONVERT_INPUTS",), ("DOWN_CONVERT_INPUTS", "TENSOR_CORE"))]
    assert workspaces[0] != workspaces[1]
