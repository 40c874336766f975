"""Every row of rows.tsv that a CPU can check has a test, which says so by `@pytest.mark.rows("S010", ...)`.

The kinds: `cpu` and `LEGACY` (a call that PyTorch dropped, with its old meaning) need a test; `gpu` needs a device and `none` is a claim or
advice: they may have one.
"""
import ast
import csv
from pathlib import Path

HERE = Path(__file__).parent
NEED_A_TEST = {"cpu", "LEGACY"}
ELSEWHERE = {"oracle", "nvrtc", "gpu"}      # needs what a machine may lack


def kinds():
    """{row: kind} of the table."""
    with open(HERE / "rows.tsv", encoding="utf-8", newline="") as table:
        return {line["row"]: line["kind"] for line in csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE)}


def is_mark(node):
    """`pytest.mark.rows(...)`?"""
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.rows"


def marks():
    """[(row, "file:line")] of all marks in the tests' sources."""
    files = [file for file in HERE.parent.rglob("test_*.py") if not ELSEWHERE & set(file.relative_to(HERE.parent).parts)]
    return [(ast.literal_eval(row), f"{file.name}:{node.lineno}")
            for file in files for node in ast.walk(ast.parse(file.read_text("utf-8"))) if is_mark(node) for row in node.args]


def test_the_table():
    rows = kinds()
    assert list(rows) == [f"S{number:03d}" for number in range(1, 391)]
    assert set(rows.values()) == {"cpu", "LEGACY", "gpu", "none"}


def test_marks_name_rows():
    rows = kinds()
    unknown = [f"{row} at {place}" for row, place in marks() if row not in rows]
    assert not unknown, f"marks of rows that are not in rows.tsv: {unknown}"


def test_every_row_has_a_test():
    covered = {row for row, _ in marks()}
    missing = [row for row, kind in kinds().items() if kind in NEED_A_TEST and row not in covered]
    assert not missing, f"no test is marked with {missing}"
