"""Programs written for PyTorch, what they printed with it, and how two outputs are compared."""
import re
from pathlib import Path

SCRIPTS = Path(__file__).parent / "scripts"
NAMES = sorted(path.stem for path in SCRIPTS.glob("*.py"))
_NUMBER = re.compile(r"([-+]?\d+\.\d+(?:e[-+]?\d+)?|nan|inf)")


def assert_same_output(found, expected):
    """The same text, and numbers with a fraction that agree to four digits (one in the last printed place, or 2e-4 of the value)."""
    a, b = _NUMBER.split(found), _NUMBER.split(expected)
    assert a[::2] == b[::2], f"expected\n{expected}\ngot\n{found}"
    for x, y in zip(a[1::2], b[1::2]):
        assert x == y or abs(float(x) - float(y)) <= max(1.01e-4, 2e-4 * abs(float(y))), f"{x} for {y} in\n{found}\nexpected\n{expected}"
