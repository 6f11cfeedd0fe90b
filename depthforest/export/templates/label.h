/* -- the interface: types and functions that you call ------------------------------------------------------------- */

enum {
    DF_OK = 0,
    DF_NOBODY = 1,        /* the frame (or the mask) holds no reading: every part is DF_NO_PART */
    DF_BAD_ARGUMENT = -1, /* a pointer that must not be NULL is NULL */
    DF_BAD_SIZE = -2,     /* rows or columns are not from 1 to 32767 */
    DF_BAD_CAMERA = -3,   /* a focal length is not above 0 and at most 1000000 pixels, or a number is not finite or absurd */
    DF_BAD_SCRATCH = -4,  /* the scratch memory is too small, or does not begin at a multiple of 8 bytes */
    DF_BAD_TABLES = -5    /* the tables are damaged, or belong to another header */
};

/* A pinhole camera without lens distortion. x is to the right, y down, z forward; pixel centers are whole numbers. */
typedef struct {
    int32_t rows, cols;
    double fx, fy, cx, cy; /* pixels; cx and cy are needed by joints, and by labels where there is a context stage */
} df_camera;

/* The tables of the forest: df_tables, or what df_open finds in a blob. */
typedef struct {
    const unsigned char *nodes, *leaves;
    uint32_t n_nodes, n_leaf_bytes;
#if DF_CONTEXT
    const unsigned char *context_nodes, *context_leaves;
    uint32_t n_context_nodes, n_context_leaf_bytes;
#endif
} df_forest;

/* A labeled person, which df_label leaves at the beginning of the scratch memory. */
typedef struct {
    const uint16_t *crop;     /* depth of the person alone, in a border of background */
    const uint16_t *places;   /* row and column in the crop of each pixel, row by row */
    const uint32_t *found;    /* the leaf of each pixel in each walk and tree */
    int32_t n, crop_rows, crop_cols;
    int32_t row, col;         /* where in the frame the crop begins; -1 where the person touches the edge */
    int32_t whole;            /* the total of one pixel's sums; 0: it varies, add them up */
    int32_t weights[DF_FACINGS];
#if DF_CONTEXT
    const int32_t *near;      /* for each pixel, the grid pixel whose second-stage shares it uses; below 0: none */
    const uint16_t *seconds;  /* the context stage's shares at the grid pixels */
#endif
} df_person;

/* -- compile-time checks ------------------------------------------------------------------------------------------- */

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the tables are little-endian"
#endif
#if defined(__FAST_MATH__)
#error "labels are exact only without -ffast-math"
#endif
/* 16: as 0, and half precision in half precision */
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "labels are exact only where float expressions are computed in single precision (x86: -msse2 -mfpmath=sse)"
#endif

#ifndef DF_LANES
#define DF_LANES 512 /* pixels that walk together: 40 kB of scratch memory; use fewer for small caches */
#endif

typedef struct {
    df_offset_t offsets[4]; /* u_x, u_y, v_x, v_y in units of DF_UNIT meters */
    int16_t threshold;      /* millimeters; in a leaf, the upper half of its record's position */
    uint16_t low;           /* in a leaf, the lower half */
    uint32_t child;         /* the left child, the right one follows; a leaf leads to itself */
} df_node;

#if DF_CONTEXT
typedef struct {
    int16_t offsets[4];  /* u_x, u_y, v_x, v_y in units of DF_CONTEXT_UNIT meters; in a leaf, its record's position */
    int16_t threshold;   /* in the units of the channels */
    uint8_t channels[2]; /* what u and v read */
    uint32_t child;      /* as above */
} df_context_node;
#endif

typedef struct {
    float offsets[4][DF_LANES];
    float scale_x[DF_LANES], scale_y[DF_LANES];
    float left[DF_LANES], right[DF_LANES], top[DF_LANES], bottom[DF_LANES];
    int32_t own[DF_LANES], thresholds[DF_LANES], probes[2][DF_LANES];
    uint32_t children[DF_LANES], rows[DF_LANES];
#if DF_CONTEXT
    int32_t channels[2][DF_LANES];
#endif
} df_lanes;

#define DF_CHECK(name, condition) typedef char df_check_##name[(condition) ? 1 : -1]
DF_CHECK(float_size, sizeof(float) == 4 && sizeof(double) == 8);
DF_CHECK(node_size, sizeof(df_node) == DF_NODE_BYTES);
DF_CHECK(node_child, offsetof(df_node, child) == DF_NODE_BYTES - 4);
DF_CHECK(lanes, DF_LANES >= 1 && DF_LANES <= 65536);
DF_CHECK(sums, DF_COLUMNS >= DF_PARTS && DF_COLUMNS % 8 == 0 && DF_PARTS <= 255);
DF_CHECK(person, sizeof(df_person) <= DF_PERSON_BYTES);
#if DF_CONTEXT
DF_CHECK(context_node_size, sizeof(df_context_node) == 16);
DF_CHECK(context_node_child, offsetof(df_context_node, child) == 12);
DF_CHECK(channels, DF_CHANNELS == 16 + DF_GROUPS && DF_CHANNELS <= 80);
#endif

#if defined(__GNUC__)
#define DF_PREFETCH(address) __builtin_prefetch(address)
#else
#define DF_PREFETCH(address) ((void)0)
#endif

#define DF_AT(piece) ((void *)(memory + at.piece)) /* of the scratch memory */
#define DF_BELOW_HALF 0.49999997f /* the float just below a half: x + DF_BELOW_HALF, truncated, rounds half up */

/* -- tables -------------------------------------------------------------------------------------------------------- */

static inline df_node df_node_at(const df_forest *forest, uint32_t row) {
    df_node node;
    memcpy(&node, forest->nodes + (size_t)row * DF_NODE_BYTES, sizeof node);
    return node;
}

static inline uint32_t df_word(const unsigned char *bytes) {
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* Is there a complete record of a leaf: its bytes of evidence, a length for each facing, and rows that sum to 255? */
static inline int df_is_record(const unsigned char *leaves, uint32_t n_bytes, uint32_t begin, uint32_t n_evidence,
                               int n_facings) {
    uint64_t at = (uint64_t)begin + n_evidence + (uint64_t)n_facings;
    const unsigned char *lengths = leaves + begin + n_evidence;
    int facing, k;
    if (at > n_bytes) return 0;
    for (facing = 0; facing < n_facings; facing++) {
        int total = 0;
        if (at + 2u * lengths[facing] > n_bytes) return 0;
        for (k = 0; k < lengths[facing]; k++, at += 2) {
            if (leaves[at] >= DF_PARTS) return 0;
            total += leaves[at + 1];
        }
        if (total != 255) return 0;
    }
    return 1;
}

static inline int df_are_nodes(const df_forest *forest) {
    uint32_t row;
    int k;
    if (forest->n_nodes < 2 * DF_TREES) return 0;
    for (row = 0; row < forest->n_nodes; row++) {
        const df_node node = df_node_at(forest, row);
        if (node.child == row) {
            const uint32_t begin = (uint32_t)node.threshold << 16 | node.low;
            for (k = 0; k < 4; k++)
                if (node.offsets[k] != 0) return 0;
            if (node.threshold < 0) return 0;
            if (!df_is_record(forest->leaves, forest->n_leaf_bytes, begin, DF_EVIDENCE_BYTES, DF_FACINGS)) return 0;
        } else { /* children come after their parent, so every walk ends */
            if (node.child <= row || node.child >= forest->n_nodes - 1) return 0;
            for (k = 0; k < 4; k++) /* NaN fails as well */
                if (!(node.offsets[k] * DF_UNIT >= -10.0f && node.offsets[k] * DF_UNIT <= 10.0f)) return 0;
        }
    }
    return 1;
}

#if DF_CONTEXT
static inline df_context_node df_context_node_at(const df_forest *forest, uint32_t row) {
    df_context_node node;
    memcpy(&node, forest->context_nodes + (size_t)row * sizeof node, sizeof node);
    return node;
}

/* Where the record of a leaf of the context stage begins. */
static inline uint32_t df_context_leaf(const df_context_node *leaf) {
    return (uint32_t)(uint16_t)leaf->offsets[0] << 16 | (uint16_t)leaf->offsets[1];
}

static inline int df_are_context_nodes(const df_forest *forest) {
    uint32_t row;
    if (forest->n_context_nodes < 2 * DF_CONTEXT_TREES) return 0;
    for (row = 0; row < forest->n_context_nodes; row++) {
        const df_context_node node = df_context_node_at(forest, row);
        if (node.channels[0] >= DF_CHANNELS || node.channels[1] >= DF_CHANNELS) return 0;
        if (node.child == row) { /* both probes read the same, so walks stay here */
            if (node.offsets[0] != node.offsets[2] || node.offsets[1] != node.offsets[3]) return 0;
            if (node.channels[0] != node.channels[1] || node.threshold < 0) return 0;
            if (!df_is_record(forest->context_leaves, forest->n_context_leaf_bytes, df_context_leaf(&node), 0, 1)) return 0;
        } else if (node.child <= row || node.child >= forest->n_context_nodes - 1) {
            return 0;
        }
    }
    return 1;
}
#endif

/* Open the tables of a blob, which may be mapped into memory and must stay there, and check all of it: DF_OK or
 * DF_BAD_TABLES. A blob that passes cannot make df_label read outside of it. */
static inline int df_open(const void *blob, size_t n_bytes, df_forest *forest) {
    const unsigned char *bytes = (const unsigned char *)blob;
    df_forest found;
    uint64_t end;
    if (!blob || !forest) return DF_BAD_ARGUMENT;
    if (n_bytes < DF_BLOB_HEADER || memcmp(bytes, DF_BLOB_MAGIC, 16) != 0) return DF_BAD_TABLES;
    found.n_nodes = df_word(bytes + 16);
    found.n_leaf_bytes = df_word(bytes + 20);
    found.nodes = bytes + DF_BLOB_HEADER;
    end = DF_BLOB_HEADER + (uint64_t)found.n_nodes * DF_NODE_BYTES + found.n_leaf_bytes;
    if (end > n_bytes) return DF_BAD_TABLES;
    found.leaves = found.nodes + (size_t)found.n_nodes * DF_NODE_BYTES;
#if DF_CONTEXT
    found.n_context_nodes = df_word(bytes + 24);
    found.n_context_leaf_bytes = df_word(bytes + 28);
    found.context_nodes = bytes + (size_t)end;
    end += (uint64_t)found.n_context_nodes * sizeof(df_context_node) + found.n_context_leaf_bytes;
    if (end != n_bytes) return DF_BAD_TABLES;
    found.context_leaves = found.context_nodes + (size_t)found.n_context_nodes * sizeof(df_context_node);
    if (!df_are_context_nodes(&found)) return DF_BAD_TABLES;
#endif
    if (end != n_bytes || !df_are_nodes(&found)) return DF_BAD_TABLES;
    *forest = found;
    return DF_OK;
}

/* -- scratch memory ------------------------------------------------------------------------------------------------ */

static inline uint64_t df_round_up(uint64_t n_bytes) { return (n_bytes + 63) & ~(uint64_t)63; }

/* The widest grid step, a power of two, that keeps at least this many of a person's pixels. */
static inline int32_t df_grid_step(int32_t n, int32_t n_least) {
    int64_t step = 1;
    while ((int64_t)n >= n_least * (2 * step) * (2 * step)) step *= 2;
    return (int32_t)step;
}

/* Columns from the middle of the frame. An even number of columns has two middle ones. */
static inline int32_t df_away(const df_camera *camera, int32_t col) {
    return col <= (camera->cols - 1) / 2 ? (camera->cols - 1) / 2 - col : col - camera->cols / 2;
}

/* A coarse grid of the person's pixels, symmetric about the middle of the frame; lines are counted from the top and
 * from the middle. */
typedef struct {
    int32_t step, n;    /* pixels of the person on the grid */
    int32_t top, first; /* the grid lines of the thumbnail's first row and column, its border */
    int32_t rows, cols; /* size of the thumbnail */
} df_grid;

typedef struct {
    uint64_t crop, numbers, places, found, lanes, sums, between, end;
#if DF_CONTEXT
    uint64_t near, seconds, chosen, spots, map, records, points, context_found;
#endif
} df_layout;

static inline df_layout df_lay_out(int32_t crop_rows, int32_t crop_cols, int32_t n_pixels, const df_grid *grid) {
    const uint64_t area = (uint64_t)crop_rows * (uint64_t)crop_cols, n = (uint64_t)n_pixels;
    const uint64_t n_sums = (n + 1) * DF_COLUMNS * sizeof(int32_t);
    df_layout at;
    at.crop = DF_PERSON_BYTES;
    at.numbers = at.crop + df_round_up(area * sizeof(uint16_t));
    at.places = at.numbers + (DF_SMOOTHS ? df_round_up(area * sizeof(int32_t)) : 0);
    at.found = at.places + df_round_up(n * 2 * sizeof(uint16_t));
    at.lanes = at.found + df_round_up(n * DF_WALKS * DF_TREES * sizeof(uint32_t));
    at.sums = at.lanes + df_round_up(sizeof(df_lanes));
    at.between = at.sums + (DF_SMOOTHS ? df_round_up(n_sums) : 0);
    at.end = at.between + (DF_SMOOTHS ? df_round_up(n_sums) : 0);
#if DF_CONTEXT
    {
        const uint64_t n_grid = (uint64_t)grid->n, n_spots = (uint64_t)grid->rows * (uint64_t)grid->cols;
        at.near = at.end;
        at.seconds = at.near + df_round_up(n * sizeof(int32_t));
        at.chosen = at.seconds + df_round_up(n_grid * DF_PARTS * sizeof(uint16_t));
        at.spots = at.chosen + df_round_up(n_grid * sizeof(int32_t));
        at.map = at.spots + df_round_up(n_grid * 2 * sizeof(uint16_t));
        at.records = at.map + df_round_up(n_spots * sizeof(int32_t));
        at.points = at.records + df_round_up((n_grid + 1) * DF_CHANNELS * sizeof(uint16_t));
        at.context_found = at.points + df_round_up(n_grid * 3 * sizeof(int64_t));
        at.end = at.context_found + df_round_up(n_grid * DF_WALKS * DF_CONTEXT_TREES * sizeof(uint32_t));
    }
#else
    (void)grid;
#endif
    return at;
}

/* The largest grid of a person with at most this many pixels in a frame of this size. */
static inline df_grid df_largest_grid(int32_t rows, int32_t cols, int32_t max_pixels) {
    df_grid grid = {1, 0, 0, 0, 0, 0};
#if DF_CONTEXT
    int64_t step;
    for (step = 1; step == 1 || DF_COARSE_PIXELS * step * step <= max_pixels; step *= 2) {
        const int64_t n_crossings = ((rows - 1) / step + 1) * 2 * ((cols - 1) / 2 / step + 1);
        int64_t most = 4 * DF_COARSE_PIXELS * step * step - 1;
        most = most < n_crossings ? most : n_crossings;
        most = most < max_pixels ? most : max_pixels;
        grid.n = grid.n > most ? grid.n : (int32_t)most;
    }
    grid.rows = rows + 2;
    grid.cols = cols + 2;
#else
    (void)rows, (void)cols, (void)max_pixels;
#endif
    return grid;
}

/* Bytes of scratch memory for frames of a size in which a person has at most this many pixels; 0 for impossible sizes.
 * rows * cols pixels are always enough. */
static inline size_t df_scratch_bytes(int32_t rows, int32_t cols, int32_t max_pixels) {
    df_grid grid;
    uint64_t n_bytes;
    if (rows < 1 || cols < 1 || rows > 32767 || cols > 32767 || max_pixels < 0) return 0;
    grid = df_largest_grid(rows, cols, max_pixels);
    n_bytes = df_lay_out(rows + 2, cols + 2, max_pixels, &grid).end;
    return n_bytes <= SIZE_MAX ? (size_t)n_bytes : 0;
}

/* -- the walk ------------------------------------------------------------------------------------------------------ */

/* How far a probe lies along an axis, in whole pixels, rounded half away from zero. The limits between product and sum
 * keep compilers from fusing them. */
static inline int32_t df_offset(float units, float scale, float lowest, float highest) {
    float pixels = units * scale;
    pixels = pixels < lowest ? lowest : pixels;
    pixels = pixels > highest ? highest : pixels;
    return (int32_t)(pixels + (pixels < 0.0f ? -DF_BELOW_HALF : DF_BELOW_HALF));
}

/* Pixels per meter at a depth. */
static inline float df_scale(double focal, uint16_t depth_mm) {
    const float focal_mm = (float)focal * 1000.0f;
    return focal_mm / (float)depth_mm;
}

static inline void df_find_probes(df_lanes *lanes, int k, int32_t n_cols, int32_t n) {
    const float *xs = lanes->offsets[2 * k], *ys = lanes->offsets[2 * k + 1];
    int32_t *probes = lanes->probes[k];
    int32_t i;
    for (i = 0; i < n; i++) {
        const int32_t down = df_offset(ys[i], lanes->scale_y[i], lanes->top[i], lanes->bottom[i]);
        const int32_t across = df_offset(xs[i], lanes->scale_x[i], lanes->left[i], lanes->right[i]);
        probes[i] = lanes->own[i] + down * n_cols + across;
    }
}

/* Walk the lanes through the tree with a root row; fills lanes->rows with the leaves that they reach. */
static inline void df_walk(const df_forest *forest, const df_person *person, uint32_t root, int32_t n, df_lanes *lanes) {
    uint32_t moved = 1;
    int32_t i;
    for (i = 0; i < n; i++) lanes->rows[i] = root;
    while (moved) {
        for (i = 0; i < n; i++) {
            const df_node node = df_node_at(forest, lanes->rows[i]);
            lanes->offsets[0][i] = (float)node.offsets[0];
            lanes->offsets[1][i] = (float)node.offsets[1];
            lanes->offsets[2][i] = (float)node.offsets[2];
            lanes->offsets[3][i] = (float)node.offsets[3];
            lanes->thresholds[i] = node.threshold;
            lanes->children[i] = node.child;
        }
        df_find_probes(lanes, 0, person->crop_cols, n);
        df_find_probes(lanes, 1, person->crop_cols, n);
        moved = 0;
        for (i = 0; i < n; i++) {
            const int32_t response = (int32_t)person->crop[lanes->probes[0][i]] - (int32_t)person->crop[lanes->probes[1][i]];
            const uint32_t child = lanes->children[i] + (uint32_t)(response > lanes->thresholds[i]);
            moved |= child ^ lanes->rows[i];
            lanes->rows[i] = child;
            DF_PREFETCH(forest->nodes + (size_t)child * DF_NODE_BYTES);
        }
    }
}

/* Find the leaves of all pixels in all trees; the second walk is through the mirrored picture. */
static inline void df_find_leaves(const df_forest *forest, const df_camera *camera, const df_person *person,
                                  df_lanes *lanes, uint32_t *found) {
    int32_t first, i;
    int walk, tree;
    for (first = 0; first < person->n; first += DF_LANES) {
        const int32_t n = person->n - first < DF_LANES ? person->n - first : DF_LANES;
        for (walk = 0; walk < DF_WALKS; walk++) {
            for (i = 0; i < n; i++) {
                const int32_t row = person->places[2 * (first + i)], col = person->places[2 * (first + i) + 1];
                const uint16_t depth = person->crop[row * person->crop_cols + col];
                const float scale_x = df_scale(camera->fx, depth) * DF_UNIT; /* a power of two: exact */
                lanes->scale_x[i] = walk ? -scale_x : scale_x;
                lanes->scale_y[i] = df_scale(camera->fy, depth) * DF_UNIT;
                lanes->left[i] = (float)-col;
                lanes->right[i] = (float)(person->crop_cols - 1 - col);
                lanes->top[i] = (float)-row;
                lanes->bottom[i] = (float)(person->crop_rows - 1 - row);
                lanes->own[i] = row * person->crop_cols + col;
            }
            for (tree = 0; tree < DF_TREES; tree++) {
                df_walk(forest, person, 2 * (uint32_t)tree, n, lanes);
                for (i = 0; i < n; i++) {
                    const df_node leaf = df_node_at(forest, lanes->rows[i]);
                    found[((size_t)(first + i) * DF_WALKS + (size_t)walk) * DF_TREES + (size_t)tree] =
                        (uint32_t)leaf.threshold << 16 | leaf.low;
                }
            }
        }
    }
}

/* -- facings ------------------------------------------------------------------------------------------------------- */

/* The sum of some numbers, rounded once, so that their order does not matter: the rounding error of each addition is
 * kept as a term, until nothing changes. The terms are overwritten. */
static inline double df_exact_sum(double *terms, int n) {
    int i, pass, is_moving = 1;
    for (pass = 0; is_moving && pass < 4 * n; pass++) {
        is_moving = 0;
        for (i = 1; i < n; i++) {
            const double a = terms[i], b = terms[i - 1], sum = a + b, of_b = sum - a;
            const double lost = (a - (sum - of_b)) + (b - of_b);
            is_moving |= sum != a || lost != b;
            terms[i] = sum;
            terms[i - 1] = lost;
        }
    }
    if (n > 2 && ((terms[n - 2] > 0.0 && terms[n - 3] > 0.0) || (terms[n - 2] < 0.0 && terms[n - 3] < 0.0))) {
        /* ties were rounded to even; was it above a tie? */
        const double twice = 2.0 * terms[n - 2], beyond = terms[n - 1] + twice;
        if (beyond - terms[n - 1] == twice) return beyond;
    }
    return terms[n - 1];
}

#if DF_FACINGS > 1
/* exp(x) for x <= 0, to about one unit in the last place: 2^k exp(r) with a series for |r| <= ln(2) / 2. */
static inline double df_exp(double x) {
    double power = 1.0, sum = 1.0, rest;
    int64_t k, bits;
    int i;
    if (x < -700.0) return 0.0;
    k = (int64_t)(x * 1.4426950408889634 - 0.5);
    rest = (x - (double)k * 0.693147180369123816490) - (double)k * 1.90821492927058770002e-10;
    for (i = 18; i >= 1; i--) sum = 1.0 + rest / i * sum;
    bits = (k + 1023) << 52;
    memcpy(&power, &bits, sizeof power);
    return sum * power;
}

/* Weigh the person's facings by the evidence of all leaves. */
static inline void df_weigh_facings(const df_forest *forest, const df_person *person, int32_t *weights) {
    const size_t n_found = (size_t)person->n * DF_WALKS * DF_TREES;
    int64_t said[DF_FACINGS] = {0}, largest;
    double shares[DF_FACINGS], terms[DF_FACINGS], whole;
    int32_t heaviest = 0;
    size_t i;
    int facing;
    for (i = 0; i < n_found; i++) {
        const signed char *evidence = (const signed char *)(forest->leaves + person->found[i]);
        if (i + 8 < n_found) DF_PREFETCH(forest->leaves + person->found[i + 8]);
        if (DF_WALKS == 2 && i / DF_TREES % 2 == 1)
            for (facing = 0; facing < DF_FACINGS; facing++) said[(DF_FACINGS - facing) % DF_FACINGS] += evidence[facing];
        else
            for (facing = 0; facing < DF_FACINGS; facing++) said[facing] += evidence[facing];
    }
    largest = said[0];
    for (facing = 1; facing < DF_FACINGS; facing++) largest = said[facing] > largest ? said[facing] : largest;
    for (facing = 0; facing < DF_FACINGS; facing++)
        terms[facing] = shares[facing] = df_exp((double)(said[facing] - largest) * 0.5 / (double)n_found);
    whole = df_exact_sum(terms, DF_FACINGS);
    for (facing = 0; facing < DF_FACINGS; facing++) {
        weights[facing] = (int32_t)(255.0 * shares[facing] / whole + 0.5);
        heaviest = weights[facing] > heaviest ? weights[facing] : heaviest;
    }
    for (facing = 0; facing < DF_FACINGS; facing++)
        if (weights[facing] < 8 && weights[facing] < heaviest) weights[facing] = 0;
}
#endif

/* -- sums ---------------------------------------------------------------------------------------------------------- */

/* Add up the rows of the leaves that a pixel reached, weighted by facing. */
static inline void df_mix(const df_forest *forest, const df_person *person, int32_t pixel, int32_t *sums) {
    const uint32_t *found = person->found + (size_t)pixel * DF_WALKS * DF_TREES;
    int walk, tree, facing, k;
    for (k = 0; k < DF_COLUMNS; k++) sums[k] = 0;
    for (walk = 0; walk < DF_WALKS; walk++) {
        const uint8_t *names = df_names[walk];
        for (tree = 0; tree < DF_TREES; tree++) {
            const unsigned char *lengths = forest->leaves + found[walk * DF_TREES + tree] + DF_EVIDENCE_BYTES;
            const unsigned char *entry = lengths + DF_FACINGS;
            for (facing = 0; facing < DF_FACINGS; facing++) {
                const int32_t weight = person->weights[walk ? (DF_FACINGS - facing) % DF_FACINGS : facing];
                if (weight)
                    for (k = 0; k < lengths[facing]; k++) sums[names[entry[2 * k]]] += weight * entry[2 * k + 1];
                entry += 2 * lengths[facing];
            }
        }
    }
}

#if DF_SMOOTHS
/* The sums of a neighbor on the same surface; zeros where there is none. */
static inline const int32_t *df_neighbor(const df_person *person, const int32_t *numbers, const int32_t *sums,
                                         int32_t row, int32_t col, int32_t down, int32_t across) {
    const int32_t *nobody = sums + (size_t)person->n * DF_COLUMNS;
    const int32_t r = row + down, c = col + across;
    int32_t at, apart;
    if (r < 0 || c < 0 || r >= person->crop_rows || c >= person->crop_cols || (down == 0 && across == 0)) return nobody;
    at = r * person->crop_cols + c;
    apart = (int32_t)person->crop[at] - (int32_t)person->crop[row * person->crop_cols + col];
    if (numbers[at] < 0 || apart < -60 || apart > 60) return nobody;
    return sums + (size_t)numbers[at] * DF_COLUMNS;
}

/* Add the sums of neighbors up to DF_SMOOTH_M away to those of a pixel, in one direction. */
static inline void df_smooth(const df_camera *camera, const df_person *person, const int32_t *numbers, int is_down,
                             const int32_t *sums, int32_t pixel, int32_t *to) {
    const int32_t row = person->places[2 * pixel], col = person->places[2 * pixel + 1];
    const float scale = df_scale(is_down ? camera->fy : camera->fx, person->crop[row * person->crop_cols + col]);
    const volatile double reach = DF_SMOOTH_M / 2.0 * (double)scale; /* volatile: the sums below are not fused */
    const int32_t near = (int32_t)(reach + 0.5), twice = (int32_t)(2.0 * reach + 0.5);
    const int32_t far = twice == near ? 0 : twice; /* counted once */
    const int32_t *own = sums + (size_t)pixel * DF_COLUMNS;
    const int32_t *a = df_neighbor(person, numbers, sums, row, col, is_down ? -near : 0, is_down ? 0 : -near);
    const int32_t *b = df_neighbor(person, numbers, sums, row, col, is_down ? near : 0, is_down ? 0 : near);
    const int32_t *c = df_neighbor(person, numbers, sums, row, col, is_down ? -far : 0, is_down ? 0 : -far);
    const int32_t *d = df_neighbor(person, numbers, sums, row, col, is_down ? far : 0, is_down ? 0 : far);
    int k;
    for (k = 0; k < DF_COLUMNS; k++) to[k] = own[k] + a[k] + b[k] + c[k] + d[k];
}
#endif

/* context.h */
#if DF_CALIBRATED
/* The calibrated value of a share, by its ratio to the pixel's largest one. */
static inline float df_power(int32_t sum, float largest) {
    return sum > 0 ? df_powers[(int32_t)((float)sum / largest * (float)DF_CALIBRATED)] : 0.0f;
}
#endif

/* Decide the part of a pixel: that of the largest sum, the lowest among equals. */
static inline void df_decide(const int32_t *sums, int32_t whole, size_t at, uint8_t *parts, float *confidence,
                             float *probabilities) {
    int k, winner = 0;
    for (k = 1; k < DF_PARTS; k++)
        if (sums[k] > sums[winner]) winner = k;
    parts[at] = (uint8_t)winner;
#if DF_CALIBRATED
    {
        const float largest = (float)sums[winner];
        float powers = 0.0f;
        (void)whole;
        for (k = 0; k < DF_PARTS; k++) powers += df_power(sums[k], largest);
        if (confidence) confidence[at] = 1.0f / powers;
        if (probabilities)
            for (k = 0; k < DF_PARTS; k++)
                probabilities[at * DF_PARTS + (size_t)k] = df_power(sums[k], largest) / powers;
    }
#else
    if (!whole)
        for (k = 0; k < DF_PARTS; k++) whole += sums[k];
    if (confidence) confidence[at] = (float)sums[winner] / (float)whole;
    if (probabilities)
        for (k = 0; k < DF_PARTS; k++) probabilities[at * DF_PARTS + (size_t)k] = (float)sums[k] / (float)whole;
#endif
}

/* -- the person in the frame --------------------------------------------------------------------------------------- */

/* Find the box around the person's readings and count them. */
static inline int32_t df_find_box(const df_camera *camera, const uint16_t *depth_mm, const uint8_t *mask, int32_t *box) {
    int32_t row, col, n = 0;
    box[0] = camera->rows, box[1] = -1, box[2] = camera->cols, box[3] = -1;
    for (row = 0; row < camera->rows; row++) {
        const size_t begin = (size_t)row * (size_t)camera->cols;
        for (col = 0; col < camera->cols; col++) {
            if (!depth_mm[begin + (size_t)col] || (mask && !mask[begin + (size_t)col])) continue;
            n++;
            if (row < box[0]) box[0] = row;
            box[1] = row;
            if (col < box[2]) box[2] = col;
            if (col > box[3]) box[3] = col;
        }
    }
    return n;
}

/* Fill the crop, the places of the person's pixels, and the pixel at each place. */
static inline void df_cut_out(const df_camera *camera, const uint16_t *depth_mm, const uint8_t *mask,
                              const df_person *person, uint16_t *crop, uint16_t *places, int32_t *numbers) {
    int32_t row, col, i = 0;
    for (row = 0; row < person->crop_rows; row++) {
        for (col = 0; col < person->crop_cols; col++) {
            const int32_t at = row * person->crop_cols + col;
            const int is_border =
                row == 0 || col == 0 || row == person->crop_rows - 1 || col == person->crop_cols - 1;
            const size_t from = is_border ? 0 : (size_t)(row + person->row) * (size_t)camera->cols + (size_t)(col + person->col);
            const int is_person = !is_border && depth_mm[from] && (!mask || mask[from]);
            crop[at] = is_person ? depth_mm[from] : DF_BACKGROUND_MM;
            if (DF_SMOOTHS) numbers[at] = is_person ? i : -1;
            if (!is_person) continue;
            places[2 * i] = (uint16_t)row;
            places[2 * i + 1] = (uint16_t)col;
            i++;
        }
    }
}

/* Is x finite and within the range of these calculations? */
static inline int df_is_usable(double x) { return x >= -1e9 && x <= 1e9; }

static inline int df_check_frame(const df_camera *camera) {
    if (camera->rows < 1 || camera->cols < 1 || camera->rows > 32767 || camera->cols > 32767) return DF_BAD_SIZE;
    if (!(camera->fx > 0.0 && camera->fx <= 1e6 && camera->fy > 0.0 && camera->fy <= 1e6)) return DF_BAD_CAMERA;
    if (!df_is_usable(camera->cx) || !df_is_usable(camera->cy)) return DF_BAD_CAMERA;
#if DF_CONTEXT
    if (!df_is_near(camera->fx, camera->cx, camera->cols) || !df_is_near(camera->fy, camera->cy, camera->rows))
        return DF_BAD_CAMERA;
#endif
    return DF_OK;
}

/* Label the pixels of one person.
 *
 * depth_mm       rows * cols, millimeters, row by row; 0 is no reading
 * mask           rows * cols, not 0 where the person is; NULL: all pixels with a reading
 * scratch        memory of scratch_bytes (see df_scratch_bytes), aligned to 8 bytes, as malloc does
 * parts          rows * cols, filled: 0 to DF_PARTS - 1, DF_NO_PART off the person
 * confidence     rows * cols, filled: probability of the part, 0 to 1; or NULL
 * probabilities  rows * cols * DF_PARTS, filled; or NULL
 *
 * Returns DF_OK, DF_NOBODY, or an error code; after an error, nothing was written. */
static inline int df_label(const df_forest *forest, const df_camera *camera, const uint16_t *depth_mm,
                           const uint8_t *mask, void *scratch, size_t scratch_bytes, uint8_t *parts, float *confidence,
                           float *probabilities) {
    unsigned char *memory = (unsigned char *)scratch;
    df_person *person = (df_person *)scratch;
    int32_t box[4], n, i;
    df_grid grid = {1, 0, 0, 0, 0, 0};
    df_layout at;
    size_t area;
    int code;
    if (!forest || !forest->nodes || !forest->leaves || !camera || !depth_mm || !scratch || !parts)
        return DF_BAD_ARGUMENT;
#if DF_CONTEXT
    if (!forest->context_nodes || !forest->context_leaves) return DF_BAD_ARGUMENT;
#endif
    code = df_check_frame(camera);
    if (code != DF_OK) return code;
    if ((uintptr_t)scratch % 8 || scratch_bytes < DF_PERSON_BYTES) return DF_BAD_SCRATCH;
    n = df_find_box(camera, depth_mm, mask, box);
#if DF_CONTEXT
    if (n) grid = df_measure_grid(camera, depth_mm, mask, box, n);
#endif
    person->crop_rows = n ? box[1] - box[0] + 3 : 0;
    person->crop_cols = n ? box[3] - box[2] + 3 : 0;
    at = df_lay_out(person->crop_rows, person->crop_cols, n, &grid);
    if (n && at.end > scratch_bytes) return DF_BAD_SCRATCH;
    person->n = n;
    person->row = box[0] - 1;
    person->col = box[2] - 1;
    area = (size_t)camera->rows * (size_t)camera->cols;
    memset(parts, DF_NO_PART, area);
    if (confidence) memset(confidence, 0, area * sizeof(float));
    if (probabilities) memset(probabilities, 0, area * DF_PARTS * sizeof(float));
    if (!n) return DF_NOBODY;
    person->crop = (const uint16_t *)DF_AT(crop);
    person->places = (const uint16_t *)DF_AT(places);
    person->found = (const uint32_t *)DF_AT(found);
    df_cut_out(camera, depth_mm, mask, person, (uint16_t *)DF_AT(crop), (uint16_t *)DF_AT(places),
               (int32_t *)DF_AT(numbers));
    df_find_leaves(forest, camera, person, (df_lanes *)DF_AT(lanes), (uint32_t *)DF_AT(found));
    person->weights[0] = 1;
#if DF_FACINGS > 1
    df_weigh_facings(forest, person, person->weights);
#endif
    person->whole = 0;
#if !DF_CONTEXT
    for (i = 0; i < DF_FACINGS; i++) person->whole += 255 * DF_TREES * DF_WALKS * person->weights[i];
#endif
#if DF_SMOOTHS
    {
        int32_t *sums = (int32_t *)DF_AT(sums), *between = (int32_t *)DF_AT(between);
        const int32_t *numbers = (const int32_t *)DF_AT(numbers);
        for (i = 0; i < n; i++) df_mix(forest, person, i, sums + (size_t)i * DF_COLUMNS);
        memset(sums + (size_t)n * DF_COLUMNS, 0, DF_COLUMNS * sizeof(int32_t));
        memset(between + (size_t)n * DF_COLUMNS, 0, DF_COLUMNS * sizeof(int32_t));
#if DF_CONTEXT
        for (i = 0; i < n; i++) df_smooth(camera, person, numbers, 0, sums, i, between + (size_t)i * DF_COLUMNS);
        df_look_around(forest, camera, memory, &at, &grid);
        for (i = 0; i < n; i++) df_combine(person, i, sums + (size_t)i * DF_COLUMNS);
#endif
        for (i = 0; i < n; i++) df_smooth(camera, person, numbers, 0, sums, i, between + (size_t)i * DF_COLUMNS);
        for (i = 0; i < n; i++) df_smooth(camera, person, numbers, 1, between, i, sums + (size_t)i * DF_COLUMNS);
    }
#elif DF_CONTEXT
    df_look_around(forest, camera, memory, &at, &grid);
#endif
    for (i = 0; i < n; i++) {
        const size_t row = (size_t)(person->places[2 * i] + person->row), col = (size_t)(person->places[2 * i + 1] + person->col);
        const size_t to = row * (size_t)camera->cols + col;
#if DF_SMOOTHS
        df_decide((const int32_t *)DF_AT(sums) + (size_t)i * DF_COLUMNS, 0, to, parts, confidence, probabilities);
#else
        int32_t sums[DF_COLUMNS];
        df_mix(forest, person, i, sums);
#if DF_CONTEXT
        df_combine(person, i, sums);
#endif
        df_decide(sums, person->whole, to, parts, confidence, probabilities);
#endif
    }
    return DF_OK;
}
