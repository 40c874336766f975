"""Softmax over many classes, the rare ones in clusters."""
from collections import namedtuple

from .. import functional as F
from ...ops import namespace as ops
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

_ASMoutput = namedtuple("_ASMoutput", ("output", "loss"))


class AdaptiveLogSoftmaxWithLoss(Module):
    """A softmax whose rare classes stand in clusters with smaller projections (Grave et al., 2017).

    Args:
        in_features: features of the input. n_classes: number of classes, the most frequent first.
        cutoffs: the first class of each cluster, increasing.
        div_value: each cluster's projection has in_features / div_value^i features.
        head_bias: whether the linear map of frequent classes and clusters has a bias.

    Shapes: input (N, in_features) or (in_features), target (N) or (); returns (output, loss): the log probability of each target, and
    the mean of their negatives.

    >>> model = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10])
    >>> model(torch.randn(3, 8), torch.tensor([0, 5, 19])).output.shape
    torch.Size([3])
    """

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if cutoffs != sorted(set(cutoffs)) or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1 or any(int(c) != c for c in cutoffs):
            raise ValueError("cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is between 1 and "
                             "n_classes-1")
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for i, (first, last) in enumerate(zip(self.cutoffs, self.cutoffs[1:]), 1):
            features = int(in_features // div_value ** i)
            self.tail.append(Sequential(Linear(in_features, features, False, device, dtype), Linear(features, last - first, False, device, dtype)))

    def reset_parameters(self):
        """Draw new initial weights."""
        self.head.reset_parameters()
        for to_features, to_classes in self.tail:
            to_features.reset_parameters()
            to_classes.reset_parameters()

    def forward(self, input_, target_):
        dims = target_.dim()
        if dims not in (0, 1):
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if dims == 1 and input_.shape[0] != target_.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input_.dim() != dims + 1:
            raise RuntimeError(f"{dims}D target tensor expects {dims + 1}D input tensors, but found inputs with size {input_.shape}")
        if target_.numel() and (target_.min() < 0 or target_.max() >= self.n_classes):
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}], but values in range [{target_.min().item()}, {target_.max().item()}] "
                               "were found. ")
        input, target = (input_, target_) if dims else (input_.unsqueeze(0), target_.unsqueeze(0))
        output = self._log_probs_of(input, target)
        loss = (-output).mean()
        return _ASMoutput(output if dims else output.squeeze(0), loss)

    def _log_probs_of(self, input, target):
        """The log probability of each row's target."""
        head = F.log_softmax(self.head(input), 1)
        in_head = target.clamp(max=self.shortlist_size - 1)
        output = ops.zeros(target.shape, dtype=head.dtype, device=head.device)
        for i, cluster in enumerate(self.tail):
            rows = ((target >= self.cutoffs[i]) & (target < self.cutoffs[i + 1])).nonzero().squeeze(1)
            if rows.numel():
                in_head = in_head.index_fill(0, rows, self.shortlist_size + i)
                within = F.log_softmax(cluster(input.index_select(0, rows)), 1)
                places = (target[rows] - self.cutoffs[i]).unsqueeze(1)
                output = output.index_add(0, rows, within.gather(1, places).squeeze(1))
        return output + head.gather(1, in_head.unsqueeze(1)).squeeze(1)

    def log_prob(self, input):
        """The log probabilities of all classes, (N, n_classes)."""
        head = F.log_softmax(self.head(input), 1)
        parts = [head[:, :self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            parts.append(F.log_softmax(cluster(input), 1) + head[:, self.shortlist_size + i].unsqueeze(1))
        return ops.cat(parts, 1)

    def predict(self, input):
        """The most probable class of each row."""
        return self.log_prob(input).argmax(1)
