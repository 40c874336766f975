"""An unpickler that builds only what a table allows.

Python's own runs whatever callable it was made to find; it also sets aside as much memory as a file says it needs. This one
knows each instruction's arguments: calls go to functions of a table, lengths are checked against what is left of the file, and
keys are checked before they are hashed, since the hash of a deeply nested tuple overflows the stack and that of a tuple
that holds one thing twice at every level takes for ever; and what calls are given is weighed, since a pickle can give one large
thing to a thousand calls, each of which copies it. Instructions as documented in the standard library's pickletools.
"""
import struct
from collections import OrderedDict
from pickle import UnpicklingError

import numpy as np

from ..core.tensor import TensorBase

MAX_KEY_PARTS = 1000       # of a tuple that is a key
MAX_NAME = 500             # characters of a module, or of a name in it
MOST_PER_BYTE, MOST = 64, 1 << 24      # bytes that calls may be given, for each byte of the file and besides


def shown(value):
    """A value from a file as a message may show it: what is nested deeply, or has thousands of digits, can't be printed."""
    if isinstance(value, int) and value.bit_length() > 1000:
        return f"a number of {value.bit_length()} bits"
    text = repr(value) if isinstance(value, (int, str, float, bytes)) else f"of type {type(value).__name__}"
    return text if len(text) < 80 else text[:77] + "..."


class Source:
    """A binary file read forward, that knows how much is left."""

    def __init__(self, file, size):
        self.file, self.size = file, size
        self._read = file.read

    def read(self, n):
        data = self._read(n) if n <= self.size else b""
        if len(data) != n:
            raise UnpicklingError(f"load: the pickle says that {n} bytes follow, and there are fewer: the file is cut short, or damaged")
        self.size -= n
        return data

    def line(self):
        data = self.file.readline(min(self.size, 1 << 16))
        self.size -= len(data)
        if not data.endswith(b"\n"):
            raise UnpicklingError("load: a line of the pickle doesn't end: the file is cut short, or damaged")
        return data[:-1]


def weight(value):
    """Bytes, or thereabouts, that a copy of a value takes, but for what is in its parts."""
    if isinstance(value, (str, bytes, bytearray)):
        return len(value)
    if isinstance(value, tuple):                # of tensors, where it is what a sparse one is made of
        return 64 * len(value) + sum(64 * part.numel() for part in value if isinstance(part, TensorBase))
    if isinstance(value, (list, dict, set, frozenset)):
        return 64 * len(value)
    return 16 * value.size if isinstance(value, np.ndarray) else 0


def check_key(key):
    """The number of parts of a key; TypeError or UnpicklingError where a value from a file should not be hashed."""
    if type(key) in (str, int, bytes, float, bool, type(None)):
        return 1
    parts, n = [key], 0
    while parts:
        part = parts.pop()
        n += 1
        if n > MAX_KEY_PARTS:
            raise UnpicklingError(f"load: a key has more than {MAX_KEY_PARTS} parts")
        if isinstance(part, (tuple, frozenset)):
            parts.extend(part)
        elif type(part) in (list, dict, set, bytearray, OrderedDict):
            raise UnpicklingError(f"load: a {type(part).__name__} can't be a key")
    return n


class _FromStorage(Exception):
    """Carries an exception of a persistent id past the pickle's own."""


class Mark:
    """Where a tuple, list or dict begins on the stack."""


_MARK = Mark()


class Machine:
    """Runs one pickle.

    Args:
        source: a Source.
        find: function(module, name) -> what stands for that name, or UnpicklingError.
        call: function(callable, args) -> its result, for what `find` gave.
        new: function(class, args, kwargs) -> an object of the class, before it has a state.
        build: function(object, state): gives an object its state.
        persistent: function(id) -> what stands for a persistent id.
        file_size: bytes of the pickle and what belongs to it, in proportion to which memory may be taken; what the source has by default.
        encoding, errors: of the byte strings of Python 2.
    """

    def __init__(self, source, *, find, call, new, build, persistent, file_size=None, encoding="utf-8", errors="strict"):
        self.source, self.persistent = source, persistent
        self.find, self.call, self.new, self.build = find, call, new, build
        self.encoding, self.errors = encoding, errors
        self.stack, self.memo = [], {}
        self.room = MOST + MOST_PER_BYTE * (file_size or source.size)

    def load(self):
        """The object that the pickle makes. UnpicklingError where it isn't a pickle, or one that may not be loaded."""
        read, steps = self.source.read, self.steps
        try:
            while True:
                code = read(1)
                if code == b".":
                    return self.stack.pop()
                step = steps.get(code)
                if step is None:
                    raise UnpicklingError(f"load: {code!r} is no instruction of a pickle, or one that isn't allowed here")
                step(self)
        except UnpicklingError:
            raise
        except _FromStorage as error:
            raise error.__cause__ from None
        except (IndexError, KeyError, AttributeError, TypeError, ValueError, OverflowError, RecursionError, struct.error) as error:
            raise UnpicklingError(f"load: the pickle is damaged: {type(error).__name__}: {error}") from error

    def take(self, nbytes):
        """Count memory, or time, that the file's bytes alone don't account for."""
        self.room -= nbytes
        if self.room < 0:
            raise UnpicklingError("load: the pickle gives the same values to so many calls that they would take far more memory than the file has")

    # -- reading
    def number(self, form, n):
        return struct.unpack(form, self.source.read(n))[0]

    def counted(self, form, n):
        """Bytes after their number."""
        return self.source.read(self.number(form, n))

    def text(self, data):
        """A byte string of Python 2."""
        return data if self.encoding == "bytes" else data.decode(self.encoding, self.errors)

    # -- the stack
    def push(self, value):
        self.stack.append(value)

    def since_mark(self):
        """What lies above the last mark; both are taken off."""
        stack = self.stack
        at = len(stack) - 1
        while at >= 0 and stack[at] is not _MARK:
            at -= 1
        if at < 0:
            raise UnpicklingError("load: the pickle is damaged: no mark on the stack")
        items = stack[at + 1:]
        del stack[at:]
        return items

    def tuple_of(self, n):
        if len(self.stack) < n:
            raise UnpicklingError("load: the pickle is damaged: the stack is empty")
        items = tuple(self.stack[len(self.stack) - n:])
        del self.stack[len(self.stack) - n:]
        self.push(items)

    def extend(self, items):
        target = self.stack[-1]
        if not isinstance(target, list):
            raise UnpicklingError(f"load: the pickle is damaged: items for a {type(target).__name__}")
        target.extend(items)

    def set_items(self, items):
        target = self.stack[-1]
        if not isinstance(target, dict):
            raise UnpicklingError(f"load: the pickle is damaged: keys for a {type(target).__name__}")
        if len(items) % 2:
            raise UnpicklingError("load: the pickle is damaged: a key without a value")
        for key, value in zip(items[::2], items[1::2]):
            parts = check_key(key)
            if parts > 1:
                self.take(64 * parts)
            target[key] = value

    def add_items(self, items):
        target = self.stack[-1]
        if type(target) is not set:
            raise UnpicklingError(f"load: the pickle is damaged: elements for a {type(target).__name__}")
        target.update(self.checked(items))

    def put(self, index):
        if not self.stack or self.stack[-1] is _MARK:
            raise UnpicklingError("load: the pickle is damaged: nothing to remember")
        self.memo[index] = self.stack[-1]

    def named(self, module, name):
        if not isinstance(module, str) or not isinstance(name, str):
            raise UnpicklingError("load: the pickle is damaged: a name that isn't text")
        if len(module) > MAX_NAME or len(name) > MAX_NAME:
            raise UnpicklingError(f"load: the pickle is damaged: a name of {len(module)} and {len(name)} characters")
        self.push(self.find(module, name))

    def apply(self, make, *given):
        """`make(function, arguments, ...)` with the function on the stack."""
        if not isinstance(given[0], tuple):
            raise UnpicklingError("load: the pickle is damaged: arguments that aren't a tuple")
        self.take(sum(map(weight, given[0])))
        self.push(make(self.stack.pop(), *given))

    def refer(self, saved):
        try:
            self.push(self.persistent(saved))
        except Exception as error:         # it is the storage's, or of the user's map_location, and says nothing of the pickle
            raise _FromStorage from error

    def set_state(self):
        state = self.stack.pop()
        self.take(sum(map(weight, state)) if isinstance(state, tuple) else weight(state))
        self.build(self.stack[-1], state)

    def checked(self, items):
        """Items for a set, each fit to be hashed."""
        self.take(64 * sum(map(check_key, items)))
        return items


def checked(items):
    """The items of a list, each fit to be hashed."""
    if not isinstance(items, (list, tuple, set, frozenset)):
        raise UnpicklingError(f"load: a set of the items of a {type(items).__name__}")
    for item in items:
        check_key(item)
    return items


def _integer(text):
    """INT of protocol 0, which has the bools too."""
    return {b"00": False, b"01": True}.get(text) if text in (b"00", b"01") else int(text)


def _quoted(m):
    data = m.source.line()
    if len(data) < 2 or data[:1] != data[-1:] or data[:1] not in (b'"', b"'"):
        raise UnpicklingError("load: the pickle is damaged: a string without quotes")
    from codecs import escape_decode
    return m.text(escape_decode(data[1:-1])[0])


def _global(m):
    module = m.source.line().decode()
    m.named(module, m.source.line().decode())


def _stack_global(m):
    name = m.stack.pop()
    m.named(m.stack.pop(), name)


def _set_item(m):
    value = m.stack.pop()
    m.set_items((m.stack.pop(), value))


def _append(m):
    value = m.stack.pop()
    m.extend((value,))


def _dict(m):
    items = m.since_mark()
    m.push({})
    m.set_items(items)


def _new_with_keywords(m):
    keywords = m.stack.pop()
    m.apply(m.new, m.stack.pop(), keywords)


def _protocol(m):
    version = m.number("<B", 1)
    if version > 5:
        raise UnpicklingError(f"load: pickle protocol {version} is unknown")


_STEPS = {
    b"\x80": _protocol, b"\x95": lambda m: m.source.read(8),
    b"(": lambda m: m.push(_MARK), b"0": lambda m: m.stack.pop(), b"1": lambda m: m.since_mark(), b"2": lambda m: m.push(m.stack[-1]),
    # numbers
    b"N": lambda m: m.push(None), b"\x88": lambda m: m.push(True), b"\x89": lambda m: m.push(False),
    b"I": lambda m: m.push(_integer(m.source.line())), b"L": lambda m: m.push(int(m.source.line().rstrip(b"L"))),
    b"J": lambda m: m.push(m.number("<i", 4)), b"K": lambda m: m.push(m.number("<B", 1)), b"M": lambda m: m.push(m.number("<H", 2)),
    b"\x8a": lambda m: m.push(int.from_bytes(m.counted("<B", 1), "little", signed=True)),
    b"\x8b": lambda m: m.push(int.from_bytes(m.counted("<I", 4), "little", signed=True)),
    b"F": lambda m: m.push(float(m.source.line())), b"G": lambda m: m.push(m.number(">d", 8)),
    # text and bytes
    b"S": lambda m: m.push(_quoted(m)), b"T": lambda m: m.push(m.text(m.counted("<I", 4))), b"U": lambda m: m.push(m.text(m.counted("<B", 1))),
    b"V": lambda m: m.push(str(m.source.line(), "raw-unicode-escape")), b"X": lambda m: m.push(str(m.counted("<I", 4), "utf-8", "surrogatepass")),
    b"\x8c": lambda m: m.push(str(m.counted("<B", 1), "utf-8", "surrogatepass")),
    b"\x8d": lambda m: m.push(str(m.counted("<Q", 8), "utf-8", "surrogatepass")),
    b"B": lambda m: m.push(m.counted("<I", 4)), b"C": lambda m: m.push(m.counted("<B", 1)), b"\x8e": lambda m: m.push(m.counted("<Q", 8)),
    b"\x96": lambda m: m.push(bytearray(m.counted("<Q", 8))),
    # containers
    b")": lambda m: m.push(()), b"t": lambda m: m.push(tuple(m.since_mark())), b"\x85": lambda m: m.tuple_of(1), b"\x86": lambda m: m.tuple_of(2),
    b"\x87": lambda m: m.tuple_of(3), b"]": lambda m: m.push([]), b"l": lambda m: m.push(m.since_mark()), b"a": _append,
    b"e": lambda m: m.extend(m.since_mark()), b"}": lambda m: m.push({}), b"d": _dict, b"s": _set_item,
    b"u": lambda m: m.set_items(m.since_mark()), b"\x8f": lambda m: m.push(set()), b"\x90": lambda m: m.add_items(m.since_mark()),
    b"\x91": lambda m: m.push(frozenset(m.checked(m.since_mark()))),
    # the memo
    b"p": lambda m: m.put(int(m.source.line())), b"q": lambda m: m.put(m.number("<B", 1)), b"r": lambda m: m.put(m.number("<I", 4)),
    b"\x94": lambda m: m.put(len(m.memo)), b"g": lambda m: m.push(m.memo[int(m.source.line())]),
    b"h": lambda m: m.push(m.memo[m.number("<B", 1)]), b"j": lambda m: m.push(m.memo[m.number("<I", 4)]),
    # names, calls, states
    b"c": _global, b"\x93": _stack_global, b"b": lambda m: m.set_state(),
    b"R": lambda m: m.apply(m.call, m.stack.pop()), b"\x81": lambda m: m.apply(m.new, m.stack.pop(), {}), b"\x92": _new_with_keywords,
    b"P": lambda m: m.refer(m.source.line().decode()), b"Q": lambda m: m.refer(m.stack.pop()),
}

Machine.steps = _STEPS
