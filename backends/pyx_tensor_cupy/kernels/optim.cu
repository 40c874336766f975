// Steps of optimizers over many tensors in one launch. Their addresses come by value, so that a captured graph keeps them.

#define PIECE 4096      // elements for a block
#define MOST 40         // tensors in a launch: what CUDA's 4 KB of arguments hold
#define CONSTANTS 5     // of each tensor

struct Tables {
    u64 address[5][MOST];      // of the tensors, list after list
    i64 size[MOST];
    double scalars[MOST][CONSTANTS];
    int first_piece[MOST];
    u8 first[MOST];            // the first step: the buffer has no content yet
    int count;
};

__device__ inline int tensor_of(const Tables& t, int piece) {
    int low = 0, high = t.count;      // first_piece[low] <= piece < first_piece[high]
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (t.first_piece[middle] <= piece) low = middle;
        else high = middle;
    }
    return low;
}

#define TENSOR(list) ((T*)t.address[list][tensor])
#define EACH_OF_PIECE(i) \
    int tensor = tensor_of(t, blockIdx.x); \
    i64 start = (i64)((int)blockIdx.x - t.first_piece[tensor]) * PIECE, end = start + PIECE < t.size[tensor] ? start + PIECE : t.size[tensor]; \
    for (i64 i = start + threadIdx.x; i < end; i += blockDim.x)

// The lists: parameters, gradients, buffers.
KERNEL sgd(const Tables t, A lr, A momentum, A dampening, A weight_decay, int nesterov, int maximize) {
    EACH_OF_PIECE(i) {
        A p = widen(TENSOR(0)[i]), g = widen(TENSOR(1)[i]);
        if (maximize) g = -g;
        if (weight_decay != 0) g += weight_decay * p;
        if (momentum != 0) {
            A buffer = t.first[tensor] ? g : momentum * widen(TENSOR(2)[i]) + (1 - dampening) * g;
            narrow(TENSOR(2) + i, buffer);
            g = nesterov ? g + momentum * buffer : buffer;
        }
        narrow(TENSOR(0) + i, p - lr * g);
    }
}

// The lists: parameters, gradients, averages, averages of squares, their largest values (with amsgrad). The scalars of a tensor,
// in the tables or, where the counts of steps are on the device, in memory: the step's size, the root of the squares' correction.
KERNEL adam(const Tables t, const double* scalars, double beta1, double beta2, A eps, A weight_decay, A decay, int amsgrad, int maximize) {
    EACH_OF_PIECE(i) {
        A size = scalars ? scalars[2 * tensor] : t.scalars[tensor][0], root = scalars ? scalars[2 * tensor + 1] : t.scalars[tensor][1];
        A p = widen(TENSOR(0)[i]), g = widen(TENSOR(1)[i]), mean = widen(TENSOR(2)[i]), square = widen(TENSOR(3)[i]);
        if (maximize) g = -g;
        if (weight_decay != 0) g += weight_decay * p;
        p *= decay;
        mean += (A)(1 - beta1) * (g - mean);
        square = (A)beta2 * square + (A)(1 - beta2) * g * g;
        narrow(TENSOR(2) + i, mean);
        narrow(TENSOR(3) + i, square);
        if (amsgrad) {
            A largest = widen(TENSOR(4)[i]);
            square = largest > square || largest != largest ? largest : square;
            narrow(TENSOR(4) + i, square);
        }
        narrow(TENSOR(0) + i, p - size * mean / (sqrt(square) / root + eps));
    }
}

// --- the other optimizers: lists of parameters, gradients and up to three memories, constants for each tensor ------------
#define MEMORY(list, x) { if (t.address[list][tensor]) narrow(TENSOR(list) + i, x); }
#define RULE(name, ...) \
    KERNEL name(const Tables t, A eps, A weight_decay, A shrink, int maximize) { \
        EACH_OF_PIECE(i) { \
            const double* c = t.scalars[tensor]; \
            A p = widen(TENSOR(0)[i]), g = widen(TENSOR(1)[i]); \
            A first = t.address[2][tensor] ? (A)widen(TENSOR(2)[i]) : (A)0, second = t.address[3][tensor] ? (A)widen(TENSOR(3)[i]) : (A)0; \
            A third = t.address[4][tensor] ? (A)widen(TENSOR(4)[i]) : (A)0; \
            if (maximize) g = -g; \
            if (weight_decay != 0) g += weight_decay * p; \
            p *= shrink; \
            __VA_ARGS__ \
            narrow(TENSOR(0) + i, p); \
            MEMORY(2, first) \
            MEMORY(3, second) \
            MEMORY(4, third) \
        } \
    }

// Memories: averages of squares, momentum, averages of gradients. Constants: alpha, lr, momentum.
RULE(rmsprop,
    first = (A)c[0] * first + (A)(1 - c[0]) * g * g;
    A square = first;
    if (t.address[4][tensor]) { third += (A)(1 - c[0]) * (g - third); square -= third * third; }
    A step = g / (sqrt(square) + eps);
    if (t.address[3][tensor]) step = second = (A)c[2] * second + step;
    p -= (A)c[1] * step;)
// Sums of squares. lr.
RULE(adagrad,
    first += g * g;
    p -= (A)c[0] * g / (sqrt(first) + eps);)
// Averages of the gradients' and of the steps' squares. rho, lr.
RULE(adadelta,
    first = (A)c[0] * first + (A)(1 - c[0]) * g * g;
    A step = sqrt(second + eps) / sqrt(first + eps) * g;
    second = (A)c[0] * second + (A)(1 - c[0]) * step * step;
    p -= (A)c[1] * step;)
// Averages, largest gradients. 1 - beta1, beta2, lr.
RULE(adamax,
    first += (A)c[0] * (g - first);
    second = Max::of((A)c[1] * second, fabs(g) + eps);
    p -= (A)c[2] * first / second;)
// Averages, averages of squares. 1 - beta1, beta2, the squares' correction, the steps along gradient and average.
RULE(nadam,
    first += (A)c[0] * (g - first);
    second = (A)c[1] * second + (A)(1 - c[1]) * g * g;
    A root = sqrt(second / (A)c[2]) + eps;
    p -= (A)c[3] * g / root;
    p -= (A)c[4] * first / root;)
// Averages, averages of squares. 1 - beta1, beta2, whether the step is rectified, its size.
RULE(radam,
    first += (A)c[0] * (g - first);
    second = (A)c[1] * second + (A)(1 - c[1]) * g * g;
    p -= (A)c[3] * (c[2] != 0 ? first / (sqrt(second) + eps) : first);)
// The averaged parameters. What is kept of a parameter, the step's size, the weight of the new parameter.
RULE(asgd,
    p = (A)c[0] * p - (A)c[1] * g;
    first = c[2] == 1 ? p : first + (A)c[2] * (p - first);)
// The last gradients, the steps' sizes. How sizes shrink and grow, the least and the most of them.
RULE(rprop,
    A agreement = g * first;
    second *= agreement > 0 ? (A)c[1] : agreement < 0 ? (A)c[0] : (A)1;
    second = second < (A)c[2] ? (A)c[2] : second > (A)c[3] ? (A)c[3] : second;
    if (agreement < 0) g = 0;
    p -= g > 0 ? second : g < 0 ? -second : g;
    first = g;)

// Adam's scalars from counts of steps on the device (float each, the first list), which are increased.
KERNEL adam_scalars(const Tables t, double* scalars, double lr, double beta1, double beta2) {
    EACH(tensor, t.count) {
        double step = *(float*)t.address[0][tensor] += 1;
        scalars[2 * tensor] = lr / (1 - pow(beta1, step));
        scalars[2 * tensor + 1] = sqrt(1 - pow(beta2, step));
    }
}
