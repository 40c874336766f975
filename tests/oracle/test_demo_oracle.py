"""The example programs differ from PyTorch programs by their import alone, and print what PyTorch prints."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DEMOS = Path(__file__).resolve().parents[2] / "docs/examples/demo"
OURS, THEIRS = "import pyx_tensor as torch\n", "import torch\n"
NUMBER = re.compile(r"[-+]?\d+\.\d+")


def run(source, folder):
    folder.mkdir()
    script = folder / "program.py"
    script.write_text(source)
    return subprocess.run([sys.executable, str(script)], cwd=folder, check=True, capture_output=True, text=True,
                          timeout=300, env={**os.environ, "TQDM_DISABLE": "1"}).stdout.splitlines()


def both(name, tmp_path):
    source = (DEMOS / f"{name}.py").read_text()
    assert source.count(OURS) == 1 and "pyx_tensor" not in source.replace(OURS, "")
    return run(source, tmp_path / "ours"), run(source.replace(OURS, THEIRS), tmp_path / "theirs")


def test_polynomial_prints_the_same_lines(tmp_path):
    ours, theirs = both("polynomial", tmp_path)
    assert ours[:3] == theirs[:3] == [
        "Loss: 0.000518 after 760 batches",
        "==> Learned function: y=+6.07 x^4+3.91 x^3+0.90 x^2+8.19 x^1-1.64",
        "==> Actual function: y=+6.13 x^4+3.89 x^3+0.86 x^2+8.20 x^1-1.62",
    ]


def test_digits_prints_the_same_losses(tmp_path):
    pytest.importorskip("sklearn")
    pytest.importorskip("tqdm")
    ours, theirs = both("digits", tmp_path)
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs):
        assert NUMBER.sub("#", mine) == NUMBER.sub("#", other)
        assert [float(n) for n in NUMBER.findall(mine)] == pytest.approx([float(n) for n in NUMBER.findall(other)], abs=5e-5)
    assert sum(line.startswith("Loss:") for line in ours) == 1
