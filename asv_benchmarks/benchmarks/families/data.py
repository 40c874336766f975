"""Files, loaders and other processes."""
from .base import _Family


class Files(_Family):
    """Checkpoints: many small tensors, and 64 MB in eight."""
    prepare = """
import io, os, tempfile
folder = tempfile.TemporaryDirectory()
small, large = {f"layer.{i}.weight": torch.randn(100) for i in range(2000)}, {str(i): torch.randn(1 << 21) for i in range(8)}
small_path, large_path, target = (os.path.join(folder.name, name) for name in ("small.pt", "large.pt", "target.pt"))
torch.save(small, small_path)
torch.save(large, large_path)
"""
    cases = {"save 2,000 small tensors": "torch.save(small, target)", "load 2,000 small tensors": "torch.load(small_path)",
             "save 64 MB": "torch.save(large, target)", "load 64 MB": "torch.load(large_path)", "map 64 MB": "torch.load(large_path, mmap=True)"}


class LargeFiles(_Family):
    """A checkpoint of 1 GB."""
    prepare = """
import os, tempfile
folder = tempfile.TemporaryDirectory()
state = {str(i): torch.full((1 << 23,), i / 7) for i in range(32)}
path, target = (os.path.join(folder.name, name) for name in ("x.pt", "target.pt"))
torch.save(state, path)
"""
    cases = {"save 1 GB": "torch.save(state, target)", "load 1 GB": "torch.load(path)", "map 1 GB": "torch.load(path, mmap=True)"}


class Loading(_Family):
    """A pass of a loader over 6400 samples in batches of 64, and a 64 MB tensor through a queue to another process and back."""
    prepare = """
import importlib
data = importlib.import_module(torch.__name__ + ".utils.data")
mp = importlib.import_module(torch.__name__ + ".multiprocessing")
samples = data.TensorDataset(torch.randn(6400, 20), torch.randint(0, 10, (6400,)))
here = data.DataLoader(samples, batch_size=64, shuffle=True)
there = data.DataLoader(samples, batch_size=64, shuffle=True, num_workers=2, persistent_workers=True)

def all_batches(loader):
    for batch in loader:
        pass

def answer(questions, answers):
    for x in iter(questions.get, None):
        answers.put(x[-1].item())
        del x

questions, answers = mp.Queue(), mp.Queue()
context = mp.get_context("fork")
process = context.Process(target=answer, args=(questions, answers), daemon=True)

def send(elements):
    if process.pid is None:
        process.start()
    questions.put(torch.ones(elements))
    answers.get()
"""
    cases = {"100 batches of 64": "all_batches(here)", "100 batches of 64, 2 processes": "all_batches(there)",
             "64 MB through a queue": "send(16_000_000)", "4 kB through a queue": "send(1000)"}
