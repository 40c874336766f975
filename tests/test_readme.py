"""Every Python block of the README and the guides runs, and prints what the `text` block after it shows."""
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = {"README.md": 5, "CONTRIBUTING.md": 4, "docs/extending.md": 5, "docs/files.md": 4}      # and how many examples each has at least
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n*^```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE)


def examples(page):
    text = (REPOSITORY / page).read_text()
    for match in BLOCK.finditer(text):
        line = text[: match.start()].count("\n") + 1
        yield pytest.param(match[1], match[2], id=f"{page}:{line}")


@pytest.mark.parametrize(("code", "output"), [example for page in PAGES for example in examples(page)])
def test_example(code, output, tmp_path):
    """Each block stands alone: it runs in a process and a folder of its own."""
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    if output is not None:
        assert run.stdout == output


@pytest.mark.parametrize(("page", "least"), PAGES.items())
def test_the_examples_are_found(page, least):
    assert len(list(examples(page))) >= least


def test_what_is_called_missing_is_missing():
    import pyx_tensor
    limits = (REPOSITORY / "README.md").read_text().partition("## Limits")[2]
    missing = re.findall(r"`torch\.(\w+)`", limits)
    assert len(missing) >= 3
    assert [name for name in missing if hasattr(pyx_tensor, name)] == []
