"""The base of optimizers whose step is a rule of the table's operation `_rule_step`: one call for all tensors alike."""
from ..ops import namespace as ops
from ..ops.optim import rule_step_
from .tablewise import TablewiseOptimizer


class RuledOptimizer(TablewiseOptimizer):
    """A subclass names its rule (see `RULES` in ops/optim.py), what it remembers of a parameter, and the rule's constants."""

    rule = None

    def _step(self, group, params):
        params = self._without_sparse(group, params)
        states = [self.state[parameter] or self._begin(parameter, group) for parameter in params]
        names = self._remembered(group)
        lists = [[state[name] for state in states] if name else [] for name in names]
        lists += [[]] * (3 - len(lists))
        lr = float(group["lr"])
        decay = group["weight_decay"] if "weight_decay" in self.defaults else 0.0
        decoupled = bool(group.get("decoupled_weight_decay"))
        rule_step_(
            params, [parameter.grad for parameter in params], *lists, [state["step"] for state in states], rule=self.rule,
            constants=self._constants_of_all(group, states, lr), weight_decay=0.0 if decoupled else float(decay),
            shrink=1 - lr * decay if decoupled else 1.0, eps=float(group.get("eps", 0.0)), maximize=bool(group["maximize"]))

    def _without_sparse(self, group, params):
        """The tensors whose gradients are dense; the others make their steps here."""
        if not any(parameter.grad.is_sparse for parameter in params):
            return params
        for parameter in params:
            if parameter.grad.is_sparse:
                self._sparse_step(parameter, group, float(group["lr"]))
        return [parameter for parameter in params if not parameter.grad.is_sparse]

    def _sparse_step(self, parameter, group, lr):
        """A step by a sparse gradient."""
        raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")

    def _begin(self, parameter, group):
        """The state of a parameter before its first step; of a complex one as of the pair of its parts."""
        state = self.state[parameter]
        state["step"] = ops.tensor(0.0).float()
        is_complex = parameter.is_complex()
        values = ops.view_as_real(parameter) if is_complex else parameter
        for name, start in self._start(values, group).items():
            state[name] = ops.view_as_complex(start) if is_complex and start.shape == values.shape else start
        return state

    def _constants_of_all(self, group, states, lr):
        """The rule's constants for each tensor. Tensors that have made the same number of steps have the same."""
        known, found = {}, []
        for state in states:
            step = state["step"].item() + 1
            if step not in known:
                known[step] = self._constants(group, step, lr)
            found.append(known[step])
        return found

    def _start(self, parameter, group):
        """What is remembered of a parameter before its first step, beside ``step``."""
        return {name: ops.zeros_like(parameter) for name in self._remembered(group) if name}

    def _remembered(self, group):
        """Names of the tensors that the rule takes, in its order; None where it goes without one."""
        raise NotImplementedError(f"{type(self).__name__} is missing the method _remembered")

    def _constants(self, group, step, lr):
        """The rule's constants at a step, which counts from 1."""
        raise NotImplementedError(f"{type(self).__name__} is missing the method _constants")
