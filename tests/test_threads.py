"""`set_num_threads` governs the CPU's kernels, and refuses what is no number of threads."""
import os
import subprocess
import sys

import pytest
import pyx_tensor as torch
from pyx_tensor_cpu import build_info


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.rows("S238", "S239")
def test_what_was_set_is_shown(threads):
    torch.set_num_threads(1)
    assert torch.get_num_threads() == 1
    import pyx_tensor.__config__
    assert "threads: 1\n" in pyx_tensor.__config__.show()


@pytest.mark.rows("S239")
def test_results_do_not_depend_on_the_number(threads):
    x = torch.arange(3_000_000, dtype=torch.float32)
    several = (x * 2 + 1).sum()
    torch.set_num_threads(1)
    assert (x * 2 + 1).sum().item() == pytest.approx(several.item(), rel=1e-6)


@pytest.mark.rows("S238", "S239")
def test_more_threads_than_the_environment_says():
    """OMP_NUM_THREADS is the number at the start, not a limit."""
    code = ("import pyx_tensor as torch; print(torch.get_num_threads()); torch.set_num_threads(2); "
            "print(torch.get_num_threads(), torch.ones(1 << 20).add(1).sum().item())")
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path), OMP_NUM_THREADS="1")
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert run.stdout.split() == ["1", "2" if build_info.openmp else "1", "2097152.0"], run.stderr


@pytest.mark.rows("S239")
@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "two", None])
def test_other_things_are_refused(wrong):
    with pytest.raises(RuntimeError, match="set_num_threads expects"):
        torch.set_num_threads(wrong)
