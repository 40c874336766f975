"""Runs a script twice, under Python's profiler and under the one of operations, and prints what both found."""
import argparse
import cProfile
import os
import platform
import pstats
import sys

from ...autograd import profiler
from ...core.threads import get_num_threads
from ...version import __version__

ROWS = 15      # of each table
RULE = "-" * 80


def _run(path, arguments):
    """Run a script as the main program."""
    sys.argv = [path, *arguments]
    names = {"__file__": path, "__name__": "__main__", "__package__": None}
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    exec(code, names)


def _title(text):
    print(f"{RULE}\n  {text}\n{RULE}")


def main(argv=None):
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m pyx_tensor.utils.bottleneck",
                                     description="Run a script under Python's profiler and under that of operations, and print both tables.")
    parser.add_argument("script", help="the program to look into; it should end by itself, within a reasonable time")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    options = parser.parse_args(argv)
    if not os.path.isfile(options.script):
        parser.error(f"there is no file {options.script}")
    path = os.path.abspath(options.script)
    sys.path.insert(0, os.path.dirname(path))
    _title("Environment Summary")
    print(f"pyx_tensor {__version__}, Python {platform.python_version()}, {platform.platform()}, "
          f"{get_num_threads()} threads")
    python = cProfile.Profile()
    python.runcall(_run, path, options.arguments)
    with profiler.profile() as operations:
        _run(path, options.arguments)
    _title("cProfile output")
    pstats.Stats(python).sort_stats("tottime").print_stats(ROWS)
    _title("autograd profiler output (CPU mode)")
    print(f"top {ROWS} events sorted by cpu_time_total\n")
    print(operations.key_averages().table(sort_by="cpu_time_total", row_limit=ROWS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
