/* OpenMP's thread count, and the one hazard of its runtime: libgomp hangs in a child forked after a parallel region. */
#ifndef PYX_TENSOR_THREADS_H
#define PYX_TENSOR_THREADS_H

#ifdef _OPENMP
#include <omp.h>
#define HAS_THREADS 1
static int omp_limit(void) { return omp_get_max_threads(); }
static int inside_parallel(void) { return omp_in_parallel(); }
#else
#define HAS_THREADS 0
static int omp_limit(void) { return 1; }
static int inside_parallel(void) { return 0; }
#endif

static int pool_started = 0, forked_with_pool = 0;

#if defined(_OPENMP) && !defined(_WIN32)
#include <pthread.h>
static void in_child(void) { if (pool_started) forked_with_pool = 1; }
static int watch_forks(void) { return pthread_atfork(0, 0, in_child); }
#else
static int watch_forks(void) { return 0; }
#endif
#endif
