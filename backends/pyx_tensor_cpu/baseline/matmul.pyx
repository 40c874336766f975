# Matrix products compiled for this CPU level.
include "../kernels/matmul.pxi"
