"""Functions of functions: `vmap`, derivatives, and modules as functions of their parameters (what PyTorch has under `torch.func`)."""
from ._derivatives import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from ._modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from ._vmap import vmap

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "replace_all_batch_norm_modules_",
           "stack_module_state", "vjp", "vmap"]

for _function in map(globals().get, __all__):
    _function.__module__ = __name__
