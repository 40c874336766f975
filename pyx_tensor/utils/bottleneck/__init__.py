"""`python -m pyx_tensor.utils.bottleneck script.py [arguments]`: where a program spends its time, by Python's profiler and by ours."""
