"""The conformance kit for backends.

    python -m pyx_tensor.testing.backend_suite NAME          # what does the backend of device NAME pass?

    from pyx_tensor.testing import backend_suite
    test_backend = backend_suite.pytest_cases("NAME")        # in a test file: one test per check

Checks of an entry that the backend leaves to the front end's default are skipped; a mandatory primitive can't be.
"""
import sys
import unittest
from dataclasses import dataclass, field

from . import array_checks, reduction_checks, tensor_checks
from .subject import Subject

assert reduction_checks      # imported for the checks that it enters
CHECKS = {f"{level}/{name}": function for level, module in (("arrays", array_checks), ("tensors", tensor_checks))
          for name, function in module.CHECKS.items()}


@dataclass
class Report:
    """What a backend passed."""

    name: str
    passed: list = field(default_factory=list)
    skipped: dict = field(default_factory=dict)      # check -> reason
    failed: dict = field(default_factory=dict)       # check -> exception

    @property
    def ok(self):
        return not self.failed

    def __str__(self):
        lines = [f"backend {self.name!r}: {len(self.passed)} checks passed, {len(self.skipped)} skipped, {len(self.failed)} failed"]
        lines += [f"  passed   {check}" for check in self.passed]
        lines += [f"  skipped  {check}: {reason}" for check, reason in self.skipped.items()]
        lines += [f"  FAILED   {check}: {type(error).__name__}: {error}" for check, error in self.failed.items()]
        return "\n".join(lines)


def run_check(name, check):
    """Run one check on the backend of device `name`; raises where it fails, unittest.SkipTest where it doesn't apply."""
    CHECKS[check](Subject(name))


def run(name, only=""):
    """Run the checks whose name contains `only`, and report; RuntimeError where there is no such backend."""
    report = Report(name)
    Subject(name)
    for check in CHECKS:
        if only not in check:
            continue
        try:
            run_check(name, check)
        except unittest.SkipTest as skip:
            report.skipped[check] = str(skip)
        except Exception as error:      # any failure of a check belongs in the report
            report.failed[check] = error
        else:
            report.passed.append(check)
    return report


def pytest_cases(*names):
    """A pytest function that runs every check on each of the named backends."""
    import pytest

    @pytest.mark.parametrize("check", CHECKS)
    @pytest.mark.parametrize("name", names)
    def test_backend(name, check):
        run_check(name, check)

    return test_backend


def main(arguments):
    if not 1 <= len(arguments) <= 2:
        print("usage: python -m pyx_tensor.testing.backend_suite NAME [ONLY]", file=sys.stderr)
        return 2
    try:
        report = run(*arguments)
    except RuntimeError as error:      # there is no such backend, or it can't be loaded
        print(error, file=sys.stderr)
        return 2
    print(report)
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
