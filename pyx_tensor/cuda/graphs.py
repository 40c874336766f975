"""CUDA graphs: work recorded once and done again with one launch.

What is recorded reads and writes the same memory each time: to compute with other values, write them into the input tensors before a replay
and read the output tensors after it. Values that come from the host during the recording (random numbers, `torch.tensor`) can't be recorded and
are refused, and so is whatever has to wait for a result (`item`, `bool` of a tensor). Indices aren't checked in a recording.
"""
from ._devices import backend
from .streams import Stream, current_stream, stream

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing"]


def is_current_stream_capturing():
    """True while a graph is recorded."""
    return backend().capturing()


def graph_pool_handle():
    """Memory that several graphs can share, for `graph(pool=…)`; they must be replayed in the order of their recording."""
    return backend().private_pool()


class CUDAGraph:
    """Work on a CUDA device that can be done again; see :class:`graph`."""

    def __init__(self):
        self._graph = self._pool = self._kept = self._allocating = None

    def capture_begin(self, pool=None, capture_error_mode="global"):
        """Record what the current stream is given from now on. It can't be the default stream."""
        if self._graph is not None:
            raise RuntimeError("This CUDAGraph instance already owns a captured graph. To capture a new graph, create a new instance.")
        native = current_stream()._native
        if native == backend().default_stream():
            raise RuntimeError("CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them on the default "
                               "stream.)")
        self._pool = backend().private_pool() if pool is None else pool
        self._allocating = backend().allocating_from(self._pool)      # memory that nobody else gets while the graph lives
        self._allocating.__enter__()
        try:
            backend().begin_capture(native)
        except BaseException:
            self._allocating.__exit__(None, None, None)
            raise

    def capture_end(self):
        """End the recording."""
        if self._allocating is None:
            raise RuntimeError("capture_end: no recording was begun")
        try:
            self._graph, self._kept = backend().end_capture(current_stream()._native)
        finally:
            self._allocating.__exit__(None, None, None)
            self._allocating = None

    def replay(self):
        """Do the recorded work on the current stream."""
        if self._graph is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        self._graph.launch(stream=current_stream()._native)

    def reset(self):
        """Forget the recorded work and its memory."""
        self._graph = self._pool = self._kept = None

    def pool(self):
        """The memory of this graph, for another one that is replayed after it."""
        return self._pool


class graph:
    """A context that records what is done in it into a :class:`CUDAGraph`.

    Args:
        cuda_graph: what to record into. pool: memory of another graph to share. stream: the stream to record on, a new one by default.

    >>> g = torch.cuda.CUDAGraph()                                # doctest: +SKIP
    >>> with torch.cuda.graph(g):                                 # doctest: +SKIP
    ...     y = model(x)
    >>> x.copy_(batch); g.replay(); print(y)                      # doctest: +SKIP

    Run the work a few times on another stream before, so that its kernels are compiled and its libraries loaded.
    """

    def __init__(self, cuda_graph, pool=None, stream=None, capture_error_mode="global"):
        self.cuda_graph, self.pool, self.stream = cuda_graph, pool, stream

    def __enter__(self):
        backend().synchronize(backend().current_device())
        backend().free_memory()
        self._context = stream(Stream() if self.stream is None else self.stream)
        self._context.__enter__()
        try:
            self.cuda_graph.capture_begin(self.pool)
        except BaseException:
            self._context.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *exc):
        try:
            self.cuda_graph.capture_end()
        finally:
            self._context.__exit__(*exc)
        return False
