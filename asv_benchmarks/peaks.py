"""Most memory of a few training steps beside PyTorch's: what a process takes beyond its imports, model and data (Linux only).

    python asv_benchmarks/peaks.py                   every model, two threads
    python asv_benchmarks/peaks.py --threads 1 GPT
"""
import argparse
import importlib
import multiprocessing

from benchmarks.memory import CASES, TrainingMemory

MB = 1 << 10        # /proc counts in KB


def status(field):
    """A line of /proc/self/status, in KB."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(field))


def measure(library, case, threads, pipe):
    """Send the most that steps add to this process's resident memory, in KB."""
    module = importlib.import_module(library)
    module.set_num_threads(threads)
    benchmark = TrainingMemory()
    benchmark.setup(library, case)
    with open("/proc/self/clear_refs", "w") as control:
        control.write("5")              # the peak counts from here
    before = status("VmRSS")
    benchmark.peakmem_steps(library, case)
    pipe.send(status("VmHWM") - before)


def peak(library, case, threads):
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=measure, args=(library, case, threads, there))
    process.start()
    there.close()
    try:
        return here.recv()
    finally:
        process.join()


def main():
    parser = argparse.ArgumentParser(description="Peak memory of training steps, pyx_tensor's and PyTorch's.")
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}; all without one")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    print(f"{'peak of training steps':24}{'pyx_tensor':>14}{'PyTorch':>14}{'ours/PT':>10}")
    for case in options.cases or CASES:
        ours, theirs = (peak(library, case, options.threads) for library in ("pyx_tensor", "torch"))
        print(f"{case:24}{ours / MB:11.1f} MB{theirs / MB:11.1f} MB{ours / theirs:10.2f}", flush=True)


if __name__ == "__main__":
    main()
