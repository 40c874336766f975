// Normalisation over rows (layer norm) and over channels (batch norm), and their gradients. Statistics come in A.

__device__ inline Moments row_moments(const T* a, i64 n) {
    Moments m = {0, 0, 0};
    for (i64 j = threadIdx.x; j < n; j += blockDim.x) include(&m, widen(a[j]));
    return block_moments(m);
}

KERNEL layer_norm(const T* a, const T* weight, const T* bias, T* y, A* mean, A* rstd, i64 rows, i64 n, A eps) {
    for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
        Moments m = row_moments(a + row * n, n);
        A scale = 1 / sqrt(m.square / m.count + eps);
        if (threadIdx.x == 0) { mean[row] = m.mean; rstd[row] = scale; }
        for (i64 j = threadIdx.x; j < n; j += blockDim.x) {
            A x = (widen(a[row * n + j]) - m.mean) * scale;
            if (weight) x *= widen(weight[j]);
            if (bias) x += widen(bias[j]);
            narrow(y + row * n + j, x);
        }
    }
}

KERNEL layer_norm_input(const T* grad, const T* a, const A* mean, const A* rstd, const T* weight, T* to_input, i64 rows, i64 n) {
    for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
        A sum = 0, moment = 0;
        for (i64 j = threadIdx.x; j < n; j += blockDim.x) {
            A g = (A)widen(grad[row * n + j]) * (weight ? (A)widen(weight[j]) : (A)1);
            sum += g;
            moment += g * (widen(a[row * n + j]) - mean[row]) * rstd[row];
        }
        sum = block_sum(sum) / n;
        moment = block_sum(moment) / n;
        for (i64 j = threadIdx.x; j < n; j += blockDim.x) {
            A g = (A)widen(grad[row * n + j]) * (weight ? (A)widen(weight[j]) : (A)1);
            A normal = (widen(a[row * n + j]) - mean[row]) * rstd[row];
            narrow(to_input + row * n + j, (g - sum - normal * moment) * rstd[row]);
        }
    }
}

// Sums over `size` rows for each block in y, a column for each thread: parts of the gradients of weight and bias, added afterwards.
KERNEL layer_norm_parameters(const T* grad, const T* a, const A* mean, const A* rstd, A* to_weight, A* to_bias, i64 rows, i64 n, i64 size) {
    i64 first = blockIdx.y * size, last = first + size < rows ? first + size : rows;
    EACH(j, n) {
        A weight = 0, bias = 0;
        for (i64 row = first; row < last; row++) {
            A g = widen(grad[row * n + j]);
            bias += g;
            weight += g * (widen(a[row * n + j]) - mean[row]) * rstd[row];
        }
        to_weight[blockIdx.y * n + j] = weight;
        to_bias[blockIdx.y * n + j] = bias;
    }
}

// --- channels: arrays (samples, channels, positions); blockIdx.x is a channel, blockIdx.y a part of its elements -------
#define EACH_OF_CHANNEL(i, at) \
    for (i64 i = (i64)blockIdx.y * blockDim.x + threadIdx.x, at = 0; i < samples * positions && (at = (over(i, positions) * channels + blockIdx.x) * positions + rest(i, positions), true); \
         i += (i64)gridDim.y * blockDim.x)

KERNEL channel_moments(const T* a, Moments* parts, i64 samples, i64 channels, i64 positions) {
    Moments m = {0, 0, 0};
    EACH_OF_CHANNEL(i, at) include(&m, widen(a[at]));
    m = block_moments(m);
    if (threadIdx.x == 0) parts[blockIdx.y * channels + blockIdx.x] = m;
}

KERNEL channel_statistics(const Moments* parts, A* mean, A* var, i64 channels, i64 count) {
    EACH(c, channels) {
        Moments m = parts[c];
        for (i64 k = 1; k < count; k++) m = merged(m, parts[k * channels + c]);
        mean[c] = m.mean;
        var[c] = m.square / m.count;      // NaN of no elements
    }
}

KERNEL channel_normalise(const T* a, const A* mean, const A* var, const T* weight, const T* bias, T* y, i64 samples, i64 channels, i64 positions, A eps) {
    A scale = 1 / sqrt(var[blockIdx.x] + eps);
    if (weight) scale *= widen(weight[blockIdx.x]);
    A shift = bias ? (A)widen(bias[blockIdx.x]) : (A)0;
    EACH_OF_CHANNEL(i, at) narrow(y + at, (widen(a[at]) - mean[blockIdx.x]) * scale + shift);
}

// Parts of the sums of g and of g times the distance from the mean: (2, parts, channels).
KERNEL channel_sums(const T* grad, const T* a, const A* mean, A* sums, i64 samples, i64 channels, i64 positions) {
    A sum = 0, moment = 0;
    EACH_OF_CHANNEL(i, at) {
        A g = widen(grad[at]);
        sum += g;
        moment += g * (widen(a[at]) - mean[blockIdx.x]);
    }
    sum = block_sum(sum);
    moment = block_sum(moment);
    if (threadIdx.x == 0) {
        sums[blockIdx.y * channels + blockIdx.x] = sum;
        sums[(gridDim.y + blockIdx.y) * channels + blockIdx.x] = moment;
    }
}

// sum and moment are null where the statistics don't depend on the input.
KERNEL channel_backward(const T* grad, const T* a, const A* mean, const A* var, const A* sum, const A* moment, const T* weight, T* to_input,
                        i64 samples, i64 channels, i64 positions, A eps) {
    i64 c = blockIdx.x;
    A rstd = 1 / sqrt(var[c] + eps), count = samples * positions;
    A scale = weight ? rstd * (A)widen(weight[c]) : rstd;
    A along = moment ? moment[c] * rstd * rstd / count : (A)0, shift = sum ? sum[c] / count : (A)0;
    EACH_OF_CHANNEL(i, at) narrow(to_input + at, (widen(grad[at]) - shift - (widen(a[at]) - mean[c]) * along) * scale);
}

KERNEL update_statistics(T* running, const A* batch, i64 n, A keep, A take) {
    EACH(i, n) narrow(running + i, widen(running[i]) * keep + batch[i] * take);
}
