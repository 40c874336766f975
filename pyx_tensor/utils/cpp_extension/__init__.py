"""C and Cython sources compiled where the program runs, their functions entered as operations with a gradient.

PyTorch's name for it; its own C++ interface (`torch/extension.h`) isn't here. See docs/extending.md for an example of each kind.
"""
import os
import sysconfig
import types

import numpy as np

from . import _register
from ._build import build, sources_of

__all__ = ["include_paths", "load", "load_inline"]

_loaded = {}         # digest of the build -> module
_versions = {}       # name -> how many different builds of it are loaded


def include_paths():
    """The folders of the headers that sources may include: Python's and NumPy's."""
    return [sysconfig.get_path("include"), np.get_include()]


def load(name, sources, functions=None, *, extra_cflags=None, extra_ldflags=None, extra_include_paths=None, build_directory=None, verbose=False):
    """Compile sources and load them.

    Args:
        name: of the result, an identifier; operations are `torch.ops.<name>.<function>`.
        sources: a path or several. One `.pyx` is a Cython module, which C sources may go along with; `.c` (or `.cpp`) sources alone
            are functions over arrays, called by their prototypes.
        functions: which functions become operations: a list of names, or {name: options}. Options are those of
            `torch.library.custom_op` (`vjp`, `promote`, `inplace`, `method` …), and

            - `definition`: a function(B, ...) that gives the operation's parameters and serves devices other than the cpu;
            - `tensors`: without a definition, the names of a Cython function's parameters that are tensors; the first by default.
        extra_cflags, extra_ldflags, extra_include_paths: for the compiler.
        build_directory: where what is built is kept; by default a folder in ~/.cache/pyx_tensor. It is found again there as long as the
            sources, flags, compiler and versions are the same.
        verbose: print the compiler's commands.

    Returns:
        a module: Cython's own, or a new one, with the operations as attributes.

    A C function's prototype says what it is called with: `const T *` is an input (an array of T, row-major, brought to the common shape),
    `T *` a result (a new array of that shape), an integer `n` the number of elements, and other numbers are the operation's further
    arguments: `void scale(const double *x, double *y, double factor, ptrdiff_t n)`. A returned int other than 0 is an error. Where
    there are `scale_float32` and `scale_float64`, they are one operation `scale`.

    Raises:
        RuntimeError: there is no compiler, or it refused the source (its messages are the error's).
        ValueError: the functions aren't there, or their prototypes aren't of that kind.
    """
    return _load(name, sources_of(sources), functions, _flags(extra_cflags, extra_ldflags, extra_include_paths),
                 build_directory, verbose)


def load_inline(name, c_sources=None, cython_sources=None, functions=None, *, cpp_sources=None, cuda_sources=None, extra_cflags=None, extra_ldflags=None,
                extra_include_paths=None, build_directory=None, verbose=False):
    """`load` of sources given as text, one or several.

    >>> import pyx_tensor as torch
    >>> from pyx_tensor.utils.cpp_extension import load_inline
    >>> ext = load_inline("doc_cube", '''
    ... #include <stddef.h>
    ... void cube(const double *x, double *y, ptrdiff_t n) { for (ptrdiff_t i = 0; i < n; i++) y[i] = x[i] * x[i] * x[i]; }
    ... ''', functions={"cube": dict(vjp=dict(x=lambda B, g, x: B.mul(g, B.mul(3, B.square(x)))))})
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> ext.cube(x).sum().backward()
    >>> x.grad
    tensor([ 3., 12.], dtype=torch.float64)
    """
    if cuda_sources is not None:
        raise NotImplementedError("load_inline: CUDA sources aren't supported; register a CuPy kernel for the device 'cuda' with torch.library")
    texts = []
    for kind, given in ((".c", c_sources), (".cpp", cpp_sources), (".pyx", cython_sources)):
        for text in [given] if isinstance(given, str) else given or ():
            texts.append((f"{name}{len(texts) or ''}{kind}" if kind != ".pyx" else f"{name}.pyx", text))
    if not texts:
        raise ValueError("load_inline: there are no sources")
    return _load(name, texts, functions, _flags(extra_cflags, extra_ldflags, extra_include_paths), build_directory, verbose)


def _flags(cflags, ldflags, more_include_paths):
    return dict(cflags=list(cflags or ()), ldflags=list(ldflags or ()), include_paths=[*include_paths(), *map(os.fspath, more_include_paths or ())])


def _load(name, sources, functions, flags, build_directory, verbose):
    if not name.isidentifier():
        raise ValueError(f"cpp_extension: the name must be an identifier, got {name!r}")
    if any("torch/extension.h" in text or "ATen/" in text for _, text in sources):
        raise NotImplementedError("cpp_extension: PyTorch's C++ interface (torch/extension.h, ATen) isn't available; write C over plain arrays, or Cython")
    path, digest, is_cython = build(name, sources, build_directory, verbose, **flags)
    if digest in _loaded:
        return _loaded[digest]
    scope = name if name not in _versions else f"{name}_v{_versions[name]}"         # what was loaded before goes on under its name
    module = _register.cython_module(name, path) if is_cython else types.ModuleType(name)
    kernels = _register.kernels(module, functions, [text for _, text in sources], path, is_cython)
    for function, (kernel, definition, options) in kernels.items():
        setattr(module, function, _register.operation(f"{scope}::{function}", kernel, definition, options))
    module.__file__ = str(path)
    _versions[name] = _versions.get(name, 0) + 1
    _loaded[digest] = module
    return module
