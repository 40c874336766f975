"""Exponential families."""
from ..autograd import enable_grad, grad
from .distribution import Distribution
from .utils import sum_rightmost


class ExponentialFamily(Distribution):
    """Densities of the form h(x) exp(<t(x), eta> - A(eta)), with natural parameters eta and log normaliser A.

    A subclass gives `_natural_params` (a tuple of tensors), `_log_normalizer(*eta)` and `_mean_carrier_measure` = E[log h(x)]; from them
    follow the entropy and the divergence of two of the family (Nielsen and Nock, 2010).
    """

    @property
    def _natural_params(self):
        raise NotImplementedError(f"{type(self).__name__} has no natural parameters")

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError(f"{type(self).__name__} has no mean carrier measure")

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError(f"{type(self).__name__} has no log normalizer")

    def _expected_statistics(self):
        """(eta, A(eta), E[t(x)] = dA/deta), differentiable."""
        eta = [p.detach().requires_grad_() for p in self._natural_params]
        with enable_grad():
            normalizer = self._log_normalizer(*eta)
            return eta, normalizer, grad(normalizer.sum(), eta, create_graph=True)

    def entropy(self):
        """A(eta) - <eta, dA/deta> - E[log h(x)]"""
        eta, normalizer, expected = self._expected_statistics()
        result = normalizer - self._mean_carrier_measure
        for parameter, statistic in zip(eta, expected):
            result = result - sum_rightmost(parameter * statistic, parameter.ndim - len(self.batch_shape))
        return result
