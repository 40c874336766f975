"""`python -m pyx_tensor script.py args...` runs a PyTorch script; `python -m pyx_tensor inspect FILE...` lists checkpoints."""
import sys

USAGE = """usage: python -m pyx_tensor SCRIPT [ARGUMENTS...]       run a PyTorch script, with pyx_tensor as torch
       python -m pyx_tensor -m MODULE [ARGUMENTS...]    run a module so
       python -m pyx_tensor inspect FILE...             list what is in checkpoints, without loading them
"""


def main(arguments):
    """Do what the command line says; return the exit status."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, end="")
        return 0 if arguments else 2
    if arguments[0] == "inspect":
        return _inspect(arguments[1:])
    if arguments[0] == "-m" and len(arguments) == 1:
        print(USAGE, end="", file=sys.stderr)
        return 2
    from .alias import run_module, run_script
    if arguments[0] == "-m":
        return run_module(arguments[1], arguments[2:])
    return run_script(arguments[0], arguments[1:])


def _inspect(paths):
    from .serialization.listing import print_listing
    if not paths:
        print("inspect: name one or more files", file=sys.stderr)
        return 2
    status = 0
    for path in paths:
        if len(paths) > 1:
            print(f"{path}:")
        try:
            print_listing(path)
        except (OSError, RuntimeError, ValueError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
