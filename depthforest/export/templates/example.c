/* Label a person in a 16-bit PGM of millimeters: cc -O3 -std=c99 EXAMPLE.c -o label && ./label in.pgm FX FY out.pgm */
#include <stdio.h>
#include <stdlib.h>

#include "df.h"

int main(int argc, char **argv) {
    df_camera camera = {0, 0, argc > 2 ? atof(argv[2]) : 0, argc > 3 ? atof(argv[3]) : 0, 0, 0};
    FILE *file = argc > 4 ? fopen(argv[1], "rb") : NULL;
    int largest = 0, code;
    if (!file || fscanf(file, "P5 %d %d %d", &camera.cols, &camera.rows, &largest) != 3 || largest < 256 ||
        !df_scratch_bytes(camera.rows, camera.cols, 0))
        return fprintf(stderr, "usage: %s IN.pgm FX FY OUT.pgm, 16 bits, no comments\n", argv[0]), 2;
    fgetc(file);
    camera.cx = (camera.cols - 1) / 2.0, camera.cy = (camera.rows - 1) / 2.0; /* or your camera's calibration */
    const size_t n = (size_t)camera.rows * (size_t)camera.cols, room = df_scratch_bytes(camera.rows, camera.cols, (int32_t)n);
    unsigned char *bytes = malloc(2 * n), *parts = malloc(n);
    uint16_t *depth = malloc(2 * n);
    void *scratch = malloc(room);
    if (!bytes || !parts || !depth || !scratch || fread(bytes, 2, n, file) != n)
        return fprintf(stderr, "%s: is cut off, or there is not enough memory\n", argv[1]), 1;
    fclose(file);
    for (size_t i = 0; i < n; i++) depth[i] = (uint16_t)(bytes[2 * i] << 8 | bytes[2 * i + 1]);
#if DF_IS_BLOB
    df_forest forest; /* read here; mmap works, too */
    unsigned char *blob = malloc(1 << 29);
    file = argc > 5 ? fopen(argv[5], "rb") : NULL;
    if (!blob || !file || df_open(blob, fread(blob, 1, 1 << 29, file), &forest) != DF_OK)
        return fprintf(stderr, "name the blob of this header as the fifth argument\n"), 1;
    code = df_label(&forest, &camera, depth, NULL, scratch, room, parts, NULL, NULL);
#else
    code = df_label(&df_tables, &camera, depth, NULL, scratch, room, parts, NULL, NULL);
#endif
    if (code < 0) return fprintf(stderr, "df_label: code %d\n", code), 1;
    file = fopen(argv[4], "wb");
    if (!file || fprintf(file, "P5\n%d %d\n255\n", camera.cols, camera.rows) < 0 || fwrite(parts, 1, n, file) != n)
        return fprintf(stderr, "%s: cannot be written\n", argv[4]), 1;
    return fclose(file) != 0;
}
