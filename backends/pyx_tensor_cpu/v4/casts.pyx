# The loops of kernels/casts.pxi for this CPU level.
include "../kernels/casts.pxi"
