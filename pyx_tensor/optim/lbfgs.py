"""L-BFGS."""
from ..autograd import enable_grad, no_grad
from ..ops import namespace as ops
from ..ops.optim import add_parts_, joined, lbfgs_direction
from .line_search import Point, strong_wolfe
from .optimizer import Optimizer, check_learning_rate

_LEAST_CURVATURE = 1e-10  # pairs with less are not remembered


class LBFGS(Optimizer):
    """Limited-memory BFGS (Nocedal, 1980), for one group of parameters; a step calls its closure many times.

    Args:
        params: tensors, or a single group.
        lr: the step length, or the first one to try in the line search.
        max_iter, max_eval: bounds on the iterations and evaluations of one step; 1.25 ``max_iter`` evaluations by default.
        tolerance_grad: a step ends where no gradient is larger.
        tolerance_change: a step ends where neither parameters nor loss change by more.
        history_size: how many changes of the gradient are remembered.
        line_search_fn: None for steps of length ``lr``, or ``"strong_wolfe"``.
    """

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9,
                 history_size=100, line_search_fn=None):
        check_learning_rate(lr)
        if line_search_fn not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        super().__init__(params, dict(lr=lr, max_iter=max_iter,
                                      max_eval=max_iter * 5 // 4 if max_eval is None else max_eval,
                                      tolerance_grad=tolerance_grad, tolerance_change=tolerance_change,
                                      history_size=history_size, line_search_fn=line_search_fn))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self):
        return self.param_groups[0]["params"]

    def step(self, closure):
        """Iterate; ``closure`` clears the gradients, computes the loss, calls backward and returns it.

        Returns the loss before the step.
        """
        with no_grad():
            return self._iterate(closure)

    def _iterate(self, closure):
        group, state = self.param_groups[0], self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        with enable_grad():
            first_loss = closure()
        loss, gradient, evaluations = float(first_loss), self._flat_gradient(), 1
        state["func_evals"] += 1
        for iteration in range(1, group["max_iter"] + 1):
            if gradient.abs().max() <= group["tolerance_grad"]:
                break
            state["n_iter"] += 1
            direction = self._direction(state, gradient, group["history_size"])
            length = float(group["lr"])
            if state["n_iter"] == 1:
                length *= min(1.0, 1.0 / float(gradient.abs().sum()))
            slope = float(gradient.dot(direction))
            state.update(d=direction, prev_flat_grad=gradient, prev_loss=loss)
            if slope > -group["tolerance_change"]:
                break
            before = loss
            last = iteration == group["max_iter"]
            loss, gradient, length, tries = self._move(closure, Point(0.0, loss, gradient, slope), direction, length, last,
                                                       group["max_eval"] - evaluations)
            state["t"] = length
            evaluations += tries
            state["func_evals"] += tries
            if (evaluations >= group["max_eval"] or abs(loss - before) < group["tolerance_change"]
                    or (direction * length).abs().max() <= group["tolerance_change"]):
                break
        return first_loss

    def _direction(self, state, gradient, history_size):
        """The gradient times minus the approximate inverse Hessian, by the two loops over the remembered changes."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
            return -gradient
        change, step = gradient - state["prev_flat_grad"], state["d"] * state["t"]
        curvature = float(change.dot(step))
        if curvature > _LEAST_CURVATURE:
            for name, value in (("old_dirs", change), ("old_stps", step), ("ro", 1.0 / curvature)):
                state[name].append(value)
                del state[name][:-history_size]
            state["H_diag"] = curvature / float(change.dot(change))
        return lbfgs_direction(gradient, state["old_dirs"], state["old_stps"], state["ro"], state["H_diag"])

    def _move(self, closure, start, direction, length, last, evaluations_left):
        """Go along ``direction``; (loss, gradient, length, evaluations) there. The last step is not evaluated."""
        if self.param_groups[0]["line_search_fn"] is None:
            self._add(direction, length)
            if last:
                return start.loss, start.gradient, length, 0
            point = self._evaluate(closure, direction, length)
            return point.loss, point.gradient, length, 1
        origin = [parameter.clone() for parameter in self._params]

        def evaluate(step):
            self._add(direction, step)
            point = self._evaluate(closure, direction, step)
            for parameter, value in zip(self._params, origin):
                parameter.copy_(value)
            return point

        point, evaluations = strong_wolfe(evaluate, start, length, float(direction.abs().max()),
                                          self.param_groups[0]["tolerance_change"], max(0, evaluations_left))
        self._add(direction, point.step)
        return point.loss, point.gradient, point.step, evaluations

    def _evaluate(self, closure, direction, step):
        with enable_grad():
            loss = float(closure())
        gradient = self._flat_gradient()
        return Point(step, loss, gradient, float(gradient.dot(direction)))

    def _add(self, direction, length):
        add_parts_(self._params, direction, length)

    def _flat_gradient(self):
        return joined([_dense_gradient(parameter) for parameter in self._params])


def _dense_gradient(parameter):
    grad = parameter.grad
    if grad is None:
        return ops.zeros_like(parameter)
    return grad.to_dense() if grad.is_sparse else grad
