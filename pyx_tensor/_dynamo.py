"""What programs call of PyTorch's compiler front end, as pass-throughs: nothing is compiled."""
from types import SimpleNamespace

from .compiler import InvalidBackend, allow_in_graph, assume_constant_result, disable, is_compiling, list_backends, reset  # noqa: F401
from .core.passing import passed_through

config = SimpleNamespace(suppress_errors=False, cache_size_limit=8, recompile_limit=8, verbose=False, dynamic_shapes=True, capture_scalar_outputs=False,
                         optimize_ddp=True)

exc = SimpleNamespace(InvalidBackend=InvalidBackend)


def optimize(backend="inductor", **options):
    """A decorator that leaves its function as it is."""
    return passed_through(None)


def graph_break(msg=""):
    """Nothing to break."""


def mark_dynamic(tensor, index, **bounds):
    """Nothing to mark: every shape is dynamic."""


def maybe_mark_dynamic(tensor, index):
    """Nothing to mark."""


def mark_static(tensor, index=None):
    """Nothing to mark."""


def mark_static_address(tensor, guard=True):
    """Nothing to mark."""


def explain(function, *args, **kwargs):
    raise NotImplementedError("torch._dynamo.explain: nothing is compiled, so there is nothing to explain")
