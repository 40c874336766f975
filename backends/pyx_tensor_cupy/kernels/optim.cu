// Steps of optimizers over many tensors in one launch. Their addresses come by value, so that a captured graph keeps them.

#define PIECE 4096      // elements for a block
#define MOST 48         // tensors in a launch: what CUDA's 4 KB of arguments hold

struct Tables {
    u64 address[5][MOST];      // of the tensors, list after list
    i64 size[MOST];
    double scalars[MOST][2];
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

// Those scalars from counts of steps on the device (float each, the first list), which are increased.
KERNEL adam_scalars(const Tables t, double* scalars, double lr, double beta1, double beta2) {
    EACH(tensor, t.count) {
        double step = *(float*)t.address[0][tensor] += 1;
        scalars[2 * tensor] = lr / (1 - pow(beta1, step));
        scalars[2 * tensor + 1] = sqrt(1 - pow(beta2, step));
    }
}
