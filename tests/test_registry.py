"""How backends are registered, found and refused."""
import sys

import numpy as np
import pytest

from pyx_tensor.core import registry
from pyx_tensor.core.array_module import ArrayModuleBackend
from pyx_tensor.core.device import make_device
from pyx_tensor.core.protocol import MANDATORY, Backend


@pytest.fixture
def clean():
    """Forget what a test registers."""
    before = dict(registry._backends), dict(registry._slots), dict(registry._failures)
    yield
    for kept, now in zip(before, (registry._backends, registry._slots, registry._failures)):
        now.clear()
        now.update(kept)


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Install a distribution with an entry point: plugin(device type, module name, source of the module, object)."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(device, module, source, value="backend"):
        (tmp_path / f"{module}.py").write_text(source)
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[pyx_tensor.backends]\n{device} = {module}:{value}\n")
    return install


def test_every_primitive_is_mandatory():
    missing = registry.missing_primitives(Backend())
    assert missing == list(MANDATORY)
    assert registry.missing_primitives(ArrayModuleBackend("here", np)) == []


def test_missing_primitives_are_listed(clean):
    class Partial(ArrayModuleBackend):
        matmul = scatter_add = None

    with pytest.raises(ValueError, match="backend 'partial' lacks the primitives: matmul, scatter_add"):
        registry.register_backend("partial", Partial("partial", np))
    assert "partial" not in registry.registered_backends()


def test_duplicates_are_refused(clean):
    first = ArrayModuleBackend("twice", np)
    registry.register_backend("twice", first)
    with pytest.raises(ValueError, match="a backend for device 'twice' is registered already"):
        registry.register_backend("twice", ArrayModuleBackend("twice", np))
    assert registry.get_backend("twice") is first


@pytest.mark.parametrize("name", ["", "two words", "1st", "a:b", 5, None])
def test_names_are_identifiers(name):
    with pytest.raises(ValueError, match="a device type must be an identifier"):
        registry.register_backend(name, ArrayModuleBackend("x", np))


def test_only_backends_register():
    with pytest.raises(TypeError, match="backend for device 'numpy' must be a Backend, not module"):
        registry.register_backend("numpy", np)


@pytest.mark.parametrize("name", ["referenc", "references", "Reference", "REFERENCE", "xreference"])
def test_names_match_exactly(name):
    with pytest.raises(RuntimeError, match=f"no backend for device type '{name}': known are .*reference"):
        registry.get_backend(name)


def test_an_unknown_device_says_what_is_known():
    with pytest.raises(RuntimeError, match="no backend for device type 'toaster': known are .*cpu, cuda.*pyx_tensor.backends"):
        make_device("toaster:1").backend


def test_device_index_out_of_range():
    assert make_device("reference:3").backend is registry.get_backend("reference")
    with pytest.raises(RuntimeError, match=r"invalid device ordinal: reference:4 asked for, but backend 'reference' has 4 device"):
        make_device("reference:4").backend


def test_plugin_is_loaded_on_first_use(clean, plugin):
    plugin("ondemand", "ondemand_plugin", "import numpy\nfrom pyx_tensor.core.array_module import ArrayModuleBackend\n"
                                          "backend = ArrayModuleBackend('ondemand', numpy)\n")
    assert "ondemand_plugin" not in sys.modules
    backend = make_device("ondemand").backend
    assert backend is sys.modules["ondemand_plugin"].backend
    assert registry.get_backend("ondemand") is backend


def test_plugin_may_name_a_class(clean, plugin):
    plugin("byclass", "byclass_plugin", "import numpy\nfrom pyx_tensor.core.array_module import ArrayModuleBackend\n"
                                        "class B(ArrayModuleBackend):\n    def __init__(self):\n"
                                        "        super().__init__('byclass', numpy)\n", "B")
    assert type(registry.get_backend("byclass")).__name__ == "B"


def test_plugin_may_register_itself(clean, plugin):
    plugin("byself", "byself_plugin", "import numpy\nfrom pyx_tensor.core.array_module import ArrayModuleBackend\n"
                                      "from pyx_tensor.core.registry import register_backend\n"
                                      "backend = ArrayModuleBackend('byself', numpy)\nregister_backend('byself', backend)\n")
    assert registry.get_backend("byself") is sys.modules["byself_plugin"].backend


def test_a_broken_plugin_says_why_and_only_when_asked(clean, plugin):
    plugin("brokendev", "brokendev_plugin", "raise ImportError('libbroken.so is missing')\n")
    assert registry.get_backend("reference") is not None
    assert "brokendev" not in registry._failures
    for _ in range(2):
        with pytest.raises(RuntimeError, match="device 'brokendev' is not available: libbroken.so is missing") as caught:
            make_device("brokendev").backend
        assert isinstance(caught.value.__cause__, ImportError)


def test_an_incomplete_plugin_says_what_it_lacks(clean, plugin):
    plugin("halfdone", "halfdone_plugin", "from pyx_tensor.core.protocol import Backend\nbackend = Backend\n")
    with pytest.raises(RuntimeError, match="device 'halfdone' is not available: backend 'halfdone' lacks the primitives: from_numpy, "):
        registry.get_backend("halfdone")


def test_listeners_hear_of_every_backend(clean):
    heard = []
    registry.on_registration(lambda slot, backend: heard.append((slot, backend)))
    try:
        known = len(heard)
        assert {backend for _, backend in heard} == set(registry._backends.values())
        late = ArrayModuleBackend("late", np)
        registry.register_backend("late", late)
        assert heard[known:] == [(registry._slots["late"], late)]
    finally:
        registry._listeners.pop()
