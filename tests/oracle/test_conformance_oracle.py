"""PyTorch's own operator database against us, with lists of what must pass; the lists may only grow.

    python tests/oracle/test_conformance_oracle.py        # runs it all and adds to the lists what passes now

conformance/run.py makes samples and expected results with PyTorch, compares values, dtypes, shapes, gradients and errors, and
takes other options (its head lists them). Each list is a file conformance/NAME.txt of units, one a line.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "conformance"
RUNS = {      # list: arguments of run.py; float32 whole, the other dtypes by their first samples
    "ops_float32": ("--suite", "ops"),
    "errors": ("--suite", "errors"),
    "optims": ("--suite", "optims"),
    "ops_float64": ("--suite", "ops", "--dtypes", "float64", "--max-samples", "2"),
    "ops_complex64": ("--suite", "ops", "--dtypes", "complex64", "--max-samples", "2"),
    "ops_int64": ("--suite", "ops", "--dtypes", "int64", "--max-samples", "2"),
    "ops_bool": ("--suite", "ops", "--dtypes", "bool", "--max-samples", "2"),
}
TRIES = 4
UNSEEDED = {"svd_lowrank", "pca_lowrank"}    # they start from random projections that run.py doesn't seed, and a few are far from good


def listed(name):
    return {line for line in (HERE / f"{name}.txt").read_text().splitlines() if line and not line.startswith("#")}


def results(name, pattern=None):
    """Unit -> status, of a run of the list's units (or of those that match a pattern)."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "result.json"
        command = [sys.executable, str(HERE / "run.py"), "--module", "pyx_tensor", "--jobs", "2", "--sample-timeout", "60", "--op-timeout", "300",
                   "--out", str(out), *RUNS[name]]
        run = subprocess.run(command + (["--ops", pattern] if pattern else []), capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
        assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
        (suite,) = json.loads(out.read_text())["suites"].values()
    return {unit: row["status"] for unit, row in suite["units"].items()}


@pytest.mark.parametrize("name", RUNS)
def test_what_passed_still_passes(name):
    pytest.importorskip("torch")
    found = results(name)
    lost = {unit: found.get(unit, "gone") for unit in listed(name) if found.get(unit) != "pass"}
    for _ in range(TRIES - 1):
        if lost and lost.keys() <= UNSEEDED:
            again = results(name, "|".join(sorted(lost)))
            lost = {unit: again[unit] for unit in lost if again[unit] != "pass"}
    assert not lost, lost
    assert "crash" not in found.values(), [unit for unit, status in found.items() if status == "crash"]


if __name__ == "__main__":
    for list_name in RUNS:
        path = HERE / f"{list_name}.txt"
        passing = {unit for unit, status in results(list_name).items() if status == "pass"}
        before = listed(list_name) if path.exists() else set()
        path.write_text("\n".join(sorted(before | passing)) + "\n")
        print(f"{list_name}: {len(before | passing)} ({len(passing - before)} new, {len(before - passing)} don't pass now)")
