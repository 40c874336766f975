"""Programs written for PyTorch run unmodified, and print what they print with PyTorch (kept beside them as .out)."""
import subprocess
import sys

import pytest
from script_output import NAMES, SCRIPTS, assert_same_output


@pytest.mark.parametrize("name", NAMES)
def test_a_script_prints_what_it_prints_with_pytorch(name, tmp_path):
    done = subprocess.run([sys.executable, "-m", "pyx_tensor", str(SCRIPTS / f"{name}.py")], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    assert_same_output(done.stdout, (SCRIPTS / f"{name}.out").read_text())
