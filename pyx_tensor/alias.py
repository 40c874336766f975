"""pyx_tensor under PyTorch's name: `import torch` gives this package, for a program and the libraries that it uses.

    import pyx_tensor.alias
    pyx_tensor.alias.install()
    import torch                      # pyx_tensor; torch.nn is pyx_tensor.nn, torchvision.models is pyx_tensor.vision.models
    import einops

`python -m pyx_tensor script.py` does so for a script as it is.
"""
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import sys

import pyx_tensor

from . import version
from .core.frontend import Parameter, Tensor

# PyTorch's package -> ours, of those that are aliased
_ALL = {"torch": "pyx_tensor", "torchvision": "pyx_tensor.vision"}
ROOTS = dict(_ALL)
_RELEASES = {"torch": version.torch_version}      # of distributions that libraries ask for; of torchvision there is too little


def own_name(name):
    """The module of ours that a name of PyTorch's means, or None for names of others."""
    top, dot, rest = name.partition(".")
    return f"{ROOTS[top]}{dot}{rest}" if top in ROOTS else None


def _exists(name):
    """Whether there is such a module of ours."""
    if name in sys.modules:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except (ModuleNotFoundError, ValueError):
        return False


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds PyTorch's modules: the modules of ours, the same objects under both names."""

    def find_spec(self, name, path=None, target=None):
        own = own_name(name)
        if own is None:
            return None
        if not _exists(own):
            raise ModuleNotFoundError(f"{name} isn't available: pyx_tensor has no {own}", name=name)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = importlib.import_module(own_name(spec.name))
        spec.loader_state = module.__spec__         # the import system writes its own over it
        return module

    def exec_module(self, module):
        imported = module.__spec__
        module.__spec__ = imported.loader_state

    def find_distributions(self, context=importlib.metadata.DistributionFinder.Context()):
        """So that `importlib.metadata.version('torch')` tells the release whose interface this is."""
        return [_Distribution(name) for name in _RELEASES if context.name == name]


class _Distribution(importlib.metadata.Distribution):
    def __init__(self, name):
        self._torch_name = name

    def read_text(self, filename):
        return f"Metadata-Version: 2.1\nName: {self._torch_name}\nVersion: {_RELEASES[self._torch_name]}\n" if filename == "METADATA" else None

    def locate_file(self, path):
        return path


_finder = _Finder()


def install(torchvision=True):
    """Make `import torch` and `import torchvision` mean this package, in the whole program; a second call does nothing.

    Args:
        torchvision: False leaves torchvision alone, of which there are the models only: some libraries use more of it wherever they
            find it.

    `torch.__version__` then is PyTorch's, with ours behind it: '2.13.0+pyx0.1.0', for libraries that compare it.

    Raises RuntimeError where PyTorch itself is imported already.
    """
    if _finder in sys.meta_path:
        return
    ROOTS.update(_ALL)
    if not torchvision:
        del ROOTS["torchvision"]
    for name in ROOTS:
        module = sys.modules.get(name)
        if module is not None and not module.__name__.startswith("pyx_tensor"):
            raise RuntimeError(f"alias.install(): {name} itself is imported already, from {getattr(module, '__file__', 'somewhere')}; "
                               "call install() before anything that imports it")
    sys.meta_path.insert(0, _finder)
    importlib.import_module("torch")
    _rename(f"{version.torch_version}+pyx{version.__version__}", "torch", "torch.nn.parameter")


def uninstall():
    """Undo `install()`: what was imported as torch stays with those who have it."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
        _rename(version.__version__, *["pyx_tensor.core.frontend"] * 2)
    for name in [name for name in sys.modules if name.partition(".")[0] in ROOTS and own_name(name) and
                 sys.modules[name].__name__.startswith("pyx_tensor")]:
        del sys.modules[name]


def _rename(release, tensors, parameters):
    """What libraries look at to tell whose tensors they have."""
    pyx_tensor.__version__ = release
    Tensor.__module__, Parameter.__module__ = tensors, parameters


# --- scripts ------------------------------------------------------------------------------------------------------
def run_script(path, arguments):
    """Run a script as `python script.py arguments...` would, with the alias installed. Returns the exit status."""
    import os
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        print(f"python -m pyx_tensor: can't open file {path!r}: {error}", file=sys.stderr)
        return 2
    sys.argv[:] = [path, *arguments]
    sys.path[0] = os.path.dirname(os.path.realpath(path))
    main = sys.modules["__main__"] = type(sys)("__main__")
    main.__file__, main.__builtins__, main.__cached__ = path, __builtins__, None
    from ._script import name_of
    main.__spec__ = importlib.machinery.ModuleSpec(name_of(path), None)      # for processes that it spawns
    return _run(lambda: exec(compile(source, path, "exec"), main.__dict__))


def run_module(name, arguments):
    """Run a module as `python -m name arguments...` would, with the alias installed. Returns the exit status."""
    import runpy
    sys.argv[:] = [name, *arguments]
    sys.path[0] = ""
    return _run(lambda: runpy.run_module(name, run_name="__main__", alter_sys=True))


def _run(program):
    install()
    try:
        program()
    except SystemExit:
        raise
    except BaseException as error:
        error = error.with_traceback(_of_the_program(error.__traceback__))
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def _of_the_program(traceback):
    """A traceback from the program's own first frame on."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>"):
        traceback = traceback.tb_next
    return traceback
