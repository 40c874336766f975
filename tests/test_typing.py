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


@pytest.mark.parametrize("name", ("fft", "linalg", "special", "sparse"))
def test_stubs_of_modules_name_what_is_there(name):
    """Functions entered from tables have stubs by hand: the same names and the same parameters."""
    import ast
    import importlib
    import inspect
    module = importlib.import_module(f"pyx_tensor.{name}")
    path = TESTS.parent / "pyx_tensor" / name
    text = path.with_suffix(".pyi") if not path.is_dir() else path / "__init__.pyi"
    declared = {node.name: node for node in ast.parse(text.read_text()).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert set(declared) == {n for n in dir(module) if not n.startswith("_")}
    for function, node in declared.items():
        if isinstance(node, ast.FunctionDef):
            found = getattr(module, function)
            names = list(found.op.signature.params) if hasattr(found, "op") else list(inspect.signature(found).parameters)
            given = ["other" if a.arg == "B" else a.arg for a in (*node.args.args, *node.args.kwonlyargs)]      # a definition's own B is taken
            assert [n for n in given if n != "out" and n != "dtype"] == [n for n in names if n != "out" and n != "dtype"], function
