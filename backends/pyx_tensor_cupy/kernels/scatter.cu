// Adding rows (of `inner` elements) of a source to rows of a target at given places.
// `target` is in A, for the half types are added up in float. Places were checked before.

__device__ inline void add_to(float* place, float x) { atomicAdd(place, x); }
__device__ inline void add_to(double* place, double x) { atomicAdd(place, x); }

// source (outer, count, inner), target (outer, size, inner): the order of additions is left to chance.
KERNEL index_add(const T* source, const i64* places, A* target, i64 outer, i64 count, i64 inner, i64 size, A alpha) {
    EACH(i, outer * count * inner) {
        i64 line = over(i, inner), row = rest(line, count), place = places[row];
        if (place >= 0 && place < size) add_to(target + (over(line, count) * size + place) * inner + rest(i, inner), alpha * (A)widen(source[i]));
    }
}

// The same in the source's order: `order` sorts the places stably, a run of equals begins at each of `starts`. No two threads meet.
KERNEL index_add_sorted(const T* source, const i64* places, const i64* order, const i64* starts, A* target, i64 outer, i64 count, i64 inner,
                        i64 size, i64 runs, A alpha) {
    EACH(i, outer * runs * inner) {
        i64 line = over(i, inner), run = rest(line, runs), o = over(line, runs), at = rest(i, inner);
        i64 last = run + 1 < runs ? starts[run + 1] : count, place = places[order[starts[run]]];
        if (place < 0 || place >= size) continue;
        A* to = target + (o * size + place) * inner + at;
        A total = *to;
        for (i64 k = starts[run]; k < last; k++) total += alpha * (A)widen(source[(o * count + order[k]) * inner + at]);
        *to = total;
    }
}
