"""The extension modules; everything else about the package is in pyproject.toml.

Each ``.pyx`` file becomes one module. Those in a CPU-level folder of ``pyx_tensor_cpu`` (``baseline``,
``v3``, ``v4``) hold the same kernels compiled for that level of x86-64 and are left out elsewhere.
"""
import os
import platform
import sys
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup

ROOTS = {"pyx_tensor": Path("pyx_tensor"), **{p.name: p for p in sorted(Path("backends").iterdir()) if p.is_dir()}}
X86_64 = platform.machine().lower() in ("x86_64", "amd64")
MSVC = sys.platform == "win32"
LEVELS = {
    "baseline": ["-march=x86-64-v2"] if X86_64 and not MSVC else [],
    "v3": ["/arch:AVX2"] if MSVC else ["-march=x86-64-v3"],
    "v4": ["/arch:AVX512"] if MSVC else ["-march=x86-64-v4", "-mprefer-vector-width=512"],
}
# Random streams must not depend on which products a compiler fuses with a sum.
NO_CONTRACTION = {"pyx_tensor.core.mt19937", "pyx_tensor.core.distributions", "pyx_tensor.core.rejection"}
COMMON = ["/O2"] if MSVC else ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fvisibility=hidden", "-g0"]


def openmp_flags():
    """Compile and link flags for OpenMP, empty where the compiler lacks it (macOS's clang)."""
    if os.environ.get("PYX_TENSOR_NO_OPENMP") or sys.platform == "darwin":
        return [], []
    return (["/openmp"], []) if MSVC else (["-fopenmp"], ["-fopenmp"])


def extension(name, source):
    level = source.parent.name
    compile_args = COMMON + LEVELS.get(level, LEVELS["baseline"])
    if name in NO_CONTRACTION and not MSVC:
        compile_args = compile_args + ["-ffp-contract=off"]
    omp_compile, omp_link = openmp_flags() if name.startswith("pyx_tensor_cpu.") else ([], [])
    module = Extension(
        name, [str(source)],
        include_dirs=[numpy.get_include(), "backends/pyx_tensor_cpu/include"],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
        extra_compile_args=compile_args + omp_compile,
        extra_link_args=omp_link,
        depends=[str(p) for p in sorted(source.parent.parent.glob("kernels/*")) + sorted(source.parent.parent.glob("include/*"))],
    )
    if name.startswith("pyx_tensor_cpu."):    # kernels check their bounds once, before the loop
        module.cython_directives = dict(boundscheck=False, wraparound=False)
    return module


def extensions():
    found = []
    for package, root in ROOTS.items():
        for source in sorted(root.rglob("*.pyx")):
            if source.parent.name in ("v3", "v4") and not X86_64:
                continue
            parts = source.relative_to(root).with_suffix("").parts
            found.append(extension(".".join((package, *parts)), source))
    return found


def packages():
    found, where = [], {}
    for package, root in ROOTS.items():
        where[package] = str(root)
        for init in sorted(root.rglob("__init__.py")):
            found.append(".".join((package, *init.parent.relative_to(root).parts)))
    return found, where


PACKAGES, PACKAGE_DIR = packages()

setup(
    packages=PACKAGES,
    package_dir=PACKAGE_DIR,
    package_data={"": ["*.pxd", "*.pyi", "py.typed", "*.h"]},
    ext_modules=cythonize(
        extensions(),
        include_path=[".", "backends"],
        nthreads=2,
        compiler_directives=dict(
            language_level=3, binding=True, initializedcheck=False, cdivision=True,
        ),
    ),
    options={"build_ext": {"parallel": 2}},
)
