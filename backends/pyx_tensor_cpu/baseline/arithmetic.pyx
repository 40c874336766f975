# The loops of kernels/arithmetic.pxi for this CPU level.
include "../kernels/arithmetic.pxi"
