"""Memory of training steps against PyTorch's: what processes of their own take beyond imports, model and data."""
import subprocess
import sys
from pathlib import Path

import pytest

PEAKS = Path(__file__).resolve().parents[2] / "asv_benchmarks" / "peaks.py"
pytestmark = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="/proc/self/clear_refs, which starts the peak anew, is Linux's")


@pytest.mark.parametrize("case", ["MNIST CNN", "ResNet-18", "LSTM", "GPT"])
def test_the_peak_is_no_larger(case):
    lines = subprocess.run([sys.executable, str(PEAKS), case], check=True, capture_output=True, text=True).stdout.splitlines()
    assert lines[1].startswith(case)
    assert float(lines[1].split()[-1]) <= 1.0, lines[1]
