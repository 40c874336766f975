"""The examples in docstrings, with `torch` for the package as a user would write."""
import doctest
import importlib
import inspect
import pkgutil
import sys

import pyx_tensor as torch
import pytest


def documented():
    """name -> (docstring with an example, its module's names), of every public object of every module of the package."""
    found = {}
    modules = [torch] + [importlib.import_module(info.name) for info in pkgutil.walk_packages(torch.__path__, "pyx_tensor.")
                         if not info.name.endswith("__main__")]
    for module in modules:
        collect(found, module.__name__, module)
        for name, member in vars(module).items():
            if not name.startswith("_") and str(getattr(member, "__module__", "")).startswith("pyx_tensor"):
                collect(found, f"{module.__name__}.{name}", member)
                if inspect.isclass(member):
                    for attribute, value in vars(member).items():
                        collect(found, f"{module.__name__}.{name}.{attribute}", value)
    return found


def collect(found, name, member):
    text = getattr(member, "__doc__", None)
    if text == type(member).__doc__:  # an instance shows its class's
        return
    if isinstance(text, str) and ">>>" in text and all(text != known for known, _ in found.values()):
        home = sys.modules.get(getattr(member, "__module__", None) or name, torch)
        found[name] = text, vars(home)


EXAMPLES = documented()


@pytest.mark.parametrize("name", EXAMPLES)
def test_docstring(name):
    text, names = EXAMPLES[name]
    test = doctest.DocTestParser().get_doctest(text, {**names, "torch": torch, "nn": torch.nn}, name, None, 0)
    report = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS).run(test, out=report.append)
    assert not report, "".join(report)


def test_examples_are_found():
    assert EXAMPLES
