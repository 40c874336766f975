"""Recurrent layers and cells."""
import math
import warnings

from .. import init
from ...ops import namespace as ops
from ...ops import recurrent_networks as networks
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module


def _register(module, suffix, shapes, device, dtype):
    """Register parameters of these shapes (None: registered as None) and return their names."""
    for name, shape in shapes.items():
        module.register_parameter(name + suffix, None if shape is None else Parameter(ops.empty(shape, device=device, dtype=dtype)))
    return [name + suffix for name in shapes]


def _reset(module):
    """Draw all parameters evenly from ±1/√hidden_size."""
    bound = 1 / math.sqrt(module.hidden_size) if module.hidden_size > 0 else 0
    for parameter in module.parameters():
        init.uniform_(parameter, -bound, bound)


class RNNBase(Module):
    """What :class:`RNN`, :class:`LSTM` and :class:`GRU` share: the parameters, the checks, the handling of batches.

    Args:
        mode: 'LSTM', 'GRU', 'RNN_TANH' or 'RNN_RELU'.
        input_size, hidden_size: features of the input and of the state.
        num_layers: layers, each on the output of the one before.
        bias: whether the two linear maps have biases.
        batch_first: sequences are (batch, steps, features), not (steps, batch, features); states are as ever.
        dropout: probability of :class:`Dropout` after all layers but the last.
        bidirectional: whether a second network runs from the end; outputs lie beside each other.
        proj_size: features of an LSTM's projected state, 0 for none.
    """

    _gates = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
    _functions = {"LSTM": networks.lstm, "GRU": networks.gru, "RNN_TANH": networks.rnn_tanh, "RNN_RELU": networks.rnn_relu}

    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, proj_size=0,
                 device=None, dtype=None):
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional, self.proj_size = bias, batch_first, float(dropout), bidirectional, proj_size
        self._check_settings(dropout)
        if mode not in self._gates:
            raise ValueError("Unrecognized RNN mode: " + mode)
        out_features = proj_size or hidden_size
        gates = self._gates[mode] * hidden_size
        self._weight_names = []
        for layer in range(num_layers):
            in_features = out_features * (2 if bidirectional else 1) if layer else input_size
            shapes = {"weight_ih": (gates, in_features), "weight_hh": (gates, out_features)}
            if bias:
                shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
            if proj_size:
                shapes["weight_hr"] = (proj_size, hidden_size)
            for direction in ("", "_reverse")[:2 if bidirectional else 1]:
                self._weight_names.append(_register(self, f"_l{layer}{direction}", shapes, device, dtype))
        self.reset_parameters()

    def _check_settings(self, dropout):
        if isinstance(dropout, bool) or not 0 <= self.dropout <= 1:
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
        if self.dropout and self.num_layers == 1:
            warnings.warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater than 1, but "
                          f"got dropout={dropout} and num_layers={self.num_layers}", stacklevel=4)
        if not isinstance(self.hidden_size, int):
            raise TypeError(f"hidden_size should be of type int, got: {type(self.hidden_size).__name__}")
        for name in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")

    def reset_parameters(self):
        """Draw new initial weights, evenly from ±1/√hidden_size."""
        _reset(self)

    def flatten_parameters(self):
        """Nothing to do: the parameters are used where they lie."""

    @property
    def all_weights(self):
        """The parameters of each layer and direction, as lists."""
        return [[getattr(self, name) for name in names] for names in self._weight_names]

    @property
    def _flat_weights(self):
        return [getattr(self, name) for names in self._weight_names for name in names]

    def forward(self, input, hx=None):
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        if input.dim() == 3:
            return self._forward_batch(input, self._given_states(hx, 3))
        states = self._given_states(hx, 2)
        batch_dim = 0 if self.batch_first else 1
        output, states = self._forward_batch(input.unsqueeze(batch_dim), None if states is None else [s.unsqueeze(1) for s in states])
        return output.squeeze(batch_dim), self._map_states(lambda s: s.squeeze(1), states)

    def _forward_batch(self, input, states):
        self._check_input(input)
        states = self._checked_states(input, input.size(0 if self.batch_first else 1), states)
        return self._run((input,), states, self.batch_first)

    def _forward_packed(self, packed, hx):
        data, batch_sizes, sorted_indices, unsorted_indices = packed
        states = None if hx is None else self._state_list(hx)
        if states is not None and sorted_indices is not None:
            states = [s.index_select(1, sorted_indices) for s in states]
        self._check_features(data)
        states = self._checked_states(data, int(batch_sizes[0]), states)
        output, states = self._run((data, batch_sizes), states)
        if unsorted_indices is not None:
            states = self._map_states(lambda s: s.index_select(1, unsorted_indices), states)
        return PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices), states

    def _run(self, inputs, states, *batch_first):
        output, *states = self._functions[self.mode](
            *inputs, self._state_of(states), self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional, *batch_first)
        return output, self._state_of(states)

    # States: one tensor, or an LSTM's pair; as a list within.
    def _state_list(self, hx):
        return [hx]

    def _state_of(self, states):
        return states[0]

    def _map_states(self, function, states):
        return self._state_of([function(s) for s in self._state_list(states)])

    def _state_features(self):
        """The name in messages and the number of features of each state."""
        return [("hidden", self.proj_size or self.hidden_size)]

    def _given_states(self, hx, ndim):
        """The states as a list, which must have `ndim` dims; None where none are given."""
        if hx is None:
            return None
        states = self._state_list(hx)
        dims = [s.dim() for s in states]
        if any(d != ndim for d in dims):
            kind = "batched" if ndim == 3 else "unbatched"
            names, found = ("hx", f"{dims[0]}-D tensor") if len(dims) == 1 else ("hx and cx", f"({dims[0]}-D, {dims[1]}-D) tensors")
            raise RuntimeError(f"For {kind} {ndim}-D input, {names} should also be {ndim}-D but got {found}")
        return states

    def _checked_states(self, input, batch, states):
        """The states, zeros where none are given."""
        count = self.num_layers * (2 if self.bidirectional else 1)
        shapes = [(name, (count, batch, features)) for name, features in self._state_features()]
        if states is None:
            return [ops.zeros(shape, dtype=input.dtype, device=input.device) for _, shape in shapes]
        for state, (name, shape) in zip(states, shapes):
            if tuple(state.shape) != shape:
                raise RuntimeError(f"Expected {name} size {shape}, got {list(state.shape)}")
        return states

    def _check_input(self, input):
        weight = getattr(self, self._weight_names[0][0])
        if input.dtype is not weight.dtype:
            raise ValueError(f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: input.to({weight.dtype}), or "
                             f"convert model: model.to({input.dtype})")
        self._check_features(input)

    def _check_features(self, input):
        if input.size(-1) != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}")

    def extra_repr(self):
        shown = dict(proj_size=0, num_layers=1, bias=True, batch_first=False, dropout=0, bidirectional=False)
        given = [f"{name}={getattr(self, name)}" for name, default in shown.items() if getattr(self, name) != default]
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *given])


class RNN(RNNBase):
    """An Elman network of several layers: h' = tanh(W_ih x + b_ih + W_hh h + b_hh), step by step (Elman, 1990).

    Args:
        nonlinearity: 'tanh' or 'relu'. The others are those of :class:`RNNBase`.

    Shapes: input (steps, batch, input_size), or without batch, or a :class:`~pyx_tensor.nn.utils.rnn.PackedSequence`; the state h
    (num_layers · directions, batch, hidden_size), zeros where it isn't given. Returns (output, h): output (steps, batch, directions ·
    hidden_size) is the last layer's state at each step.

    >>> output, h = nn.RNN(10, 20, 2)(torch.randn(5, 3, 10))
    >>> output.shape, h.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False, dropout=0.0, bidirectional=False,
                 device=None, dtype=None):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__("RNN_" + nonlinearity.upper(), input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """A gated recurrent unit of several layers (Cho et al., 2014), with the reset gate after the product with the state.

    Arguments are those of :class:`RNNBase`, shapes those of :class:`RNN`; weights hold the reset, update and new gates, in this order.

    >>> output, h = nn.GRU(10, 20, bidirectional=True)(torch.randn(5, 3, 10))
    >>> output.shape, h.shape
    (torch.Size([5, 3, 40]), torch.Size([2, 3, 20]))
    """

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, device=None, dtype=None,
                 **options):
        if "proj_size" in options:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype, **options)


class LSTM(RNNBase):
    """A long short-term memory of several layers (Hochreiter and Schmidhuber, 1997; Gers et al., 2000).

    Arguments are those of :class:`RNNBase`; weights hold the input, forget, cell and output gates, in this order.

    Shapes: input and output as for :class:`RNN`; the state is a pair (h, c) of (num_layers · directions, batch, hidden_size), where h has
    proj_size features if there is a projection (Sak et al., 2014). Returns (output, (h, c)).

    >>> output, (h, c) = nn.LSTM(10, 20, 2)(torch.randn(5, 3, 10))
    >>> output.shape, h.shape, c.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, proj_size=0,
                 device=None, dtype=None):
        super().__init__("LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device, dtype)

    def _state_list(self, hx):
        return [hx[0], hx[1]]

    def _state_of(self, states):
        return tuple(states)

    def _state_features(self):
        return [("hidden[0]", self.proj_size or self.hidden_size), ("hidden[1]", self.hidden_size)]


class RNNCellBase(Module):
    """What the cells share: one step of a recurrent layer.

    Args:
        input_size, hidden_size: features of the input and of the state.
        bias: whether the two linear maps have biases.
        num_chunks: how many gates' weights lie one after the other.
    """

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        gates = num_chunks * hidden_size
        _register(self, "", {"weight_ih": (gates, input_size), "weight_hh": (gates, hidden_size), "bias_ih": (gates,) if bias else None,
                             "bias_hh": (gates,) if bias else None}, device, dtype)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw new initial weights, evenly from ±1/√hidden_size."""
        _reset(self)

    def _weights(self):
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _check(self, input, states):
        """The arguments as batches: (input, states)."""
        name = self._get_name()
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        if input.size(-1) != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.size(-1)} expected {self.input_size}")
        batched = input.dim() == 2
        if states is None:
            shape = (input.size(0) if batched else 1, self.hidden_size)
            states = [ops.zeros(shape, dtype=input.dtype, device=input.device) for _ in range(self._n_states)]
        elif not batched:
            states = [s.unsqueeze(0) if s.dim() == 1 else s for s in states]
        input = input if batched else input.unsqueeze(0)
        for at, state in enumerate(states):
            if state.dim() != 2:
                raise ValueError(f"{name}: Expected hidden to be 1D or 2D, got {state.dim()}D instead")
            if state.size(1) != self.hidden_size:
                raise RuntimeError(f"hidden{at} has inconsistent hidden_size: got {state.size(1)}, expected {self.hidden_size}")
            if state.size(0) != input.size(0):
                raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{at} batch size {state.size(0)}")
        return input, states

    _n_states = 1

    def extra_repr(self):
        shown = dict(bias=True, nonlinearity="tanh")
        given = [f"{name}={getattr(self, name)}" for name, default in shown.items() if getattr(self, name, default) != default]
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *given])


class RNNCell(RNNCellBase):
    """One step of an Elman network: tanh (or ReLU) of W_ih x + b_ih + W_hh h + b_hh.

    Shapes: input (batch, input_size) or (input_size), state and result (batch, hidden_size) or (hidden_size).

    >>> nn.RNNCell(10, 20)(torch.randn(3, 10), torch.randn(3, 20)).shape
    torch.Size([3, 20])
    """

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        functions = {"tanh": ops.rnn_tanh_cell, "relu": ops.rnn_relu_cell}
        if self.nonlinearity not in functions:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        rows, states = self._check(input, None if hx is None else [hx])
        result = functions[self.nonlinearity](rows, states[0], *self._weights())
        return result if input.dim() == 2 else result.squeeze(0)


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit; shapes as for :class:`RNNCell`.

    >>> nn.GRUCell(10, 20)(torch.randn(3, 10), torch.randn(3, 20)).shape
    torch.Size([3, 20])
    """

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        rows, states = self._check(input, None if hx is None else [hx])
        result = ops.gru_cell(rows, states[0], *self._weights())
        return result if input.dim() == 2 else result.squeeze(0)


class LSTMCell(RNNCellBase):
    """One step of a long short-term memory; the state is a pair (h, c), else shapes are those of :class:`RNNCell`.

    >>> h, c = nn.LSTMCell(10, 20)(torch.randn(3, 10), (torch.randn(3, 20), torch.randn(3, 20)))
    >>> h.shape, c.shape
    (torch.Size([3, 20]), torch.Size([3, 20]))
    """

    _n_states = 2

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        if hx is not None and not isinstance(hx, (tuple, list)):
            raise TypeError(f"lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not {type(hx).__name__}")
        rows, states = self._check(input, None if hx is None else list(hx))
        h, c = ops.lstm_cell(rows, states, *self._weights())
        return (h, c) if input.dim() == 2 else (h.squeeze(0), c.squeeze(0))
