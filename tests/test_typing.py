"""The types that the package declares: kept up to date with the table of operations, and understood by mypy."""
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
STUBS = TESTS.parent / "tools" / "make_stubs.py"


@pytest.fixture(scope="module")
def mypy():
    api = pytest.importorskip("mypy.api")

    def check(*names):
        out, err, status = api.run([*(str(TESTS / name) for name in names), "--ignore-missing-imports", "--cache-dir", "/dev/null",
                                    "--follow-imports=silent", "--config-file="])
        assert not err, err
        return out, status
    return check


@pytest.mark.skipif(not STUBS.exists(), reason="the tools aren't in an installed package")
def test_stubs_are_what_the_table_gives():
    run = subprocess.run([sys.executable, str(STUBS), "--check"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr + "\nRun tools/make_stubs.py."


def test_a_program_passes(mypy):
    out, status = mypy("typing_sample.py")
    assert status == 0, out


def test_mistakes_are_found(mypy):
    out, _ = mypy("typing_errors.py")
    lines = [i for i, text in enumerate((TESTS / "typing_errors.py").read_text().splitlines(), 1) if i > 3 and text]
    found = {int(message.split(":")[1]) for message in out.splitlines() if ": error:" in message}
    assert set(lines) <= found, out
