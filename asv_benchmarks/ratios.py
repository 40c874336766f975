"""Times PyTorch and NumPy beside pyx_tensor, in one process and in turns, and prints how many times faster it is.

    python asv_benchmarks/ratios.py                  everything, on one core: kernels are compared, not schedulers
    python asv_benchmarks/ratios.py --threads 2 Sgemm Training

A time is the least of several repeats; the libraries take turns repeat by repeat, so that a slow moment of the
machine meets them all.
"""
import argparse
import timeit

import pyx_tensor
import torch
from benchmarks.families import FAMILIES, LIBRARIES

REPEATS = 9
SECONDS = 0.05  # at least as long as a repeat takes


def timers(family, case):
    """library -> (timer, number of runs a repeat)."""
    found = {}
    for library in LIBRARIES:
        text = family.text(library, case)
        if text is not None:
            timer = timeit.Timer(*text)
            runs, seconds = timer.autorange()
            found[library] = timer, max(1, int(runs * SECONDS / seconds))
    return found


def least_times(family, case):
    running = timers(family, case)
    times = {library: [] for library in running}
    for _ in range(REPEATS):
        for library, (timer, runs) in running.items():
            times[library].append(timer.timeit(runs) / runs)
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
    for library in (pyx_tensor, torch):
        library.set_num_threads(options.threads)
    print(f"{'least time':44}{'pyx_tensor':>12}{'PyTorch':>12}{'NumPy':>12}{'PT/ours':>10}{'NP/ours':>10}")
    for family in FAMILIES:
        if not options.families or family.__name__ in options.families:
            for case in family.cases:
                row(f"{family.__name__}: {case}", least_times(family, case))


if __name__ == "__main__":
    main()
