"""Sums of logarithms for CTC, compiled for this CPU level."""
include "../kernels/ctc.pxi"
