"""Many values to one, and normalisation by them."""
from .base import _Family


class Rows(_Family):
    """Normalisation over the rows of a 1024 x 1024 matrix."""
    prepare = "x = torch.randn(1024, 1024)\nlayer_norm = torch.nn.functional.layer_norm"
    cases = {"softmax": "torch.softmax(x, 1)", "layer_norm": "layer_norm(x, (1024,))"}
