"""The functions behind the layers of ``pyx_tensor.nn``: parameters are arguments, nothing is kept."""
from ...core.definitions import functions as _functions
from .activation import (  # noqa: F401
    celu, celu_, elu, elu_, gelu, glu, gumbel_softmax, hardshrink, hardsigmoid, hardswish, hardtanh, hardtanh_,
    leaky_relu, leaky_relu_, log_softmax, logsigmoid, mish, prelu, relu, relu6, relu_, rrelu, rrelu_, selu, selu_,
    sigmoid, silu, softmax, softmin, softplus, softshrink, softsign, tanh, tanhshrink, threshold, threshold_)
from .attention import multi_head_attention_forward, scaled_dot_product_attention  # noqa: F401
from .classification import (  # noqa: F401
    cosine_embedding_loss, cross_entropy, ctc_loss, multi_margin_loss, multilabel_margin_loss, multilabel_soft_margin_loss,
    nll_loss, triplet_margin_loss, triplet_margin_with_distance_loss)
from .conv import (  # noqa: F401
    conv1d, conv2d, conv3d, conv_tbc, conv_transpose1d, conv_transpose2d, conv_transpose3d)
from .distance import cosine_similarity, pairwise_distance, pdist  # noqa: F401
from .dropout import (  # noqa: F401
    alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout)
from .embedding import embedding, embedding_bag, one_hot  # noqa: F401
from .interpolation import interpolate, upsample, upsample_bilinear, upsample_nearest  # noqa: F401
from .linear import bilinear, linear  # noqa: F401
from .linear_cross_entropy import linear_cross_entropy  # noqa: F401
from .loss import (  # noqa: F401
    binary_cross_entropy, binary_cross_entropy_with_logits, gaussian_nll_loss, hinge_embedding_loss, huber_loss,
    kl_div, l1_loss, margin_ranking_loss, mse_loss, poisson_nll_loss, smooth_l1_loss, soft_margin_loss)
from .normalization import (  # noqa: F401
    batch_norm, group_norm, instance_norm, layer_norm, local_response_norm, normalize, rms_norm)
from .padding import pad  # noqa: F401
from .pooling import (  # noqa: F401
    adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d, adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d, adaptive_max_pool2d_with_indices, adaptive_max_pool3d, adaptive_max_pool3d_with_indices, avg_pool1d,
    avg_pool2d, avg_pool3d, fractional_max_pool2d, fractional_max_pool2d_with_indices, fractional_max_pool3d,
    fractional_max_pool3d_with_indices, lp_pool1d, lp_pool2d, lp_pool3d, max_pool1d, max_pool1d_with_indices, max_pool2d,
    max_pool2d_with_indices, max_pool3d, max_pool3d_with_indices, max_unpool1d, max_unpool2d, max_unpool3d)
from .vision import (  # noqa: F401
    affine_grid, channel_shuffle, fold, grid_sample, native_channel_shuffle, pixel_shuffle, pixel_unshuffle, unfold)

for _name, _function in list(globals().items()):       # operations that are no functions of `pyx_tensor` are pickled as those of this module
    if getattr(_function, "__module__", None) == "pyx_tensor" and _functions.get(_function.__name__) is not _function:
        _function.__module__, _function.__qualname__ = __name__, _name
