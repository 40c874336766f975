"""Sequences of different lengths in one tensor: padded, or packed step by step."""
from collections import namedtuple
from collections.abc import Iterable

from ...core.frontend import Tensor
from ...ops import namespace as ops

_Fields = namedtuple("PackedSequence", ("data", "batch_sizes", "sorted_indices", "unsorted_indices"))


class PackedSequence(_Fields):
    """Sequences packed for recurrent layers, longest first: the first steps of all, then the second steps, and so on.

    Attributes:
        data: (sum of lengths, *), the steps.
        batch_sizes: how many sequences have a first, second … step, on the cpu.
        sorted_indices, unsorted_indices: how the sequences were put in order, and back; None where they came so.
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError("batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. They should be "
                             f"instantiated by functions like pack_sequence and pack_padded_sequences in nn.utils.rnn, got {batch_sizes.device}")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """The sequences with data of another dtype or on another device; arguments as for `Tensor.to`."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        moved = [None if index is None else index.to(data.device) for index in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *moved)

    def cpu(self, *args, **kwargs):
        """The sequences on the cpu."""
        return self.to("cpu")

    def cuda(self, *args, **kwargs):
        """The sequences on a CUDA device."""
        return self.to(*args, **kwargs) if args or kwargs else self.to("cuda")

    def pin_memory(self):
        """The sequences in pinned memory, from which they are copied to CUDA devices in the background."""
        return type(self)(self.data.pin_memory(), self.batch_sizes, self.sorted_indices, self.unsorted_indices)

    def is_pinned(self):
        """Whether the data lie in pinned memory."""
        return self.data.is_pinned()

    @property
    def is_cuda(self):
        """Whether the data lie on a CUDA device."""
        return self.data.is_cuda


def _converted(name):
    def convert(self):
        data = getattr(self.data, name)()
        return self if data is self.data else type(self)(data, self.batch_sizes, self.sorted_indices, self.unsorted_indices)
    convert.__name__ = name
    convert.__doc__ = f"The sequences with `data.{name}()`."
    return convert


for _name in ("double", "float", "half", "long", "int", "short", "char", "byte"):
    setattr(PackedSequence, _name, _converted(_name))


def invert_permutation(permutation):
    """The permutation that undoes this one; None for None.

    >>> from pyx_tensor.nn.utils.rnn import invert_permutation
    >>> invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    places = ops.arange(permutation.numel(), device=permutation.device, dtype=permutation.dtype)
    return ops.empty_like(permutation).scatter_(0, permutation, places)


_ORDER = ("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass `enforce_sorted=False` to "
          "pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need ONNX exportability.")


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Pack padded sequences (steps, batch, *).

    Args:
        lengths: of each sequence, a list or a tensor on the cpu, all positive.
        batch_first: the sequences are (batch, steps, *).
        enforce_sorted: whether they must come longest first; else they are put in order, and layers give states in the old order.

    Raises:
        RuntimeError: lengths that are not positive, not in order, or don't fit the input.

    >>> from pyx_tensor.nn.utils.rnn import pack_padded_sequence
    >>> pack_padded_sequence(torch.tensor([[1, 2], [3, 0]]), [2, 1]).data
    tensor([1, 2, 3])
    """
    lengths = ops.as_tensor(lengths).to("cpu").long()
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = ops.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    input = input.transpose(0, 1) if batch_first else input
    sizes = lengths.tolist()
    _check_lengths(input, sizes)
    steps = ops.arange(max(sizes))
    present = steps.unsqueeze(1) < lengths
    data = input[:len(steps)][present.to(input.device)]
    return PackedSequence(data, present.sum(1), sorted_indices)


def _check_lengths(input, lengths):
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if len(lengths) != input.size(1):
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size={input.size(1)})")
    if lengths != sorted(lengths, reverse=True):
        raise RuntimeError(_ORDER)
    if min(lengths) <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if max(lengths) > input.size(0):
        raise RuntimeError(f"pack_padded_sequence: lengths holds {max(lengths)}, but the sequences have {input.size(0)} steps")


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """Unpack to a padded tensor (steps, batch, *): (tensor, lengths), in the order before packing.

    Args:
        batch_first: give (batch, steps, *).
        padding_value: what fills shorter sequences.
        total_length: how many steps the result has; the longest sequence's by default.
    """
    data, batch_sizes, _, unsorted_indices = sequence
    sizes = batch_sizes.tolist()
    if total_length is not None and total_length < len(sizes):
        raise ValueError("Expected total_length to be at least the length of the longest sequence in input, but got "
                         f"total_length={total_length} and max sequence length being {len(sizes)}")
    steps = total_length or len(sizes)
    rows = ops.arange(sizes[0])
    present = rows.unsqueeze(0) < ops.cat([batch_sizes, batch_sizes.new_zeros(steps - len(sizes))]).unsqueeze(1)
    padded = ops.full((steps, sizes[0], *data.shape[1:]), padding_value, dtype=data.dtype, device=data.device)
    padded = padded.index_put((present.to(data.device),), data)
    lengths = present.sum(0)
    if unsorted_indices is not None:
        padded, lengths = padded.index_select(1, unsorted_indices), lengths[unsorted_indices.to("cpu")]
    return padded.transpose(0, 1) if batch_first else padded, lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Stack sequences (length, *) of different lengths to (steps, batch, *), the shorter ones padded.

    Args:
        batch_first: give (batch, steps, *).
        padding_value: what fills the places left.
        padding_side: 'right' (the end) or 'left'.

    >>> from pyx_tensor.nn.utils.rnn import pad_sequence
    >>> pad_sequence([torch.tensor([1, 2]), torch.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    sequences = sequences.unbind(0) if isinstance(sequences, Tensor) else tuple(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    steps = max(sequence.size(0) for sequence in sequences)
    padded = [_padded(sequence, steps, padding_value, padding_side == "right") for sequence in sequences]
    return ops.stack(padded, 0 if batch_first else 1)


def _padded(sequence, steps, value, at_end):
    missing = steps - sequence.size(0)
    if not missing:
        return sequence
    padding = sequence.new_full((missing, *sequence.shape[1:]), value)
    return ops.cat([sequence, padding] if at_end else [padding, sequence])


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences of a padded tensor, as a list without the padding."""
    padded = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [sequence[:length] for sequence, length in zip(padded.unbind(0), lengths.tolist())]


def pack_sequence(sequences, enforce_sorted=True):
    """Pack a list of sequences (length, *); see :func:`pack_padded_sequence`.

    >>> from pyx_tensor.nn.utils.rnn import pack_sequence
    >>> pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])]).data
    tensor([1, 4, 2, 5, 3])
    """
    lengths = [sequence.size(0) for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The list of sequences that was packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
