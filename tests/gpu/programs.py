"""Trainings on the CUDA device give the cpu's losses to 1e-3, and the training scripts print what they print with PyTorch."""
import re
import runpy
import subprocess
import sys
import tempfile

from start import OPTIONS, STANDIN, Part, torch

from script_output import SCRIPTS

nn, F = torch.nn, torch.nn.functional
TOLERANCE = 1e-3
# Scripts that make all of their tensors on the default device.
ON_THE_DEFAULT_DEVICE = ["char_gpt", "checkpointing", "custom_function", "dcgan", "hooks", "lbfgs", "maml", "regression", "reinforce", "schedulers", "siamese", "sparse_embedding", "vae", "wgan_gp", "word_lm"]
NUMBER = re.compile(r"([-+]?\d+\.\d+(?:e[-+]?\d+)?|nan|inf)")


class Recurrent(nn.Module):
    """A classifier of sequences."""

    def __init__(self, kind):
        super().__init__()
        self.net, self.head = kind(8, 16, num_layers=2, batch_first=True), nn.Linear(16, 4)

    def forward(self, x):
        return self.head(self.net(x)[0][:, -1])


class Block(nn.Module):
    """A block of a transformer."""

    def __init__(self, width=32, heads=4):
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(width), nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))

    def forward(self, x):
        normal = self.norm(x)
        x = x + self.attention(normal, normal, normal, need_weights=False)[0]
        return x + self.mlp(x)


def images():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, stride=2, groups=2), nn.GroupNorm(4, 16),
                         nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4))


# name: (model, shape of a sample, optimizer)
TRAININGS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 4)), (20,), lambda p: torch.optim.Adam(p, 1e-2)),
    "images": (images, (3, 16, 16), lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, weight_decay=1e-4)),
    "lstm": (lambda: Recurrent(nn.LSTM), (12, 8), lambda p: torch.optim.AdamW(p, 1e-2)),
    "gru": (lambda: Recurrent(nn.GRU), (12, 8), lambda p: torch.optim.RMSprop(p, 1e-3)),
    "transformer": (lambda: nn.Sequential(Block(), Block(), nn.Flatten(), nn.Linear(320, 4)), (10, 32), lambda p: torch.optim.Adam(p, 1e-3, amsgrad=True)),
}


def losses(name, device, steps=12):
    make, shape, optimizer = TRAININGS[name]
    torch.manual_seed(0)
    model, data, target = make(), torch.randn(16, *shape), torch.randint(0, 4, (16,))
    model, data, target = model.to(device), data.to(device), target.to(device)
    optimizer, found = optimizer(model.parameters()), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def train(name):
    expected, found = losses(name, "cpu"), losses(name, "cuda")
    worst = max(abs(a - b) / max(abs(b), 1e-3) for a, b in zip(found, expected))
    print(f"   {name}: the last loss is {found[-1]:.5f}, the cpu's {expected[-1]:.5f}; the largest difference {worst:.1e}")
    assert worst <= TOLERANCE, f"{found} instead of {expected}"


def run_script(name):
    """Run a program for PyTorch with its tensors on the device."""
    from pyx_tensor import alias
    alias.install()
    torch.set_default_device("cuda")
    sys.argv = [name]
    runpy.run_path(str(SCRIPTS / f"{name}.py"), run_name="__main__")


def script(name):
    """Compare what a program prints, in a process of its own, with what it prints with PyTorch on the cpu."""
    command = [sys.executable, __file__, "script", name, *(["--standin"] if STANDIN else [])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, cwd=tempfile.mkdtemp())
    assert done.returncode == 0, done.stderr[-600:]
    found = done.stdout.replace(", device='cuda:0'", "").replace("cuda:0", "cpu")
    a, b = NUMBER.split(found), NUMBER.split((SCRIPTS / f"{name}.out").read_text())
    assert a[::2] == b[::2], f"expected\n{''.join(b)}\ngot\n{found}"
    for x, y in zip(a[1::2], b[1::2]):
        assert x == y or abs(float(x) - float(y)) <= TOLERANCE * max(abs(float(y)), 1), f"{x} instead of {y} in\n{found}"


if OPTIONS.rest[:1] == ["script"]:
    run_script(OPTIONS.rest[1])
    sys.exit()
part = Part("programs")
part.each([name for name in TRAININGS if not OPTIONS.rest or name in OPTIONS.rest], train)
part.each([name for name in ON_THE_DEFAULT_DEVICE if not OPTIONS.rest or name in OPTIONS.rest], script)
part.end()
