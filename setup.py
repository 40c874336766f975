"""The extension modules; everything else about the package is in pyproject.toml.

Each ``.pyx`` file becomes one module. Those in a CPU-level folder of ``pyx_tensor_cpu`` (``baseline``,
``v3``, ``v4``) hold the same kernels compiled for that level of x86-64; v3 and v4 are left out elsewhere.
What the compiler can do is tried, not assumed: without OpenMP the kernels run on one thread, and a
compiler that does not know a CPU level builds without it.

The generated C lies under ``build/cython``. Both ``setup.py build_ext --inplace`` and an editable
install without build isolation recompile only what changed.
"""
import os
import re
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError, LinkError

ROOTS = {"pyx_tensor": Path("pyx_tensor"), **{p.name: p for p in sorted(Path("backends").glob("pyx_tensor_*"))}}
CPU = "pyx_tensor_cpu"
INCLUDE = f"backends/{CPU}/include"
JOBS = os.cpu_count() or 1
X86_64 = sysconfig.get_platform().endswith(("x86_64", "amd64"))  # of the target, which may not be this machine's
MSVC = sys.platform == "win32"
LEVELS = {"baseline": []}  # CPU level, the name of its folder: compiler flags
if X86_64:
    LEVELS = {
        "baseline": [] if MSVC else ["-march=x86-64-v2"],
        "v3": ["/arch:AVX2"] if MSVC else ["-march=x86-64-v3"],
        "v4": ["/arch:AVX512"] if MSVC else ["-march=x86-64-v4", "-mprefer-vector-width=512"],
    }
COMMON = ["/O2", "/std:c11"] if MSVC else ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fvisibility=hidden", "-g0"]
NO_CONTRACTION = [] if MSVC else ["-ffp-contract=off"]
EXACT = {f"pyx_tensor.core.{name}" for name in ("mt19937", "distributions", "rejection", "host_data")}  # the same bits on any machine
OPENMP = ["/openmp"] if MSVC else ["-fopenmp"]
OPENMP_PROGRAM = "#include <omp.h>\nint main(void) {\n#pragma omp parallel\n    (void)omp_get_thread_num();\n    return 0;\n}\n"
# A region of one thread needs no team (regions.h); where the linker can't do that, all is right, but small kernels are slower.
REGIONS = f"{INCLUDE}/regions.h"
LONE_REGIONS = ["-DPYX_TENSOR_LONE_REGIONS", "-include", REGIONS] if sys.platform == "linux" else []
WRAPPED = ["-Wl,--wrap=GOMP_parallel"]
DIRECTIVES = dict(language_level=3, binding=True, initializedcheck=False, cdivision=True)
# Kernels check their bounds once, before the loop, and take None for an array only where that is the default.
UNCHECKED = dict(DIRECTIVES, boundscheck=False, wraparound=False, allow_none_for_extension_args=False)


def extension(name, source):
    return Extension(
        name, [str(source)],
        include_dirs=[numpy.get_include(), INCLUDE],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
    )


def extensions():
    found = []
    for package, root in ROOTS.items():
        for source in sorted(root.rglob("*.pyx")):
            if source.parent.name in ("v3", "v4") and source.parent.name not in LEVELS:
                continue
            parts = source.relative_to(root).with_suffix("").parts
            found.append(extension(".".join((package, *parts)), source))
    return found


def own_headers(source, folders):
    """The files that a C file includes in quotes, and those that they do in turn, where they lie beside the includer or in `folders`."""
    found, unread = set(), [Path(source)]
    while unread:
        file = unread.pop()
        for name in re.findall(r'#\s*include\s+"([^"]+)"', file.read_text(encoding="utf-8")):
            header = next((path for folder in (file.parent, *folders) if (path := Path(folder, name)).is_file()), None)
            if header and header not in found:
                found.add(header)
                unread.append(header)
    return sorted(map(str, found))


def level_of(ext):
    """The CPU level that a module is compiled for: its folder's, else the lowest."""
    folder = ext.name.split(".")[-2]
    return folder if folder in LEVELS else "baseline"


class BuildExtensions(build_ext):
    """Translates with Cython in parallel, asks the compiler what it can do, sets the flags, compiles in parallel."""

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or JOBS
        if self.editable_mode:  # pip's temporary folders would forget the object files
            self.build_lib, self.build_temp = "build/editable-lib", "build/editable-temp"

    def run(self):
        kernels = [ext for ext in self.extensions if ext.name.startswith(CPU)]
        self.translate([ext for ext in self.extensions if ext not in kernels], DIRECTIVES)
        self.translate(kernels, UNCHECKED)
        super().run()

    def translate(self, modules, directives):
        translated = cythonize(
            modules, include_path=[".", "backends"], build_dir="build/cython", force=self.force,
            nthreads=JOBS if JOBS > 1 else 0, compiler_directives=directives,
        )
        for ext, done in zip(modules, translated):
            ext.sources = done.sources
            ext.depends = own_headers(*done.sources, [INCLUDE])     # not NumPy's

    def accepts(self, flags, program="int main(void) { return 0; }\n"):
        """Whether the compiler builds and links a program with these flags."""
        if not flags:
            return True
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "probe.c")
            source.write_text(program)
            try:
                objects = self.compiler.compile([str(source)], output_dir=folder, extra_postargs=flags)
                self.compiler.link_executable(objects, "probe", output_dir=folder, extra_postargs=flags)
            except (CompileError, LinkError):
                return False
        return True

    def build_extensions(self):
        openmp = OPENMP if self.accepts(OPENMP, OPENMP_PROGRAM) else []
        lone = LONE_REGIONS if openmp and self.accepts(OPENMP + LONE_REGIONS + WRAPPED, OPENMP_PROGRAM) else []
        levels = {name: flags for name, flags in LEVELS.items() if self.accepts(flags)}
        levels.setdefault("baseline", [])
        self.extensions = [ext for ext in self.extensions if level_of(ext) in levels]
        for ext in self.extensions:
            parallel, regions = (openmp, lone) if ext.name.startswith(CPU) else ([], [])
            exact = NO_CONTRACTION if ext.name in EXACT else []
            ext.depends += [REGIONS] if regions else []
            ext.extra_compile_args = COMMON + levels[level_of(ext)] + parallel + regions + exact
            ext.extra_link_args = [] if MSVC else parallel + (WRAPPED if regions else [])
            if ext.name == f"{CPU}.build_info":
                ext.define_macros.append(("PYX_TENSOR_FLAGS", '"%s"' % " ".join(ext.extra_compile_args)))
                ext.define_macros.append(("PYX_TENSOR_LEVELS", '"%s"' % " ".join(levels)))
        super().build_extensions()


if __name__ == "__main__":  # Cython's workers import this file where processes are spawned
    setup(ext_modules=extensions(), cmdclass={"build_ext": BuildExtensions})
