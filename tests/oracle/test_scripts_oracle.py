"""What is kept as the output of the scripts is what they print with PyTorch."""
import subprocess
import sys

import pytest
from script_output import NAMES, SCRIPTS, assert_same_output


@pytest.mark.parametrize("name", NAMES)
def test_the_script_prints_this_with_pytorch(name, tmp_path):
    done = subprocess.run([sys.executable, "-W", "ignore", str(SCRIPTS / f"{name}.py")], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    assert_same_output(done.stdout, (SCRIPTS / f"{name}.out").read_text())
