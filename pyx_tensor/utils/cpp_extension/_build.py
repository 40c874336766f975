"""Compiling: found again where sources, flags, compiler and versions are the same."""
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np

from ... import version

_ROOT = Path(__file__).resolve().parents[3]       # the folder that pyx_tensor is in, for cimport
_MISSING = ("cpp_extension: there is no C compiler: {command!r} isn't found. Install one (on Debian `apt install gcc`, on macOS `xcode-select --install`, on "
            "Windows the Build Tools for Visual Studio), or name yours in the environment variable CC.")


def sources_of(paths):
    """[(file name, text)] of one path or several."""
    paths = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    found = [(Path(path).name, Path(path).read_text()) for path in paths]
    if not found:
        raise ValueError("cpp_extension: there are no sources")
    return found


def _compiler():
    """The command of the C compiler; RuntimeError where there is none."""
    command = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    if shutil.which(command[0]) is None and "CC" not in os.environ and shutil.which("cc"):
        command = ["cc"]              # Python was built with one that isn't here
    if shutil.which(command[0]) is None:
        raise RuntimeError(_MISSING.format(command=command[0]))
    return command


def _run(command, verbose, what):
    if verbose:
        print(shlex.join(map(str, command)), file=sys.stderr)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"cpp_extension: {what} failed:\n{shlex.join(map(str, command))}\n{done.stdout}{done.stderr}")
    if verbose:
        print(done.stdout + done.stderr, file=sys.stderr)


def _translated(source, verbose):
    """Cython's C file for a source."""
    try:
        import Cython  # noqa: F401
    except ImportError:
        raise RuntimeError("cpp_extension: Cython isn't installed, which .pyx sources need: `pip install cython`") from None
    target = source.with_suffix(".c")
    command = [sys.executable, "-m", "cython", "-3", "--directive", "binding=True", "-I", str(_ROOT), str(source), "-o", str(target)]
    _run(command, verbose, f"Cython's translation of {source.name}")
    return target


def _digest(*parts):
    digest = hashlib.sha256()
    for part in parts:
        digest.update(repr(part).encode())
    return digest.hexdigest()


def build(name, sources, directory, verbose, cflags, ldflags, include_paths):
    """(path of the library, digest, whether it is a Cython module)"""
    is_cython = any(file.endswith(".pyx") for file, _ in sources)
    _check_files(sources)
    compiler = _compiler() if sys.platform != "win32" else ["msvc"]
    digest = _digest(name, sources, cflags, ldflags, include_paths, compiler, sys.version, np.__version__.split(".")[0], version.__version__)
    suffix = sysconfig.get_config_var("EXT_SUFFIX") if is_cython else ".so"
    folder = _folder(directory) / f"{name}-{digest[:16]}"
    target = folder / f"{name}{suffix}"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as work:
            built = _compile(Path(work), target.name, sources, include_paths, compiler, cflags, ldflags, verbose)
            os.replace(built, target)         # whole or not at all, whoever else builds the same
    return target, digest, is_cython


def _check_files(sources):
    names = [file for file, _ in sources]
    for file in names:
        if Path(file).suffix not in (".c", ".cpp", ".cc", ".cxx", ".pyx"):
            raise ValueError(f"cpp_extension: expected .c, .cpp or .pyx sources, got {file!r}")
    if len(set(names)) != len(names):
        raise ValueError(f"cpp_extension: two sources have one name: {sorted(names)}")
    if sum(file.endswith(".pyx") for file in names) > 1:
        raise ValueError("cpp_extension: there may be one .pyx source; it can cimport and import others")


def _folder(directory):
    if directory is not None:
        return Path(directory)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pyx_tensor" / "extensions"


def _compile(work, target, sources, include_paths, compiler, cflags, ldflags, verbose):
    files = []
    for file, text in sources:
        path = work / (f"{target.partition('.')[0]}.pyx" if file.endswith(".pyx") else file)       # a module's name is its file's
        path.write_text(text)
        files.append(_translated(path, verbose) if path.suffix == ".pyx" else path)
    built = work / target
    if sys.platform == "win32":
        _compile_with_msvc(work, built, files, include_paths, cflags, ldflags)
        return built
    flags = ["-O3", "-fPIC", "-shared", *(["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else [])]
    links = ["-lstdc++"] if any(path.suffix in (".cpp", ".cc", ".cxx") for path in files) and sys.platform != "darwin" else []
    _run([*compiler, *flags, *cflags, *[f"-I{path}" for path in include_paths], *map(str, files), "-o", str(built), *links, *ldflags, "-lm"], verbose,
         "the compiler's run")
    return built


def _compile_with_msvc(work, built, files, include_paths, cflags, ldflags):
    """By setuptools, which knows where Visual Studio hides its compiler."""
    try:
        from setuptools._distutils import ccompiler, errors
    except ImportError:
        raise RuntimeError("cpp_extension: setuptools isn't installed, which finds the compiler on Windows: `pip install setuptools`") from None
    tool = ccompiler.new_compiler()
    try:
        tool.initialize()
        objects = tool.compile([str(path) for path in files], str(work), include_dirs=[str(path) for path in include_paths], extra_postargs=["/O2", *cflags])
        tool.link_shared_object(objects, str(built), library_dirs=[os.path.join(sys.base_prefix, "libs")], extra_postargs=list(ldflags))
    except errors.DistutilsPlatformError as error:
        raise RuntimeError(_MISSING.format(command="cl.exe")) from error
    except errors.CCompilerError as error:
        raise RuntimeError(f"cpp_extension: the compiler's run failed: {error}") from error
