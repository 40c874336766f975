"""What setup.py knows of the sources, where the tests run beside it."""
import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("Cython")
pytest.importorskip("setuptools")


@pytest.fixture(scope="module")
def setup_py():
    spec = importlib.util.spec_from_file_location("setup_of_pyx_tensor", Path(__file__).resolve().parents[1] / "setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_module_depends_on_the_headers_that_it_includes(setup_py, tmp_path):
    """Those beside the includer come first, headers of headers count, circles end, and what isn't the package's own doesn't matter."""
    files = {
        "module.c": '#include "Python.h"\n#include <math.h>\n#include "near.h"\n  #  include  "include/odd.h"\n',
        "near.h": '#include "both.h"\n', "both.h": '',
        "include/both.h": '#error the one beside its includer is meant\n', "include/odd.h": '#include "circle.h"\n',
        "include/circle.h": '#if 0\n#include "odd.h"\n#include "far.h"\n#endif\n', "include/far.h": '', "include/unused.h": '',
    }
    (tmp_path / "include").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found = [Path(name).relative_to(tmp_path).as_posix() for name in setup_py.own_headers(tmp_path / "module.c", [tmp_path / "include"])]
    assert found == ["both.h", "include/circle.h", "include/far.h", "include/odd.h", "near.h"]
