"""The modules of the loader where PyTorch keeps them, a private place that programs import `default_collate` from all the same."""
import sys

from .. import collate, fetch, worker

for _module in (collate, fetch, worker):
    sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module
