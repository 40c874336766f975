// Negative log likelihood and cross entropy of scores (rows, n) with a class for each row.

__device__ inline A factor_of(i64 target, i64 n, const T* weight, i64 ignored) {
    if (target == ignored || target < 0 || target >= n) return 0;      // those outside are refused before
    return weight ? (A)widen(weight[target]) : (A)1;
}

// Each row's loss and factor.
KERNEL nll_rows(const T* logp, const i64* targets, const T* weight, A* loss, A* factor, i64 rows, i64 n, i64 ignored) {
    EACH(row, rows) {
        i64 target = targets[row];
        bool counts = target != ignored && target >= 0 && target < n;
        A f = factor_of(target, n, weight, ignored);
        loss[row] = counts ? -f * (A)widen(logp[row * n + target]) : (A)0;
        factor[row] = f;
    }
}

// grad has a number for each row, or one (grad_step 0); total is null where it isn't divided by.
__device__ inline A row_gradient(const T* grad, i64 grad_step, const T* total, A f, i64 row) {
    return f * widen(grad[row * grad_step]) / (total ? (A)widen(*total) : (A)1);
}

KERNEL nll_backward(const T* grad, i64 grad_step, const i64* targets, const T* weight, const T* total, T* to_logp, i64 rows, i64 n, i64 ignored) {
    EACH(i, rows * n) {
        i64 row = over(i, n), target = targets[row];
        bool hit = rest(i, n) == target && target != ignored;
        narrow(to_logp + i, hit ? -row_gradient(grad, grad_step, total, factor_of(target, n, weight, ignored), row) : (A)0);
    }
}

KERNEL cross_entropy_backward(const T* grad, i64 grad_step, const T* logp, const i64* targets, const T* weight, const T* total, T* to_scores,
                              i64 rows, i64 n, i64 ignored) {
    EACH(i, rows * n) {
        i64 row = over(i, n), target = targets[row];
        A f = factor_of(target, n, weight, ignored);
        A each = f == 0 && target == ignored ? (A)0 : row_gradient(grad, grad_step, total, f, row);
        narrow(to_scores + i, each * (exp((A)widen(logp[i])) - (rest(i, n) == target ? 1 : 0)));
    }
}
