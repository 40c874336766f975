"""Recurrent networks of several layers and directions, under PyTorch's functional names, made of `recurrent_layer`."""
from ..core.autocast import computed_as_it_is, computed_low
from ..core.definitions import composes, op
from ..core.frontend import Tensor
from ..core.record import namespace as B
from ..core.signature import T


# --- one step -----------------------------------------------------------------------------------------------------------
@op(promote="same", method=False)
def rnn_tanh_cell(B, input: T, hx: T, w_ih: T, w_hh: T, b_ih: T = None, b_hh: T = None):
    """A step of an Elman network: the hyperbolic tangent of linear maps of input (N, I) and state (N, H), added."""
    return B.tanh(_sum_of_products(B, input, hx, w_ih, w_hh, b_ih, b_hh))


@op(promote="same", method=False)
def rnn_relu_cell(B, input: T, hx: T, w_ih: T, w_hh: T, b_ih: T = None, b_hh: T = None):
    """`rnn_tanh_cell` with ReLU."""
    return B.relu(_sum_of_products(B, input, hx, w_ih, w_hh, b_ih, b_hh))


@op(promote="same", method=False)
def gru_cell(B, input: T, hx: T, w_ih: T, w_hh: T, b_ih: T = None, b_hh: T = None):
    """A step of a gated recurrent unit (Cho et al., 2014): the state (N, H) after input (N, I).

    Args:
        w_ih, w_hh, b_ih, b_hh: weights (3H, I) and (3H, H) and biases (3H) of the reset, update and new gates.
    """
    _check_cell(input, hx, w_ih, w_hh, 3)
    return B.gru_gates(B.linear(input, w_ih, b_ih), B.linear(hx, w_hh, b_hh), hx)


@composes
@computed_as_it_is
def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """A step of a long short-term memory (Hochreiter and Schmidhuber, 1997): (h, c), both (N, H), after input (N, I).

    Args:
        hx: (h, c) before.
        w_ih, w_hh, b_ih, b_hh: weights (4H, I) and (4H, H) and biases (4H) of the input, forget, cell and output gates.
    """
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    h, c = hx
    _check_cell(input, h, w_ih, w_hh, 4)
    return tuple(B.lstm_gates(_sum_of_products(B, input, h, w_ih, w_hh, b_ih, b_hh), c))


def _sum_of_products(B, input, h, w_ih, w_hh, b_ih, b_hh):
    return B.add(B.linear(input, w_ih, b_ih), B.linear(h, w_hh, b_hh))


def _check_cell(input, h, w_ih, w_hh, gates):
    if h.ndim != 2 or w_hh.shape[0] != gates * h.shape[1] or w_ih.shape[0] != w_hh.shape[0] or input.shape[0] != h.shape[0]:
        raise RuntimeError(f"recurrent cell: input {list(input.shape)}, state {list(h.shape)} and weights {list(w_ih.shape)} and {list(w_hh.shape)} do "
                           f"not fit: expected (N, I), (N, H), ({gates}H, I) and ({gates}H, H)")


# --- all layers -----------------------------------------------------------------------------------------------------------
def _network(cell, data, batch_sizes, states, params, has_biases, num_layers, dropout, train, bidirectional):
    """(output of the last layer, the final states stacked over layers and directions), all packed."""
    directions = 2 if bidirectional else 1
    weights = _weights_of_layers(cell, params, has_biases, num_layers * directions)
    for state in states:
        if state.ndim != 3 or state.shape[0] != num_layers * directions:
            raise RuntimeError(f"expected states of shape ({num_layers * directions}, batch, features) for {num_layers} layers of {directions} directions, got "
                               f"{list(state.shape)}")
    finals = []
    for layer in range(num_layers):
        outputs = []
        for reverse in (False, True)[:directions]:
            at = len(finals)
            h, c = states[0][at], states[1][at] if len(states) > 1 else None
            output, *final = B.recurrent_layer(data, h, c, *next(weights), cell, batch_sizes, reverse)
            outputs.append(output)
            finals.append(final)
        data = outputs[0] if directions == 1 else B.cat(outputs, -1)
        if dropout and train and layer < num_layers - 1:
            data = B.dropout(data, dropout, True)
    if cell != "lstm" and data is outputs[0] and data.requires_grad:
        data = B.clone(data)        # the layer keeps its output for the gradient, and programs write to it (PyTorch refuses that of an LSTM's)
    return data, tuple(B.stack(list(parts)) for parts in zip(*finals))


def _weights_of_layers(cell, params, has_biases, count):
    """For each layer and direction (w_ih, w_hh, b_ih, b_hh, w_hr), with None for what there isn't."""
    each = 4 if has_biases else 2
    if cell == "lstm" and len(params) == count * (each + 1):
        each += 1
    if count <= 0 or len(params) != count * each:
        raise RuntimeError(f"expected {each} parameters for each of {count} layers and directions, got {len(params)}")
    for start in range(0, len(params), each):
        w_ih, w_hh, *rest = params[start:start + each]
        b_ih, b_hh, *rest = rest if has_biases else (None, None, *rest)
        yield w_ih, w_hh, b_ih, b_hh, rest[0] if rest else None


def _run(name, cell, input, args):
    """`_network` on packed data, or on sequences (steps, batch, features) or (batch, steps, features): (output, *states)."""
    if len(args) != 8:
        raise TypeError(f"{name}() takes 9 arguments, (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first) or (data, "
                        f"batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional), but {len(args) + 1} were given")
    packed = isinstance(args[2], (list, tuple))
    hx = args[1] if packed else args[0]
    if cell == "lstm" and not isinstance(hx, (list, tuple)) or cell != "lstm" and not isinstance(hx, Tensor) or not isinstance(input, Tensor):
        raise TypeError(f"{name}(): expected a tensor and {'two states' if cell == 'lstm' else 'a state'}, got {type(input).__name__} and {type(hx).__name__}")
    states = tuple(hx) if cell == "lstm" else (hx,)
    if cell == "lstm" and len(states) != 2:
        raise RuntimeError("lstm expects two hidden states")
    if packed:
        output, states = _network(cell, input, tuple(args[0].tolist()), states, *args[2:])
        return output, *states
    *settings, batch_first = args[1:]
    if input.ndim != 3:
        raise RuntimeError(f"{name}(): expected sequences of 3 dims, got {list(input.shape)}")
    input = input.transpose(0, 1) if batch_first else input
    steps, batch, features = input.shape
    if steps == 0:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    output, states = _network(cell, input.reshape(steps * batch, features), (batch,) * steps, states, *settings)
    output = output.reshape(steps, batch, output.shape[1])
    return output.transpose(0, 1) if batch_first else output, *states


@composes
@computed_low
def lstm(input, *args):
    """A long short-term memory of several layers: (output, h, c).

    Call as `lstm(input, (h, c), params, has_biases, num_layers, dropout, train, bidirectional, batch_first)` for input (steps, batch, features),
    or `lstm(data, batch_sizes, (h, c), params, has_biases, num_layers, dropout, train, bidirectional)` for packed sequences. h and c are (layers *
    directions, batch, features); params the weights and biases as `nn.LSTM` lists them.
    """
    return _run("lstm", "lstm", input, args)


def _with_one_state(name, cell, text):
    def network(input, *args):
        return _run(name, cell, input, args)

    network.__name__ = network.__qualname__ = name
    network.__doc__ = f"{text} of several layers: (output, h). Called as `lstm` is, with h in the place of (h, c)."
    return composes(network)


gru = _with_one_state("gru", "gru", "A gated recurrent unit")
rnn_tanh = _with_one_state("rnn_tanh", "tanh", "An Elman network with the hyperbolic tangent")
rnn_relu = _with_one_state("rnn_relu", "relu", "An Elman network with ReLU")
