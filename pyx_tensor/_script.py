"""Scripts that run under the alias, by names under which processes that multiprocessing spawns find them again.

Such a process imports the main module by its name before it does its work. That of a script is this package's and the path
in hexadecimal digits; looking it up installs the alias.
"""
import importlib.abc
import importlib.util
import os
import sys

from . import alias

__path__ = []


def name_of(path):
    """The name of a script as a module."""
    return f"{__name__}.x{os.fsencode(os.path.abspath(path)).hex()}"


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        package, _, digits = name.rpartition(".x")
        if package != __name__:
            return None
        alias.install()
        return importlib.util.spec_from_file_location(name, os.fsdecode(bytes.fromhex(digits)))


sys.meta_path.insert(0, _Finder())
