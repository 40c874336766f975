"""The conformance kit for backends on the CUDA device."""
import unittest

from start import Part, torch

from pyx_tensor.testing import backend_suite

assert torch.zeros(2, device="cuda").is_cuda
part = Part("kit")


def run(check):
    try:
        backend_suite.run_check("cuda", check)
    except unittest.SkipTest as skip:      # an entry that the backend leaves to the front end
        print(f"   {check}: {skip}")


part.each(backend_suite.CHECKS, run)
part.end()
