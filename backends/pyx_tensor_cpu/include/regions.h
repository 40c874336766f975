/* Parallel regions of one thread, called at once: GCC's runtime makes and drops a team for them, which takes longer than a small
   kernel's work. setup.py includes this everywhere and has the linker send calls of GOMP_parallel here (--wrap). */
#if defined(_OPENMP) && defined(__GNUC__) && !defined(__clang__) && defined(PYX_TENSOR_LONE_REGIONS)
extern int omp_in_parallel(void);
extern void __real_GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);

__attribute__((visibility("hidden"))) void __wrap_GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);
__attribute__((visibility("hidden"))) void __wrap_GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags) {
    if (threads == 1 && !omp_in_parallel())
        body(data);
    else
        __real_GOMP_parallel(body, data, threads, flags);
}
#endif
