"""The functions behind the layers of ``pyx_tensor.nn``: parameters are arguments, nothing is kept."""
from .activation import (  # noqa: F401
    celu, celu_, elu, elu_, gelu, glu, gumbel_softmax, hardshrink, hardsigmoid, hardswish, hardtanh, hardtanh_,
    leaky_relu, leaky_relu_, log_softmax, logsigmoid, mish, prelu, relu, relu6, relu_, rrelu, rrelu_, selu, selu_,
    sigmoid, silu, softmax, softmin, softplus, softshrink, softsign, tanh, tanhshrink, threshold, threshold_)
from .attention import multi_head_attention_forward, scaled_dot_product_attention  # noqa: F401
from .classification import (  # noqa: F401
    cosine_embedding_loss, cross_entropy, multi_margin_loss, multilabel_margin_loss, multilabel_soft_margin_loss,
    nll_loss, triplet_margin_loss, triplet_margin_with_distance_loss)
from .distance import cosine_similarity, pairwise_distance, pdist  # noqa: F401
from .dropout import (  # noqa: F401
    alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout)
from .linear import bilinear, embedding, linear, one_hot  # noqa: F401
from .linear_cross_entropy import linear_cross_entropy  # noqa: F401
from .loss import (  # noqa: F401
    binary_cross_entropy, binary_cross_entropy_with_logits, gaussian_nll_loss, hinge_embedding_loss, huber_loss,
    kl_div, l1_loss, margin_ranking_loss, mse_loss, poisson_nll_loss, smooth_l1_loss, soft_margin_loss)
from .normalization import (  # noqa: F401
    batch_norm, group_norm, instance_norm, layer_norm, local_response_norm, normalize, rms_norm)
