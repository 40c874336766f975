"""For tests: `assert_close`, `make_tensor`, and the conformance kit for backends (`pyx_tensor.testing.backend_suite`)."""
from .comparison import assert_close
from .making import make_tensor

__all__ = ["assert_close", "make_tensor"]
