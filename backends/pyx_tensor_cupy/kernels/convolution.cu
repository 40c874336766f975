// Lowering: each kernel position's view of an image as columns, and back. Up to three spatial dims, missing ones of size 1.

struct Sliding { int size[3], kernel[3], grid[3], stride[3], padding[3], dilation[3]; };

// images (samples, channels, *size) -> columns (samples, channels, *kernel, *grid)
KERNEL im2col(const T* images, T* columns, i64 planes, const Sliding s) {
    i64 image = (i64)s.size[0] * s.size[1] * s.size[2];
    i64 total = planes * s.kernel[0] * s.kernel[1] * s.kernel[2] * s.grid[0] * s.grid[1] * s.grid[2];
    EACH(i, total) {
        i64 left = i, at = 0, step = 1;
        int position[3];
        bool inside = true;
        for (int d = 2; d >= 0; d--) { position[d] = (int)rest(left, s.grid[d]) * s.stride[d] - s.padding[d]; left = over(left, s.grid[d]); }
        for (int d = 2; d >= 0; d--) {
            int x = position[d] + (int)rest(left, s.kernel[d]) * s.dilation[d];
            left = over(left, s.kernel[d]);
            inside = inside && x >= 0 && x < s.size[d];
            at += x * step;
            step *= s.size[d];
        }
        if (inside) columns[i] = images[left * image + at];
        else narrow(columns + i, (A)0);
    }
}

// The transposed map: each pixel gathers what its columns hold, in a fixed order.
KERNEL col2im(const T* columns, T* images, i64 planes, const Sliding s) {
    i64 image = (i64)s.size[0] * s.size[1] * s.size[2];
    EACH(i, planes * image) {
        i64 left = i;
        int x[3];
        for (int d = 2; d >= 0; d--) { x[d] = (int)rest(left, s.size[d]) + s.padding[d]; left = over(left, s.size[d]); }
        A total = 0;
        int k[3];
        for (k[0] = 0; k[0] < s.kernel[0]; k[0]++)
            for (k[1] = 0; k[1] < s.kernel[1]; k[1]++)
                for (k[2] = 0; k[2] < s.kernel[2]; k[2]++) {
                    i64 tap = left, place = 0;
                    bool inside = true;
                    for (int d = 0; d < 3; d++) {
                        int from = x[d] - k[d] * s.dilation[d];
                        inside = inside && from >= 0 && from % s.stride[d] == 0 && from / s.stride[d] < s.grid[d];
                        tap = tap * s.kernel[d] + k[d];
                        place = place * s.grid[d] + from / s.stride[d];
                    }
                    if (inside) total += widen(columns[tap * s.grid[0] * s.grid[1] * s.grid[2] + place]);
                }
        narrow(images + i, total);
    }
}
