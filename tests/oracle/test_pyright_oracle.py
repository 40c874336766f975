"""The declared types as pyright reads them (basedpyright is pyright in a package that needs no download); tests/test_typing.py has mypy."""
import json
import subprocess
import sys
from pathlib import Path

import pyx_tensor

TESTS = Path(__file__).parents[1]


def errors(tmp_path, name):
    """The lines of a program in which pyright finds errors."""
    (tmp_path / name).write_text((TESTS / name).read_text())
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(Path(pyx_tensor.__file__).parents[1])], "typeCheckingMode": "standard"}))
    run = subprocess.run([sys.executable, "-m", "basedpyright", "-p", str(tmp_path), "--pythonpath", sys.executable, "--outputjson", str(tmp_path / name)],
                         capture_output=True, text=True)
    return {item["range"]["start"]["line"] + 1: item["message"] for item in json.loads(run.stdout)["generalDiagnostics"] if item["severity"] == "error"}


def test_a_program_passes(tmp_path):
    assert not errors(tmp_path, "typing_sample.py")


def test_mistakes_are_found(tmp_path):
    lines = (TESTS / "typing_errors.py").read_text().splitlines()
    assert set(errors(tmp_path, "typing_errors.py")) == {i for i, text in enumerate(lines, 1) if i > 3 and text}
