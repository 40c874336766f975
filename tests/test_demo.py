"""The example programs run to their ends and learn what they should."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DEMOS = Path(__file__).resolve().parents[1] / "docs/examples/demo"


def output(name, folder):
    run = subprocess.run([sys.executable, str(DEMOS / f"{name}.py")], cwd=folder, capture_output=True, text=True,
                         timeout=300, env={**os.environ, "TQDM_DISABLE": "1"})
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.rows("S374", "S375")
def test_polynomial(tmp_path):
    assert output("polynomial", tmp_path).startswith(
        "Loss: 0.000518 after 760 batches\n"
        "==> Learned function: y=+6.07 x^4+3.91 x^3+0.90 x^2+8.19 x^1-1.64\n"
        "==> Actual function: y=+6.13 x^4+3.89 x^3+0.86 x^2+8.20 x^1-1.62\n")


def test_digits(tmp_path):
    pytest.importorskip("sklearn")
    pytest.importorskip("tqdm")
    text = output("digits", tmp_path)
    trained, loaded = (float(re.search(f"{label}: ([0-9.]+)", text)[1])
                       for label in ("held-out fifth", "Accuracy after loading"))
    assert trained == loaded >= 0.97
    assert text.count("reads ") == 5
