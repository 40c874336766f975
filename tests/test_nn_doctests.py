"""The examples in the documentation of nn and optim."""
import doctest
import importlib
import pkgutil

import pytest

import pyx_tensor as torch
from pyx_tensor import nn, optim

MODULES = sorted(info.name for package in (nn, optim)
                 for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."))


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, extraglobs={"torch": torch, "nn": nn}, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert not failed
