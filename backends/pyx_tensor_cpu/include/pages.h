/* Big blocks of memory straight from the operating system: page aligned, on huge pages where it offers them. */
#ifndef PYX_TENSOR_PAGES_H
#define PYX_TENSOR_PAGES_H
#include <stddef.h>

#if defined(_WIN32)
#include <windows.h>

static void *pages_allocate(size_t size) { return VirtualAlloc(NULL, size, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE); }
static void pages_release(void *data, size_t size) { (void)size; VirtualFree(data, 0, MEM_RELEASE); }
static size_t physical_memory(void) {
    MEMORYSTATUSEX status;
    status.dwLength = sizeof(status);
    return GlobalMemoryStatusEx(&status) ? (size_t)status.ullTotalPhys : 0;
}

#else
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((size_t)1 << 21)

/* Aligned to a huge page when it is large enough to hold one: otherwise the kernel cannot use them. */
static void *pages_allocate(size_t size) {
    size_t slack = size >= HUGE_PAGE ? HUGE_PAGE : 0;
    if (size + slack < size) return NULL;
    char *raw = (char *)mmap(NULL, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == (char *)MAP_FAILED) return NULL;
    if (!slack) return raw;
    size_t head = (HUGE_PAGE - (uintptr_t)raw % HUGE_PAGE) % HUGE_PAGE;
    if (head) munmap(raw, head);
    munmap(raw + head + size, slack - head);
#ifdef MADV_HUGEPAGE
    madvise(raw + head, size, MADV_HUGEPAGE);
#endif
    return raw + head;
}
static void pages_release(void *data, size_t size) { munmap(data, size); }
static size_t physical_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && bytes > 0 ? (size_t)pages * (size_t)bytes : 0;
}
#endif
#endif
