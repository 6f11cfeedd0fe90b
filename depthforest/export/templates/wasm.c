/* A forest for browsers: one module without imports that keeps its buffers in its own memory.
 *
 * df_room(rows, cols) allocates buffers for frames of a size and returns 0 or an error code. df_depth(), df_mask(),
 * df_parts(), df_confidence() and df_joints() return the buffers; df_run(fx, fy, cx, cy, has_mask) labels. */
#include "df.h"
#include "df_joints.h"

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
    unsigned char *t = (unsigned char *)to;
    const unsigned char *f = (const unsigned char *)from;
    while (n--) *t++ = *f++;
    return to;
}

void *memset(void *to, int value, size_t n) {
    unsigned char *t = (unsigned char *)to;
    while (n--) *t++ = (unsigned char)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t n) {
    const unsigned char *p = (const unsigned char *)a, *q = (const unsigned char *)b;
    for (; n; n--, p++, q++)
        if (*p != *q) return *p < *q ? -1 : 1;
    return 0;
}

#define DF_EXPORT(name) __attribute__((export_name(#name)))
#define DF_SAMPLES 16384

extern unsigned char __heap_base;

static int32_t rows, cols;
static size_t at_depth, at_mask, at_parts, at_confidence, at_joints, at_memory, at_scratch, n_scratch;

static size_t take(size_t *end, size_t n_bytes) {
    const size_t begin = *end;
    *end = df_round_up(begin + n_bytes);
    return begin;
}

DF_EXPORT(df_room) int room_for(int32_t n_rows, int32_t n_cols) {
    size_t end = df_round_up((size_t)&__heap_base), n;
    if (!df_scratch_bytes(n_rows, n_cols, 0) || (int64_t)n_rows * n_cols > 4 << 20) return DF_BAD_SIZE;
    n = (size_t)n_rows * (size_t)n_cols;
    at_depth = take(&end, 2 * n);
    at_mask = take(&end, n);
    at_parts = take(&end, n);
    at_confidence = take(&end, 4 * n);
    at_joints = take(&end, DF_JOINTS * 5 * sizeof(double));
    at_memory = take(&end, df_joints_bytes(DF_SAMPLES));
    n_scratch = df_scratch_bytes(n_rows, n_cols, (int32_t)n);
    at_scratch = take(&end, n_scratch);
    if (end > __builtin_wasm_memory_size(0) * 65536) {
        const size_t more = (end - __builtin_wasm_memory_size(0) * 65536 + 65535) / 65536;
        if (__builtin_wasm_memory_grow(0, more) == (size_t)-1) return DF_BAD_SCRATCH;
    }
    rows = n_rows, cols = n_cols;
    return DF_OK;
}

DF_EXPORT(df_depth) size_t where_depth(void) { return at_depth; }
DF_EXPORT(df_mask) size_t where_mask(void) { return at_mask; }
DF_EXPORT(df_parts) size_t where_parts(void) { return at_parts; }
DF_EXPORT(df_confidence) size_t where_confidence(void) { return at_confidence; }
DF_EXPORT(df_joints) size_t where_joints(void) { return at_joints; }

/* Label, and find joints: is_found, x, y, z and confidence of each, as doubles. */
DF_EXPORT(df_run) int run(double fx, double fy, double cx, double cy, int has_mask) {
    const df_camera camera = {rows, cols, fx, fy, cx, cy};
    double *out = (double *)at_joints;
    df_joint joints[DF_JOINTS];
    int code, i;
    if (!rows) return DF_BAD_SIZE;
    code = df_label(&df_tables, &camera, (const uint16_t *)at_depth, has_mask ? (const uint8_t *)at_mask : NULL,
                    (void *)at_scratch, n_scratch, (uint8_t *)at_parts, (float *)at_confidence, NULL);
    memset(joints, 0, sizeof joints);
    if (code == DF_OK)
        df_find_joints(&df_tables, &camera, (const void *)at_scratch, (void *)at_memory, df_joints_bytes(DF_SAMPLES), joints);
    for (i = 0; i < DF_JOINTS; i++, out += 5) {
        out[0] = joints[i].is_found, out[4] = joints[i].confidence;
        memcpy(out + 1, joints[i].position, sizeof joints[i].position);
    }
    return code;
}
