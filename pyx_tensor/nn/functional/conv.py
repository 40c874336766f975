"""Convolutions and their windows."""
from ...ops import namespace as ops

conv1d, conv2d, conv3d = ops.conv1d, ops.conv2d, ops.conv3d
conv_transpose1d, conv_transpose2d, conv_transpose3d = ops.conv_transpose1d, ops.conv_transpose2d, ops.conv_transpose3d
conv_tbc = ops.conv_tbc
