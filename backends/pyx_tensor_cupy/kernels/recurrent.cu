// The elementwise part of a step of an LSTM or a GRU, after the products, and its gradient.

__device__ inline A sigmoid_(A x) { return 1 / (1 + exp(-x)); }

#define GATE(array, wide, k) (array + over(i, size) * (wide) * size + (k) * size + rest(i, size))
#define AT(array, k) ((A)widen(*GATE(array, gates_per_cell, k)))

// gates (rows, 4 size): input, forget, cell, output.
KERNEL lstm_gates(const T* gates, const T* c, T* new_h, T* new_c, i64 rows, i64 size) {
    const int gates_per_cell = 4;
    EACH(i, rows * size) {
        A next = sigmoid_(AT(gates, 1)) * widen(c[i]) + sigmoid_(AT(gates, 0)) * tanh(AT(gates, 2));
        narrow(new_c + i, next);
        narrow(new_h + i, sigmoid_(AT(gates, 3)) * tanh(next));
    }
}

KERNEL lstm_gates_backward(const T* g_h, const T* g_c, const T* gates, const T* c, T* to_gates, T* to_c, i64 rows, i64 size) {
    const int gates_per_cell = 4;
    EACH(i, rows * size) {
        A in = sigmoid_(AT(gates, 0)), forget = sigmoid_(AT(gates, 1)), cell = tanh(AT(gates, 2)), out = sigmoid_(AT(gates, 3));
        A before = widen(c[i]), squashed = tanh(forget * before + in * cell), h = widen(g_h[i]);
        A g = widen(g_c[i]) + h * out * (1 - squashed * squashed);
        narrow(GATE(to_gates, 4, 0), g * cell * in * (1 - in));
        narrow(GATE(to_gates, 4, 1), g * before * forget * (1 - forget));
        narrow(GATE(to_gates, 4, 2), g * in * (1 - cell * cell));
        narrow(GATE(to_gates, 4, 3), h * squashed * out * (1 - out));
        narrow(to_c + i, g * forget);
    }
}

// x, hidden (rows, 3 size): reset, update, new.
KERNEL gru_gates(const T* x, const T* hidden, const T* h, T* new_h, i64 rows, i64 size) {
    const int gates_per_cell = 3;
    EACH(i, rows * size) {
        A reset = sigmoid_(AT(x, 0) + AT(hidden, 0)), update = sigmoid_(AT(x, 1) + AT(hidden, 1)), fresh = tanh(AT(x, 2) + reset * AT(hidden, 2));
        narrow(new_h + i, fresh + update * (widen(h[i]) - fresh));
    }
}

KERNEL gru_gates_backward(const T* grad, const T* x, const T* hidden, const T* h, T* to_x, T* to_hidden, T* to_h, i64 rows, i64 size) {
    const int gates_per_cell = 3;
    EACH(i, rows * size) {
        A reset = sigmoid_(AT(x, 0) + AT(hidden, 0)), update = sigmoid_(AT(x, 1) + AT(hidden, 1)), fresh = tanh(AT(x, 2) + reset * AT(hidden, 2));
        A g = widen(grad[i]);
        A to_new = g * (1 - update) * (1 - fresh * fresh);
        A to_update = g * (widen(h[i]) - fresh) * update * (1 - update);
        A to_reset = to_new * AT(hidden, 2) * reset * (1 - reset);
        narrow(GATE(to_x, 3, 0), to_reset);
        narrow(GATE(to_x, 3, 1), to_update);
        narrow(GATE(to_x, 3, 2), to_new);
        narrow(GATE(to_hidden, 3, 0), to_reset);
        narrow(GATE(to_hidden, 3, 1), to_update);
        narrow(GATE(to_hidden, 3, 2), to_new * reset);
        narrow(to_h + i, g * update);
    }
}
