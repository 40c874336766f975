"""Imports run one way: core <- autograd <- ops <- nn.functional <- nn, optim, vision and the rest <- the namespace.

Every import statement counts, also one inside a function and a `cimport`: a late import hides an arrow, it does
not turn it round. A backend sees only the protocol; the front end names no backend.
"""
import ast
import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
FRONT = "pyx_tensor"
LAYERS = ("core", "autograd", "ops", "nn.functional")  # lowest first
REST, NAMESPACE = len(LAYERS), len(LAYERS) + 1
PROTOCOL = ("pyx_tensor.core.protocol", "pyx_tensor.core.array_module")  # what a backend is made from
CLIENTS = (f"{FRONT}.testing.backend_suite", f"{FRONT}.testing.tensor_checks", f"{FRONT}.alias",
           f"{FRONT}.__main__", f"{FRONT}._script")  # they use the namespace as users do
NAMES_BACKENDS = "pyx_tensor.core.registry"  # the one module that may load a backend by its package's name


def inside(module, package):
    return module == package or module.startswith(package + ".")


def sees_protocol(module):
    return any(inside(module, part) for part in PROTOCOL)


def layer(module):
    """The rank of a front-end module: it may import its own rank and those below."""
    if module == FRONT or module in CLIENTS:
        return NAMESPACE
    for rank, name in enumerate(LAYERS):
        if inside(module, f"{FRONT}.{name}"):
            return rank
    return REST


# Reading the tree

def source_files(root):
    """(module name, path, whether it is a package) of every Python and Cython source under the two roots."""
    for base in (root, root / "backends"):
        for package in sorted(base.glob("pyx_tensor*")):
            for path in sorted(package.rglob("*")):
                if path.suffix not in (".py", ".pyx", ".pxd", ".pxi"):      # stubs are never run
                    continue
                parts = path.relative_to(base).with_suffix("").parts
                is_package = parts[-1] == "__init__"
                yield ".".join(parts[:-1] if is_package else parts), path, is_package


def python_imports(text):
    """(dots, module or "", names or None) of every import statement."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.level, node.module or "", [alias.name for alias in node.names]


STRINGS = re.compile(r'("""|\'\'\').*?\1', re.DOTALL)
FROM = re.compile(r"^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+c?import[ \t]*(\([^)]*\)|[^#\n]*)", re.MULTILINE)
PLAIN = re.compile(r"^[ \t]*c?import[ \t]+([^#\n]*)", re.MULTILINE)


def cython_imports(text):
    text = STRINGS.sub("''", text)

    def names(listing):
        return [name.split()[0] for name in listing.strip("() \t").split(",") if name.strip()]

    for dots, module, listing in FROM.findall(text):
        yield len(dots), module, names(listing)
    for listing in PLAIN.findall(text):
        yield from ((0, name, None) for name in names(listing))


def absolute(importer, is_package, dots, module):
    if not dots:
        return module
    parts = importer.split(".")
    parts = parts[: len(parts) - dots + is_package]
    return ".".join(parts + ([module] if module else []))


def arrows(root):
    """(importer, imported module, path) for every import inside the tree."""
    files = list(source_files(root))
    known = {module for module, _, _ in files}
    for importer, path, is_package in files:
        read = python_imports if path.suffix in (".py", ".pyi") else cython_imports
        for dots, module, names in read(path.read_text()):
            target = absolute(importer, is_package, dots, module)
            for name in names or [None]:
                member = f"{target}.{name}"
                yield importer, member if member in known else target, path


def named_backends(root):
    """(importer, package, path) where a front-end module other than the registry spells a backend's package."""
    packages = [path.name for path in (root / "backends").glob("pyx_tensor_*")]
    for module, path, _ in source_files(root):
        if inside(module, FRONT) and not inside(module, NAMES_BACKENDS) and path.suffix == ".py":
            literals = {node.value for node in ast.walk(ast.parse(path.read_text()))
                        if isinstance(node, ast.Constant) and isinstance(node.value, str)}
            for literal in sorted(literals):
                if any(inside(literal, package) for package in packages):
                    yield module, literal, path


# The rules

def complaint(importer, imported):
    """What is wrong with an arrow, or None."""
    top = imported.split(".")[0]
    if inside(importer, FRONT):
        if top.startswith(FRONT + "_"):
            return "the front end names a backend"
        if top == FRONT and layer(imported) > layer(importer):
            return "runs back"
    elif top == FRONT and not sees_protocol(imported):
        return f"a backend imports {' and '.join(PROTOCOL)} alone"
    elif top.startswith(FRONT + "_") and top != importer.split(".")[0]:
        return "a backend imports another backend"
    return None


def violations(root):
    found = [(importer, imported, complaint(importer, imported), path) for importer, imported, path in arrows(root)]
    found += [(importer, literal, "the front end names a backend", path)
              for importer, literal, path in named_backends(root)]
    return sorted({f"{path.relative_to(root)}: {importer} -> {imported}: {why}"
                   for importer, imported, why, path in found if why})


# The tests

def plant(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        for folder in path.parents:
            if folder in (root, root / "backends"):
                break
            (folder / "__init__.py").touch()


def test_the_tree_keeps_the_rules():
    assert not violations(REPOSITORY)


def test_the_tree_is_read():
    """An empty walk would keep every rule."""
    modules = {module for module, _, _ in source_files(REPOSITORY)}
    assert {"pyx_tensor", "pyx_tensor.core", "pyx_tensor.ops", "pyx_tensor_cpu", "pyx_tensor_reference"} <= modules
    seen = {(importer, imported) for importer, imported, _ in arrows(REPOSITORY)}
    assert any(inside(a, "pyx_tensor.ops") and inside(b, "pyx_tensor.core") for a, b in seen)
    assert any(inside(a, "pyx_tensor_cpu") and sees_protocol(b) for a, b in seen)


@pytest.mark.parametrize(("name", "text"), [
    ("pyx_tensor/core/tensor.py", "from pyx_tensor.ops import pointwise"),
    ("pyx_tensor/core/tensor.py", "from ..autograd import engine"),
    ("pyx_tensor/core/tensor.py", "def backward(self):\n    import pyx_tensor.autograd.engine"),
    ("pyx_tensor/core/tensor.py", "import pyx_tensor as torch"),
    ("pyx_tensor/core/tensor.pyx", "from pyx_tensor.ops.pointwise cimport add"),
    ("pyx_tensor/core/tensor.pyx", "from ..ops cimport (\n    pointwise,\n)"),
    ("pyx_tensor/core/tensor.pxd", "cimport numpy, pyx_tensor.ops.pointwise"),
    ("pyx_tensor/core/loops.pxi", "cdef f():\n    from pyx_tensor import nn"),
    ("pyx_tensor/autograd/engine.py", "from .. import ops"),
    ("pyx_tensor/ops/nn.py", "from ..nn import functional as F"),
    ("pyx_tensor/nn/functional.py", "from . import modules"),
    ("pyx_tensor/nn/functional.py", "from pyx_tensor.optim import sgd"),
    ("pyx_tensor/core/device.py", "import pyx_tensor_cpu"),
    ("pyx_tensor/core/device.py", "__import__('pyx_tensor_cpu.level')"),
    ("pyx_tensor/optim/sgd.py", "from pyx_tensor_cpu.optim import sgd_step_"),
    ("backends/pyx_tensor_cpu/backend.py", "from pyx_tensor.core import tensor"),
    ("backends/pyx_tensor_cpu/backend.py", "import pyx_tensor"),
    ("backends/pyx_tensor_cpu/pointwise.pyx", "from pyx_tensor.core.tensor cimport TensorBase"),
    ("backends/pyx_tensor_reference/backend.py", "import pyx_tensor_cpu"),
])
def test_a_planted_wrong_arrow_is_found(tmp_path, name, text):
    plant(tmp_path, {
        "pyx_tensor/autograd/engine.py": "", "pyx_tensor/ops/pointwise.py": "", "pyx_tensor/optim/sgd.py": "",
        "pyx_tensor/nn/functional.py": "", "pyx_tensor/nn/modules.py": "", "backends/pyx_tensor_cpu/level.py": "",
    })
    assert not violations(tmp_path)
    plant(tmp_path, {name: text})
    assert len(violations(tmp_path)) == 1


def test_right_arrows_pass(tmp_path):
    plant(tmp_path, {
        "pyx_tensor/core/protocol.py": "import numpy",
        "pyx_tensor/core/op.pyx": '"""import pyx_tensor as torch"""\nfrom .dtype cimport DType\n',
        "pyx_tensor/core/registry.py": "import importlib\nimportlib.import_module('pyx_tensor_cpu')",
        "pyx_tensor/ops/nn.py": "from ..core import op\nfrom ..autograd.engine import backward",
        "pyx_tensor/nn/functional.py": "from .. import ops",
        "pyx_tensor/nn/linear.py": "from . import functional as F\nfrom ..optim import sgd",
        "pyx_tensor/optim/sgd.py": "from ..ops import optim",
        "backends/pyx_tensor_cpu/backend.py": "from pyx_tensor.core.protocol import Backend\nfrom . import memory",
        "backends/pyx_tensor_cpu/memory.pyx": "cimport numpy as cnp",
    })
    (tmp_path / "pyx_tensor/__init__.py").write_text("from . import core, nn, optim\nfrom .ops import *")
    assert not violations(tmp_path)
