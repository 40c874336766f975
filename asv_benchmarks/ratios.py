"""Times PyTorch and NumPy beside pyx_tensor in one run, and prints how many times faster it is.

    python asv_benchmarks/ratios.py                  everything, on one core: kernels are compared, not schedulers
    python asv_benchmarks/ratios.py --threads 2 Sgemm Training

Each library has a process of its own, since thread pools that share a process stall each other. They take turns repeat
by repeat, so that a slow moment of the machine meets them all; a time is the least of several repeats.
"""
import argparse
import importlib
import multiprocessing
import time
import timeit

from benchmarks.families import FAMILIES, LIBRARIES

REPEATS = 9
SECONDS = 0.05       # at least as long as a repeat takes
REST = 0.15          # the pools of the library before spin this long after their last call


def serve(library, threads, pipe):
    """The process of one library: on a statement make a timer, on None run a repeat of it and send back its time."""
    module = importlib.import_module(library)
    if hasattr(module, "set_num_threads"):
        module.set_num_threads(threads)
    for text in iter(pipe.recv, "end"):
        if text is not None:
            timer = timeit.Timer(*text)
            runs, seconds = timer.autorange()
            runs = max(1, int(runs * SECONDS / seconds))
            pipe.send(None)
        else:
            pipe.send(timer.timeit(runs) / runs)


def start(library, threads):
    """A pipe to a new process for the library."""
    here, there = multiprocessing.Pipe()
    multiprocessing.get_context("spawn").Process(target=serve, args=(library, threads, there)).start()       # it may start others
    return here


def ask(pipe, message):
    pipe.send(message)
    answer = pipe.recv()
    time.sleep(REST)
    return answer


def least_times(pipes, family, case):
    """library -> seconds, of those that have the case."""
    running = {library: family.text(library, case) for library in LIBRARIES}
    running = {library: text for library, text in running.items() if text is not None}
    for library, text in running.items():
        ask(pipes[library], text)
    times = {library: [] for library in running}
    for _ in range(REPEATS):
        for library in running:
            times[library].append(ask(pipes[library], None))
    return {library: min(values) for library, values in times.items()}


def format_time(seconds):
    if seconds is None:
        return "-"
    for unit, factor in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)):
        if seconds * factor < 10_000:
            return f"{seconds * factor:,.0f} {unit}" if seconds * factor >= 100 else f"{seconds * factor:.1f} {unit}"
    return f"{seconds:.1f} s"


def row(label, times):
    ours, theirs, numpy = (times.get(library) for library in LIBRARIES)
    ratio = f"{theirs / ours:.2f}"
    against_numpy = f"{numpy / ours:.2f}" if numpy else "-"
    print(f"{label:44}{format_time(ours):>12}{format_time(theirs):>12}{format_time(numpy):>12}{ratio:>10}{against_numpy:>10}",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description="Ratios of PyTorch's and NumPy's time to pyx_tensor's.")
    parser.add_argument("families", nargs="*", help="names of families; all without one")
    parser.add_argument("--threads", type=int, default=1, help="threads for pyx_tensor and PyTorch; NumPy keeps its own")
    options = parser.parse_args()
    pipes = {library: start(library, options.threads) for library in LIBRARIES}
    print(f"{'least time':44}{'pyx_tensor':>12}{'PyTorch':>12}{'NumPy':>12}{'PT/ours':>10}{'NP/ours':>10}")
    try:
        for family in FAMILIES:
            if not options.families or family.__name__ in options.families:
                for case in family.cases:
                    row(f"{family.__name__}: {case}", least_times(pipes, family, case))
    finally:
        for pipe in pipes.values():
            pipe.send("end")


if __name__ == "__main__":
    main()
