cdef bint in_order(object x) noexcept
cdef bint dims_in_order(object x) noexcept
