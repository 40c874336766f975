"""The examples in docstrings, with `torch` for the package as a user would write."""
import doctest
import importlib
import inspect
import pkgutil

import pyx_tensor as torch
import pytest


def documented():
    """name -> docstring with an example, of every public object of every module of the package."""
    found = {}
    modules = [torch] + [importlib.import_module(info.name) for info in pkgutil.walk_packages(torch.__path__, "pyx_tensor.")
                         if not info.name.endswith("__main__")]
    for module in modules:
        collect(found, module.__name__, module)
        for name, member in vars(module).items():
            if not name.startswith("_") and not inspect.ismodule(member):
                collect(found, f"{module.__name__}.{name}", member)
                if inspect.isclass(member):
                    for attribute, value in vars(member).items():
                        collect(found, f"{module.__name__}.{name}.{attribute}", value)
    return found


def collect(found, name, member):
    text = getattr(member, "__doc__", None)
    if isinstance(text, str) and ">>>" in text and text not in found.values():
        found[name] = text


EXAMPLES = documented()


@pytest.mark.parametrize("name", EXAMPLES)
def test_docstring(name):
    test = doctest.DocTestParser().get_doctest(EXAMPLES[name], {"torch": torch}, name, None, 0)
    report = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS).run(test, out=report.append)
    assert not report, "".join(report)


def test_examples_are_found():
    assert EXAMPLES
