"""Every name that programs of early PyTorch use stands where they look for it (tests/early_names.txt lists them)."""
import re
from pathlib import Path

import pytest

import pyx_tensor as torch

LINES = [line.split("#")[0].split("[")[0].strip() for line in (Path(__file__).parent / "early_names.txt").read_text().splitlines()]
NAMES = sorted({line for line in LINES if line})
OF_OBJECTS = {"nn.Module.training": lambda: torch.nn.Linear(1, 1).training,      # made in __init__: no attributes of the class
              "optim.Optimizer.param_groups": lambda: torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1).param_groups,
              "Tensor.indices": lambda: torch.ones(1).to_sparse().coalesce().indices(), "Tensor.values": lambda: torch.ones(1).to_sparse().coalesce().values()}

# Names whose parts of the library are still to come. A name that has come is taken off this list.
STILL_TO_COME = {
}


def find(name):
    if name in OF_OBJECTS:
        return OF_OBJECTS[name]()
    found = torch
    for part in name.split("."):
        called = re.fullmatch(r"(\w+)\(\)", part)
        found = getattr(found, called.group(1))(torch.ones(1)) if called else getattr(found, part)
    return found


@pytest.mark.parametrize("name", [name for name in NAMES if name not in STILL_TO_COME])
def test_name(name):
    find(name)


def test_nothing_on_the_list_of_missing_names_is_there():
    assert STILL_TO_COME <= set(NAMES)
