"""The profiler, the writer for TensorBoard, and bottleneck."""
import gzip
import json
import os
import subprocess
import sys

import pytest

import pyx_tensor as torch
from pyx_tensor.autograd import profiler as simple
from pyx_tensor.profiler import ProfilerAction, profile, record_function, schedule, tensorboard_trace_handler


def work():
    x = torch.ones(2, 3, requires_grad=True)
    y = (x @ torch.ones(3, 4)).relu().sum()
    y.backward()
    return x


def counts(averages):
    return {event.key: event.count for event in averages}


def test_operations_are_counted_timed_and_nested():
    with profile(record_shapes=True, profile_memory=True) as prof:
        with record_function("my block"):
            work(), work()
        torch.ones(3).add_(1)
    found = counts(prof.key_averages())
    assert found["my block"] == 1 and found["aten::relu"] == 2 and found["aten::sum"] >= 2 and found["aten::matmul"] >= 2
    assert found["aten::add_"] == 1
    block = next(event for event in prof.events() if event.name == "my block")
    assert block.cpu_children and all(child.cpu_parent is block for child in block.cpu_children)
    inside = sum(child.cpu_time_total for child in block.cpu_children)
    assert 0 < inside <= block.cpu_time_total and block.self_cpu_time_total == pytest.approx(block.cpu_time_total - inside)
    product = next(event for event in prof.events() if event.name == "aten::matmul")
    assert product.input_shapes == [[2, 3], [3, 4]] and product.cpu_memory_usage == 32
    shaped = prof.key_averages(group_by_input_shape=True)
    assert [event.count for event in shaped if event.input_shapes == [[2, 3], [3, 4]]] == [2]
    total = prof.key_averages().total_average()
    assert total.self_cpu_time_total == pytest.approx(prof.events().self_cpu_time_total) and total.count == len(prof.events())


def test_nothing_is_watched_when_it_is_off():
    from pyx_tensor.core.mode import MASKS, has_bits
    with simple.profile() as prof:
        assert has_bits(MASKS["profile"])
        with simple.profile() as inner:
            torch.ones(2).exp()
        torch.ones(2).log()
    assert not has_bits(MASKS["profile"])
    torch.ones(2).tanh()
    assert "aten::tanh" not in counts(prof.key_averages()) and "aten::log" in counts(prof.key_averages())
    assert "aten::exp" in counts(inner.key_averages())
    with simple.profile(enabled=False) as off:
        torch.ones(2).exp()
    with pytest.raises(RuntimeError, match="didn't finish"):
        off.key_averages()
    assert "unfinished" in repr(off)


def test_results_are_the_same_under_the_profiler():
    plain = work().grad
    with simple.profile():
        watched = work().grad
    assert torch.equal(plain, watched)
    with simple.profile() as prof:
        with pytest.raises(RuntimeError):
            torch.ones(2) @ torch.ones(3)
        torch.ones(2).exp()
    assert next(event for event in prof.function_events if event.name == "aten::exp").cpu_parent is None


def test_subclasses_and_autocast_are_seen_too():
    class Mine(torch.Tensor):
        pass

    with simple.profile() as prof, torch.autocast("cpu"):
        assert type(torch.ones(2).as_subclass(Mine).exp()) is Mine
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16
    assert {"aten::exp", "aten::matmul"} <= set(counts(prof.key_averages()))


def test_table():
    with profile(record_shapes=True) as prof:
        work()
    lines = prof.key_averages(group_by_input_shape=True).table(sort_by="self_cpu_time_total", row_limit=2).splitlines()
    assert lines[0] == lines[2] == lines[5] and set(lines[0]) == {"-", " "}
    assert lines[1].split()[:3] == ["Name", "Self", "CPU"] and "# of Calls" in lines[1] and "Input Shapes" in lines[1]
    assert all(len(line) == len(lines[0]) for line in lines[:6]) and lines[6].startswith("Self CPU time total: ")
    assert "header" in prof.key_averages().table(header="my header")
    with pytest.raises(ValueError, match="sort_by"):
        prof.key_averages().table(sort_by="colour")
    assert simple.format_time(1234.5) == "1.234ms" and simple.format_time(2e6) == "2.000s" and simple.format_time(0.5) == "0.500us"


def test_traces(tmp_path):
    with profile(with_stack=True) as prof:
        with record_function("block"):
            work()
    prof.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {"block", "aten::relu"} <= {event["name"] for event in events} and all(event["ph"] == "X" and event["dur"] >= 0 for event in events)
    prof.export_chrome_trace(str(tmp_path / "trace.json.gz"))
    assert json.loads(gzip.open(tmp_path / "trace.json.gz").read())["traceEvents"] == events
    event = next(event for event in prof.events() if event.name == "aten::relu")
    assert event.stack[0].endswith(": work") and "test_profiler.py(" in event.stack[0]
    assert "Source Location" in prof.key_averages(group_by_stack_n=1).table()
    prof.export_stacks(tmp_path / "stacks", "cpu_time_total")
    assert "work" in (tmp_path / "stacks").read_text()
    with profile() as prof:
        work()
    with pytest.raises(AssertionError, match="with_stack"):
        prof.export_stacks(tmp_path / "none")


def test_schedules(tmp_path):
    steps = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    names = [steps(i).name for i in range(12)]
    assert names == ["NONE", "NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE"] + ["NONE"] * 3
    assert steps(0) is ProfilerAction.NONE
    seen = []

    def ready(prof):
        seen.append(counts(prof.key_averages()))
        tensorboard_trace_handler(tmp_path)(prof)

    with profile(schedule=steps, on_trace_ready=ready) as prof:
        for number in range(12):
            torch.ones(2).exp() if number < 5 else torch.ones(2).log()
            prof.step()
    assert len(seen) == 2 and seen[0]["aten::exp"] == 2 and "aten::log" not in seen[0] and seen[1]["aten::log"] == 2
    assert seen[0]["ProfilerStep#3"] == 1 and len(os.listdir(tmp_path)) == 2
    with pytest.raises(AssertionError):
        schedule(wait=0, warmup=0, active=0)
    with pytest.raises(NotImplementedError, match="with_flops"):
        profile(with_flops=True)


def test_decorated_functions():
    @record_function("named")
    def function(x):
        return x + 1

    assert function(torch.ones(1)).item() == 2
    with simple.profile() as prof:
        function(torch.ones(1))
    assert counts(prof.key_averages())["named"] == 1


def test_bottleneck(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import sys, pyx_tensor as torch\nassert sys.argv[1:] == ['7']\ntorch.ones(3).exp().sum()\n")
    done = subprocess.run([sys.executable, "-m", "pyx_tensor.utils.bottleneck", str(script), "7"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "cProfile output" in done.stdout and "aten::exp" in done.stdout
    done = subprocess.run([sys.executable, "-m", "pyx_tensor.utils.bottleneck", "nowhere.py"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and "there is no file" in done.stderr


# --- TensorBoard -------------------------------------------------------------------------------------------------------
def written(folder):
    """tag -> number, or the kind of the summary, of all events in a folder."""
    from tensorboardX.proto.event_pb2 import Event
    from tensorboardX.record_writer import RecordWriter  # noqa: F401  (the format: length, checksum, event, checksum)
    found = {}
    for path in sorted(folder.rglob("events.*")):
        content = path.read_bytes()
        at = 0
        while at < len(content):
            length = int.from_bytes(content[at:at + 8], "little")
            event = Event.FromString(content[at + 12:at + 12 + length])
            at += length + 16
            for value in event.summary.value:
                found[value.tag] = value.simple_value if value.HasField("simple_value") else value.WhichOneof("value")
    return found


def test_summary_writer(tmp_path):
    from pyx_tensor.utils.tensorboard import SummaryWriter
    with SummaryWriter(log_dir=str(tmp_path)) as writer:
        writer.add_scalar("loss", torch.tensor(0.5, requires_grad=True), 1, new_style=True)
        writer.add_scalar("plain", 2.0, 1)
        writer.add_scalars("several", {"a": torch.tensor(1.0)}, 1)
        writer.add_histogram("weights", torch.randn(100, dtype=torch.float32).bfloat16(), 1)
        writer.add_text("note", "text", 1)
        writer.add_pr_curve("curve", torch.tensor([1, 0, 1]), torch.tensor([0.9, 0.2, 0.4]), 1)
        with pytest.raises(NotImplementedError, match="add_graph"):
            writer.add_graph(torch.nn.Linear(1, 1))
        assert writer.log_dir == writer.get_logdir() == str(tmp_path)
    found = written(tmp_path)
    assert found["loss"] == 0.5 and found["plain"] == 2 and found["weights"] == "histo"
    assert any(tag.startswith("note") for tag in found) and "curve" in found and 1.0 in found.values()


def test_views_are_seen_in_every_form():
    x = torch.ones(2, 5)
    with torch.autograd.profiler.profile() as prof:
        x.view(10), x.view((5, 2)), x[0], x[0:1], x[0, 1:2], x.transpose(0, 1), x.unsqueeze(0)
    counts = {event.key: event.count for event in prof.key_averages()}
    assert sum(counts.values()) == 7 and counts["aten::view"] == 2 and counts["aten::select"] == counts["aten::transpose"] == counts["aten::unsqueeze"] == 1


def test_the_profiler_is_found_without_an_import_of_its_own():
    code = "import pyx_tensor as torch\nwith torch.autograd.profiler.profile() as prof:\n    torch.ones(2).exp()\nassert prof.key_averages()"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
