"""The parts of tests/gpu/run.sh run over the stand-in for CuPy, so that they stay ready for a machine with a GPU."""
import subprocess
import sys
from pathlib import Path

import pytest

GPU = Path(__file__).parent / "gpu"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kernels are run on the host by GNU's C++ compiler and library")


@pytest.mark.parametrize("part", ["runtime.py", "by_cudnn.py", "speed.py", "kit.py", "operations.py add softmax index_add", "gradients.py add softmax cholesky",
                                  "programs.py mlp lstm hooks"])
def test_a_part_passes_over_the_standin(part):
    program, *arguments = part.split()
    done = subprocess.run([sys.executable, str(GPU / program), "--standin", *arguments], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "0 failed, 0 left out" in done.stdout.splitlines()[-1]


def test_the_script_names_every_part():
    script = (GPU / "run.sh").read_text()
    assert all(f"tests/gpu/{path.name}" in script for path in GPU.glob("*.py") if path.stem not in ("start", "on_cuda"))
    assert "--module on_cuda" in script
