"""The thread-local mode word: grad mode and the interceptors of the call path."""

cdef extern from *:
    """
    #if defined(_MSC_VER)
    static __declspec(thread) unsigned int pyx_mode_word = 0;
    #else
    static __thread unsigned int pyx_mode_word = 0;
    #endif
    """
    unsigned int pyx_mode_word


cdef unsigned int get_mode() noexcept nogil:
    return pyx_mode_word


cdef void set_mode(unsigned int word) noexcept nogil:
    global pyx_mode_word
    pyx_mode_word = word


def is_grad_enabled():
    """True where operations record gradients (the default)."""
    return not pyx_mode_word & NO_GRAD


def is_inference_mode_enabled():
    """True inside `inference_mode`."""
    return bool(pyx_mode_word & INFERENCE)


cdef unsigned int change_mode(unsigned int mask, unsigned int bits) noexcept nogil:
    """Set the bits under `mask` to `bits`; return what stood there before."""
    global pyx_mode_word
    cdef unsigned int old = pyx_mode_word
    pyx_mode_word = (old & ~mask) | (bits & mask)
    return old & mask


def swap_bits(unsigned int mask, unsigned int bits):
    """`change_mode` for Python code."""
    return change_mode(mask, bits)


def has_bits(unsigned int mask):
    """True where any of the bits under `mask` is set."""
    return bool(pyx_mode_word & mask)


# The masks by name, for Python code that enters and leaves a mode.
MASKS = dict(no_grad=NO_GRAD, inference=INFERENCE, autocast=AUTOCAST, anomaly=ANOMALY, intercept=INTERCEPT,
             saved_hooks=SAVED_HOOKS, profile=PROFILE, track_derived=TRACK_DERIVED)
