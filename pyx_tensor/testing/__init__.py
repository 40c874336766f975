"""For tests: `assert_close`, and the conformance kit for backends (`pyx_tensor.testing.backend_suite`)."""
from .comparison import assert_close

__all__ = ["assert_close"]
