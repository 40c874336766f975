"""Objects with tensors between two processes that share a pipe: descriptors travel in it, beside the pickle.

A queue's messages can be read by anybody, so the descriptors of its tensors wait in a server of the sender. Where the pipe is a
socket between two processes this goes without.
"""
import io
import os
import pickle
import select
import socket
import threading
from collections import deque
from multiprocessing.reduction import ForkingPickler

from ..core.frontend import Parameter, Tensor
from . import reductions

COUNT = 4              # bytes before a message's pickle that hold the number of its descriptors
AT_ONCE = 1 << 15      # bytes of the longest message that is sent without a thread, where the socket has room
MOST_DESCRIPTORS = 250  # in one message of a socket


class _Pickler(ForkingPickler):
    """Pickles tensors with their descriptors put aside in `descriptors`."""

    def __init__(self, file, descriptors):
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        table = dict.fromkeys((Tensor, Parameter), lambda tensor: reductions.reduce_tensor(tensor, descriptors))
        self.dispatch_table = {**self.dispatch_table, **table}


def pack(obj):
    """(message, descriptors) of an object; the descriptors are those of its tensors, valid as long as they live.

    The message is the number of descriptors and the pickle.
    """
    buffer, descriptors = io.BytesIO(bytes(COUNT)), []
    buffer.seek(COUNT)
    _Pickler(buffer, descriptors).dump(obj)
    message = buffer.getbuffer()
    message[:COUNT] = len(descriptors).to_bytes(COUNT, "little")
    return message, descriptors


def send(connection, message, descriptors):
    """Write what `pack` gave to a connection over a socket."""
    connection.send_bytes(message)
    if descriptors:
        with socket.socket(fileno=os.dup(connection.fileno())) as channel:
            for start in range(0, len(descriptors), MOST_DESCRIPTORS):
                socket.send_fds(channel, [b"d"], descriptors[start:start + MOST_DESCRIPTORS])


def receive(connection):
    """The next object of a connection that `send` writes to. Raises EOFError where the other end is closed."""
    message = memoryview(connection.recv_bytes())
    count, descriptors = int.from_bytes(message[:COUNT], "little"), []
    if count:
        with socket.socket(fileno=os.dup(connection.fileno())) as channel:
            while len(descriptors) < count:
                mark, found, _, _ = socket.recv_fds(channel, 1, MOST_DESCRIPTORS)
                if not mark:
                    raise EOFError("the other process ended in the middle of a message")
                descriptors.extend(found)
    with reductions.received(descriptors):
        return pickle.loads(message[COUNT:])


def has_room(connection):
    """True where a socket takes a short message at once; False where that can't be known."""
    return os.name != "nt" and bool(select.select([], [connection], [], 0)[1])


class Sender:
    """Sends to a connection without ever waiting for the reader: what doesn't fit at once is left to a thread."""

    def __init__(self, connection):
        self.connection = connection
        self.waiting = deque()
        self.wake = threading.Condition()
        self.thread = None

    def put(self, obj):
        """Send an object. Errors of pickling are raised here; a reader that is gone is no error."""
        message, descriptors = pack(obj)
        if self.thread is None and len(message) <= AT_ONCE and has_room(self.connection):
            send(self.connection, message, descriptors)
            return
        with self.wake:
            self.waiting.append((message, descriptors, obj))      # obj keeps its descriptors open
            self.wake.notify()
        if self.thread is None:
            self.thread = threading.Thread(target=self._send_waiting, daemon=True)
            self.thread.start()

    def _send_waiting(self):
        while True:
            with self.wake:
                while not self.waiting:
                    self.wake.wait()
                message, descriptors, obj = self.waiting[0]
            try:
                send(self.connection, message, descriptors)
            except OSError:
                return
            del message, descriptors, obj
            with self.wake:
                self.waiting.popleft()
