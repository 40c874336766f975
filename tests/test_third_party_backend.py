"""A backend in a distribution of its own: installed, found by its entry point, trained on, saved and loaded."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "docs" / "examples" / "third_party_backend"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder that the example is installed into."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    for name in ("pyproject.toml", "pyx_tensor_vault.py"):
        (source / name).write_text((EXAMPLE / name).read_text())
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation",
               "--no-index", "--target", str(target), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def run(installed):
    """Run code in a fresh interpreter that has the distribution; give what it prints."""
    def run(*arguments):
        path = os.pathsep.join(filter(None, [str(installed), os.environ.get("PYTHONPATH")]))
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": path})
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout
    return run


def test_it_is_loaded_on_first_use(run):
    assert run("-c", """
import sys
import pyx_tensor as torch
print("pyx_tensor_vault" in sys.modules)
x = torch.zeros(2, device="vault")
print(type(x.array).__module__, x.device, (x + 1).tolist())
""") == "False\npyx_tensor_vault vault [1.0, 1.0]\n"


def test_without_the_distribution_there_is_no_such_device():
    import pyx_tensor as torch
    with pytest.raises(RuntimeError, match="no backend for device type 'vault'"):
        torch.zeros(2, device="vault")


def test_it_conforms(run):
    out = run("-m", "pyx_tensor.testing.backend_suite", "vault")
    assert ", 0 failed" in out.splitlines()[0]


TRAIN = """
import io
import pyx_tensor as torch
from pyx_tensor import nn, optim
torch.manual_seed(0)
inputs = torch.randn(64, 3)
target = (inputs[:, :1] * inputs[:, 1:2] > 0).float()

def train(device, steps=150):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1)).to(device)
    optimizer = optim.Adam(model.parameters(), lr=0.05)
    x, y = inputs.to(device), target.to(device)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((model(x).sigmoid() - y) ** 2).mean()
        loss.backward()
        optimizer.step()
    return model, loss

model, loss = train("vault")
assert str(loss.device) == "vault" and all(str(p.device) == "vault" for p in model.parameters())
print("trained", loss.item() < 0.1, abs(loss.item() - train("cpu")[1].item()) < 1e-3)
file = io.BytesIO()
torch.save(model.state_dict(), file)
file.seek(0)
state = torch.load(file)
assert all(str(t.device) == "vault" for t in state.values())
again = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1)).to("vault")
again.load_state_dict(state)
print("loaded", bool((again(inputs.to("vault")) == model(inputs.to("vault"))).all()))
file.seek(0)
print("moved", {str(t.device) for t in torch.load(file, map_location="cpu").values()})
"""


def test_a_model_trains_on_it(run):
    assert run("-c", TRAIN) == "trained True True\nloaded True\nmoved {'cpu'}\n"
