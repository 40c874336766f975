"""One table of OpenBLAS's functions; each row holds the float32, float64, complex64 and complex128 form.

Matrices are column-major, integers are 64 bits. ``gemm``, ``gemv``, ``trsm`` and ``trsv`` are Fortran's (every argument by
address); the LAPACK rows are LAPACKE's, which allocate their own workspace and return ``info``.
"""
cimport numpy as cnp

ctypedef cnp.int64_t i64

ctypedef void (*gemm_t)(const char* transa, const char* transb, const i64* m, const i64* n, const i64* k, const void* alpha,
                        const void* a, const i64* lda, const void* b, const i64* ldb, const void* beta,
                        void* c, const i64* ldc) noexcept nogil
ctypedef void (*gemv_t)(const char* trans, const i64* m, const i64* n, const void* alpha, const void* a, const i64* lda,
                        const void* x, const i64* incx, const void* beta, void* y, const i64* incy) noexcept nogil
ctypedef i64 (*getrf_t)(int layout, i64 m, i64 n, void* a, i64 lda, i64* pivots) noexcept nogil
ctypedef i64 (*getrs_t)(int layout, char trans, i64 n, i64 nrhs, const void* a, i64 lda, const i64* pivots, void* b, i64 ldb) noexcept nogil
ctypedef i64 (*getri_t)(int layout, i64 n, void* a, i64 lda, const i64* pivots) noexcept nogil
ctypedef i64 (*potrf_t)(int layout, char uplo, i64 n, void* a, i64 lda) noexcept nogil
ctypedef i64 (*potrs_t)(int layout, char uplo, i64 n, i64 nrhs, const void* a, i64 lda, void* b, i64 ldb) noexcept nogil
ctypedef i64 (*gesdd_t)(int layout, char jobz, i64 m, i64 n, void* a, i64 lda, void* s, void* u, i64 ldu, void* vt, i64 ldvt) noexcept nogil
ctypedef i64 (*syevd_t)(int layout, char jobz, char uplo, i64 n, void* a, i64 lda, void* w) noexcept nogil
ctypedef i64 (*geev_real_t)(int layout, char jobvl, char jobvr, i64 n, void* a, i64 lda, void* wr, void* wi,
                            void* vl, i64 ldvl, void* vr, i64 ldvr) noexcept nogil
ctypedef i64 (*geev_complex_t)(int layout, char jobvl, char jobvr, i64 n, void* a, i64 lda, void* w,
                               void* vl, i64 ldvl, void* vr, i64 ldvr) noexcept nogil
ctypedef i64 (*geqrf_t)(int layout, i64 m, i64 n, void* a, i64 lda, void* tau) noexcept nogil
ctypedef i64 (*orgqr_t)(int layout, i64 m, i64 n, i64 k, void* a, i64 lda, const void* tau) noexcept nogil
ctypedef i64 (*ormqr_t)(int layout, char side, char trans, i64 m, i64 n, i64 k, const void* a, i64 lda, const void* tau,
                        void* c, i64 ldc) noexcept nogil
ctypedef void (*trsv_t)(const char* uplo, const char* trans, const char* diag, const i64* n, const void* a, const i64* lda, void* x,
                        const i64* incx) noexcept nogil
ctypedef i64 (*sytrf_t)(int layout, char uplo, i64 n, void* a, i64 lda, i64* pivots) noexcept nogil
ctypedef i64 (*sytrs_t)(int layout, char uplo, i64 n, i64 nrhs, const void* a, i64 lda, const i64* pivots, void* b, i64 ldb) noexcept nogil
ctypedef void (*trsm_t)(const char* side, const char* uplo, const char* trans, const char* diag, const i64* m, const i64* n,
                        const void* alpha, const void* a, const i64* lda, void* b, const i64* ldb) noexcept nogil
ctypedef i64 (*gelsd_single_t)(int layout, i64 m, i64 n, i64 nrhs, void* a, i64 lda, void* b, i64 ldb, void* s, float rcond, i64* rank) noexcept nogil
ctypedef i64 (*gelsd_double_t)(int layout, i64 m, i64 n, i64 nrhs, void* a, i64 lda, void* b, i64 ldb, void* s, double rcond, i64* rank) noexcept nogil
ctypedef i64 (*gelsy_single_t)(int layout, i64 m, i64 n, i64 nrhs, void* a, i64 lda, void* b, i64 ldb, i64* jpvt, float rcond, i64* rank) noexcept nogil
ctypedef i64 (*gelsy_double_t)(int layout, i64 m, i64 n, i64 nrhs, void* a, i64 lda, void* b, i64 ldb, i64* jpvt, double rcond, i64* rank) noexcept nogil

cdef enum:
    COLUMN_MAJOR = 102  # LAPACKE's matrix_layout

cdef struct OpenBLAS:
    gemm_t gemm[4]
    gemv_t gemv[4]
    trsm_t trsm[4]
    trsv_t trsv[4]
    getrf_t getrf[4]
    getrs_t getrs[4]
    getri_t getri[4]
    potrf_t potrf[4]
    potrs_t potrs[4]
    potrf_t potri[4]
    gesdd_t gesdd[4]
    syevd_t syevd[4]
    void* geev[4]
    geqrf_t geqrf[4]
    orgqr_t orgqr[4]
    ormqr_t ormqr[4]
    sytrf_t sytrf[4]
    sytrs_t sytrs[4]
    sytrf_t hetrf[4]                # the symmetric form for real matrices
    sytrs_t hetrs[4]
    void* gelsd[4]
    void* gelsy[4]

cdef OpenBLAS blas
cdef bint load() except -1
cdef object absence(str op)
cdef void use_threads(int n) noexcept nogil
