/* -- the context stage: a second forest that reads the answers of the first on a coarse grid ------------------------- */

/* The nearest whole number of a number below 2^51 in size; ties go to the even one. */
static inline double df_nearest_whole(double x) {
    const double shift = 6755399441055744.0, moved = x + shift;
    return moved - shift;
}

/* Are all points on this axis of a camera within ten million kilometers? Doubles hold such millimeters exactly. */
static inline int df_is_near(double focal, double center, int32_t n_pixels) {
    return ((center < 0 ? -center : center) + n_pixels) * 65535.0 / focal < 1e13;
}

/* The grid line of a column at a number of steps from the middle; negative to the left. */
static inline int32_t df_grid_line(const df_camera *camera, int32_t col, int32_t n_steps) {
    return col <= (camera->cols - 1) / 2 ? -n_steps : n_steps + camera->cols / 2 - (camera->cols - 1) / 2;
}

/* Find the grid of a person's n pixels in a box of the frame: how many pixels are on it, and where. */
static inline df_grid df_measure_grid(const df_camera *camera, const uint16_t *depth_mm, const uint8_t *mask,
                                      const int32_t *box, int32_t n) {
    df_grid grid = {df_grid_step(n, DF_COARSE_PIXELS), 0, 0, 0, 0, 0};
    const int32_t step = grid.step;
    int32_t row, col, bottom = 0, last = 0;
    for (row = (box[0] + step - 1) / step * step; row <= box[1]; row += step) {
        for (col = box[2]; col <= box[3]; col++) {
            const size_t at = (size_t)row * (size_t)camera->cols + (size_t)col;
            const int32_t away = df_away(camera, col), line = df_grid_line(camera, col, away / step);
            if (away % step || !depth_mm[at] || (mask && !mask[at])) continue;
            if (!grid.n) grid.top = row / step, grid.first = last = line;
            grid.n++;
            bottom = row / step;
            if (line < grid.first) grid.first = line;
            if (line > last) last = line;
        }
    }
    grid.rows = bottom - grid.top + 3;
    grid.cols = last - grid.first + 3;
    grid.top--, grid.first--;
    return grid;
}

/* Facts about the person from the first stage's answers on the grid. */
typedef struct {
    uint64_t head[4], trunk[4]; /* weighted sums of points, and the sum of weights; they wrap as in Python */
    int64_t lowest, highest;
    int64_t center[3][3]; /* of the body, of the head, of the trunk */
    double left[2];       /* the direction to the person's own left: x, z */
} df_overview;

/* Fill the point of a pixel in millimeters, and the probabilities of its groups of parts in thousandths. */
static inline void df_survey(const df_camera *camera, const df_person *person, int32_t pixel, const int32_t *sums,
                             int64_t *point, uint16_t *record, df_overview *all) {
    const int32_t row = person->places[2 * pixel], col = person->places[2 * pixel + 1];
    const double z = (double)person->crop[row * person->crop_cols + col];
    int64_t said[DF_GROUPS] = {0}, total = 0;
    uint64_t head = 0, trunk = 0;
    int k;
    point[0] = (int64_t)df_nearest_whole(((double)(col + person->col) - camera->cx) * z / camera->fx);
    point[1] = (int64_t)df_nearest_whole(((double)(row + person->row) - camera->cy) * z / camera->fy);
    point[2] = (int64_t)z;
    all->lowest = point[1] > all->lowest ? point[1] : all->lowest;
    all->highest = point[1] < all->highest ? point[1] : all->highest;
    for (k = 0; k < DF_PARTS; k++) said[df_groups[k]] += sums[k], total += sums[k];
    for (k = 0; k < DF_GROUPS; k++) { /* a fractional quotient is too far below the next whole number to round up to it */
        record[16 + k] = (uint16_t)((double)(said[k] * 1000) / (double)(total > 0 ? total : 1));
        head += df_is_head[k] ? record[16 + k] : 0u;
        trunk += df_is_trunk[k] ? record[16 + k] : 0u;
    }
    head *= head, trunk *= trunk;
    for (k = 0; k < 3; k++) all->head[k] += head * (uint64_t)point[k], all->trunk[k] += trunk * (uint64_t)point[k];
    all->head[3] += head, all->trunk[3] += trunk;
}

/* The median of n numbers, which are every third in memory; of two middle ones, their mean toward 0. */
static inline int64_t df_median(const int64_t *numbers, int32_t n) {
    int64_t low = numbers[0], high = numbers[0], above;
    int32_t i, n_within;
    for (i = 1; i < n; i++) {
        low = numbers[3 * (size_t)i] < low ? numbers[3 * (size_t)i] : low;
        high = numbers[3 * (size_t)i] > high ? numbers[3 * (size_t)i] : high;
    }
    above = high;
    while (low < high) { /* the smallest number that (n + 1) / 2 of them do not exceed */
        const int64_t middle = low + (high - low) / 2;
        for (n_within = 0, i = 0; i < n; i++) n_within += numbers[3 * (size_t)i] <= middle;
        if (n_within >= (n + 1) / 2) high = middle;
        else low = middle + 1;
    }
    for (n_within = 0, i = 0; i < n; i++) {
        const int64_t own = numbers[3 * (size_t)i];
        n_within += own <= low;
        if (own > low && own < above) above = own;
    }
    return (low + (n_within >= n / 2 + 1 ? low : above)) / 2;
}

/* Fill three terms that add up to x * x; all but the last are exact. */
static inline void df_square(double x, double sign, double *terms) {
    uint64_t bits;
    double upper, lower;
    memcpy(&bits, &x, sizeof bits);
    bits &= ~(uint64_t)0x7ffffff;
    memcpy(&upper, &bits, sizeof upper);
    lower = x - upper;
    terms[0] = sign * upper * upper, terms[1] = sign * 2.0 * upper * lower, terms[2] = sign * lower * lower;
}

/* The length of (x, z), rounded once. */
static inline double df_length(double x, double z) {
    const double square = x * x + z * z;
    double root, terms[9];
    uint64_t bits;
    int k;
    if (!(square > 0.0)) return 0.0;
    memcpy(&bits, &square, sizeof bits);
    bits = (bits >> 1) + ((uint64_t)1023 << 51); /* halve the exponent */
    memcpy(&root, &bits, sizeof root);
    for (k = 0; k < 6; k++) root = 0.5 * (root + square / root);
    df_square(x, 1.0, terms), df_square(z, 1.0, terms + 3), df_square(root, -1.0, terms + 6);
    return root + df_exact_sum(terms, 9) / (2.0 * root);
}

/* Find body, head, trunk and the person's left, after all pixels of the grid were surveyed. */
static inline void df_see_whole(const df_person *person, const int64_t *points, int32_t n, df_overview *all) {
    double across[DF_FACINGS], ahead[DF_FACINGS], x, z, length;
    int k;
    for (k = 0; k < 3; k++) all->center[0][k] = df_median(points + k, n);
    for (k = 0; k < 3; k++) {
        all->center[1][k] = all->head[3] ? (int64_t)all->head[k] / (int64_t)all->head[3] : all->center[0][k];
        all->center[2][k] = all->trunk[3] ? (int64_t)all->trunk[k] / (int64_t)all->trunk[3] : all->center[0][k];
    }
    for (k = 0; k < DF_FACINGS; k++) {
        across[k] = (double)person->weights[k] * df_turns[0][k];
        ahead[k] = (double)person->weights[k] * df_turns[1][k];
    }
    x = df_exact_sum(across, DF_FACINGS);
    z = df_exact_sum(ahead, DF_FACINGS);
    length = df_length(x, z);
    all->left[0] = length > 1e-6 ? x / length : 1.0;
    all->left[1] = length > 1e-6 ? z / length : 0.0;
}

/* A length in the units of a channel, which are 2 mm, clipped. */
static inline uint16_t df_held(double mm, double zero) {
    const double held = zero + df_nearest_whole(mm / 2.0);
    return (uint16_t)(held < 0.0 ? 0.0 : held > 2000.0 ? 2000.0 : held);
}

/* Fill the channels of a grid pixel, except those of the groups, which are filled already. */
static inline void df_fill_record(const df_camera *camera, const df_person *person, int32_t pixel, const int64_t *point,
                                  const df_overview *all, uint16_t *record) {
    const int64_t *body = all->center[0], *head = all->center[1], *trunk = all->center[2];
    const double dx = (double)(point[0] - trunk[0]), dz = (double)(point[2] - trunk[2]);
    /* volatile: the sums below are not fused */
    const volatile double a = dx * all->left[0], b = dz * all->left[1], c = dx * all->left[1], d = dz * all->left[0];
    const double left = a + b;
    const int32_t n_below = camera->rows - 1 - person->row - person->places[2 * pixel];
    record[0] = (uint16_t)point[2];
    record[1] = 0;
    record[2] = df_held((double)(point[0] - body[0]), 1000.0);
    record[3] = df_held((double)(body[0] - point[0]), 1000.0);
    record[4] = df_held((double)(point[1] - body[1]), 1000.0);
    record[5] = df_held((double)(point[0] - head[0]), 1000.0);
    record[6] = df_held((double)(head[0] - point[0]), 1000.0);
    record[7] = df_held((double)(point[1] - head[1]), 1000.0);
    record[8] = df_held((double)(point[2] - head[2]), 1000.0);
    record[9] = df_held(left, 1000.0);
    record[10] = df_held(-left, 1000.0);
    record[11] = df_held(c - d, 1000.0);
    record[12] = df_held((double)(point[1] - trunk[1]), 1000.0);
    record[13] = df_held((double)(all->lowest - point[1]), 550.0);
    record[14] = df_held((double)(point[1] - all->highest), 550.0);
    record[15] = df_held((double)(n_below * point[2]) / camera->fy, 550.0);
}

/* The thumbnail: the record at each place, with a border of one place, and the records; the last is off the person. */
typedef struct {
    df_grid grid;
    const int32_t *chosen, *map; /* the pixels on the grid; the record at each place */
    const uint16_t *spots;       /* row and column of each pixel in the thumbnail */
    const uint16_t *records;     /* DF_CHANNELS values each */
} df_thumbnail;

/* Find the pixels on the grid, in their order. */
static inline void df_choose(const df_camera *camera, const df_person *person, const df_grid *grid, int32_t *chosen,
                             uint16_t *spots, int32_t *map) {
    const int32_t n_spots = grid->rows * grid->cols;
    int32_t i, n = 0;
    for (i = 0; i < n_spots; i++) map[i] = grid->n;
    for (i = 0; i < person->n; i++) {
        const int32_t row = person->places[2 * i] + person->row, col = person->places[2 * i + 1] + person->col;
        const int32_t away = df_away(camera, col);
        if ((row | away) & (grid->step - 1)) continue;
        chosen[n] = i;
        spots[2 * n] = (uint16_t)(row / grid->step - grid->top);
        spots[2 * n + 1] = (uint16_t)(df_grid_line(camera, col, away / grid->step) - grid->first);
        map[spots[2 * n] * grid->cols + spots[2 * n + 1]] = n;
        n++;
    }
}

/* Walk the lanes through a tree of the context stage, as df_walk does; `swap` maps channels of the mirrored walk. */
static inline void df_walk_context(const df_forest *forest, const df_thumbnail *seen, uint32_t root, const uint8_t *swap,
                                   int32_t n, df_lanes *lanes) {
    uint32_t moved = 1;
    int32_t i;
    int k;
    for (i = 0; i < n; i++) lanes->rows[i] = root;
    while (moved) {
        for (i = 0; i < n; i++) {
            const df_context_node node = df_context_node_at(forest, lanes->rows[i]);
            for (k = 0; k < 4; k++) lanes->offsets[k][i] = (float)node.offsets[k] * DF_CONTEXT_UNIT;
            lanes->thresholds[i] = node.threshold;
            lanes->children[i] = node.child;
            lanes->channels[0][i] = swap[node.channels[0]];
            lanes->channels[1][i] = swap[node.channels[1]];
        }
        df_find_probes(lanes, 0, seen->grid.cols, n);
        df_find_probes(lanes, 1, seen->grid.cols, n);
        moved = 0;
        for (i = 0; i < n; i++) {
            const uint16_t *u = seen->records + (size_t)seen->map[lanes->probes[0][i]] * DF_CHANNELS;
            const uint16_t *v = seen->records + (size_t)seen->map[lanes->probes[1][i]] * DF_CHANNELS;
            const int32_t response = (int32_t)u[lanes->channels[0][i]] - (int32_t)v[lanes->channels[1][i]];
            const uint32_t child = lanes->children[i] + (uint32_t)(response > lanes->thresholds[i]);
            moved |= child ^ lanes->rows[i];
            lanes->rows[i] = child;
            DF_PREFETCH(forest->context_nodes + (size_t)child * sizeof(df_context_node));
        }
    }
}

/* Find the records of the context stage's leaves for all pixels of the grid. */
static inline void df_find_context_leaves(const df_forest *forest, const df_camera *camera, const df_thumbnail *seen,
                                          df_lanes *lanes, uint32_t *found) {
    const df_grid *grid = &seen->grid;
    int32_t first, i;
    int walk, tree;
    for (first = 0; first < grid->n; first += DF_LANES) {
        const int32_t n = grid->n - first < DF_LANES ? grid->n - first : DF_LANES;
        for (walk = 0; walk < DF_WALKS; walk++) {
            for (i = 0; i < n; i++) {
                const int32_t row = seen->spots[2 * (first + i)], col = seen->spots[2 * (first + i) + 1];
                const uint16_t depth = seen->records[(size_t)(first + i) * DF_CHANNELS];
                const float scale_x = df_scale(camera->fx, depth) / (float)grid->step; /* a power of two: exact */
                lanes->scale_x[i] = walk ? -scale_x : scale_x;
                lanes->scale_y[i] = df_scale(camera->fy, depth) / (float)grid->step;
                lanes->left[i] = (float)-col;
                lanes->right[i] = (float)(grid->cols - 1 - col);
                lanes->top[i] = (float)-row;
                lanes->bottom[i] = (float)(grid->rows - 1 - row);
                lanes->own[i] = row * grid->cols + col;
            }
            for (tree = 0; tree < DF_CONTEXT_TREES; tree++) {
                df_walk_context(forest, seen, 2 * (uint32_t)tree, df_channels[walk], n, lanes);
                for (i = 0; i < n; i++) {
                    const df_context_node leaf = df_context_node_at(forest, lanes->rows[i]);
                    found[((size_t)(first + i) * DF_WALKS + (size_t)walk) * DF_CONTEXT_TREES + (size_t)tree] =
                        df_context_leaf(&leaf);
                }
            }
        }
    }
}

/* Fill the shares of parts in some sums, with a small constant added to each. */
static inline void df_share(const int32_t *sums, int32_t *shares) {
    int32_t total = 0;
    double unit;
    int k;
    for (k = 0; k < DF_PARTS; k++) total += sums[k];
    unit = 32768.0 / (double)total;
    for (k = 0; k < DF_PARTS; k++) shares[k] = (int32_t)((double)sums[k] * unit) + 64;
}

/* Fill the context stage's sums of a grid pixel, from the records of its leaves. */
static inline void df_judge(const df_forest *forest, const uint32_t *found, uint16_t *seconds) {
    int32_t sums[DF_PARTS] = {0}, shares[DF_PARTS];
    int walk, tree, k;
    for (walk = 0; walk < DF_WALKS; walk++) {
        for (tree = 0; tree < DF_CONTEXT_TREES; tree++) {
            const unsigned char *length = forest->context_leaves + found[walk * DF_CONTEXT_TREES + tree];
            for (k = 0; k < *length; k++) sums[df_names[walk][length[1 + 2 * k]]] += length[2 + 2 * k];
        }
    }
    df_share(sums, shares);
    for (k = 0; k < DF_PARTS; k++) seconds[k] = (uint16_t)shares[k];
}

/* The nearest of the up to four grid pixels around a pixel that is on the same surface; -1 if there is none. Among
 * equals, the upper one, then the inner one wins, so that mirrored pixels have mirrored neighbors. */
static inline int32_t df_find_near(const df_camera *camera, const df_person *person, const df_thumbnail *seen,
                                   int32_t pixel) {
    const df_grid *grid = &seen->grid;
    const int32_t row = person->places[2 * pixel], col = person->places[2 * pixel + 1];
    const int32_t own = person->crop[row * person->crop_cols + col], frame_row = row + person->row;
    const int32_t away = df_away(camera, col + person->col), step = grid->step;
    const int32_t up = frame_row & (step - 1), inward = away & (step - 1);
    int32_t best = -1, least = 2 * step, k;
    for (k = 0; k < 4; k++) {
        const int32_t is_lower = k >> 1, is_outer = k & 1;
        const int32_t distance = (is_lower ? step - up : up) + (is_outer ? step - inward : inward);
        const int32_t r = frame_row / step + is_lower - grid->top;
        const int32_t c = df_grid_line(camera, col + person->col, away / step + is_outer) - grid->first;
        int32_t number, apart;
        if ((is_lower && !up) || (is_outer && !inward) || distance >= least) continue;
        if (r < 0 || c < 0 || r >= grid->rows || c >= grid->cols) continue;
        number = seen->map[r * grid->cols + c];
        apart = (int32_t)seen->records[(size_t)number * DF_CHANNELS] - own;
        if (number == grid->n || apart < -60 || apart > 60) continue;
        best = number;
        least = distance;
    }
    return best;
}

/* Run the context stage: fill its shares at the grid pixels, and the grid pixel that each pixel uses. */
static inline void df_look_around(const df_forest *forest, const df_camera *camera, unsigned char *memory,
                                  const df_layout *layout, const df_grid *grid) {
    const df_layout at = *layout;
    df_person *person = (df_person *)(void *)memory;
    int32_t *chosen = (int32_t *)DF_AT(chosen), *map = (int32_t *)DF_AT(map), *near = (int32_t *)DF_AT(near), i;
    uint16_t *spots = (uint16_t *)DF_AT(spots), *records = (uint16_t *)DF_AT(records);
    uint16_t *seconds = (uint16_t *)DF_AT(seconds);
    int64_t *points = (int64_t *)DF_AT(points);
    uint32_t *found = (uint32_t *)DF_AT(context_found);
    const df_thumbnail seen = {*grid, chosen, map, spots, records};
    df_overview all;
    memset(&all, 0, sizeof all);
    all.lowest = INT64_MIN, all.highest = INT64_MAX;
    person->near = near;
    person->seconds = seconds;
    df_choose(camera, person, grid, chosen, spots, map);
    for (i = 0; i < grid->n; i++) {
        int32_t sums[DF_COLUMNS];
#if DF_SMOOTHS
        df_smooth(camera, person, (const int32_t *)DF_AT(numbers), 1, (const int32_t *)DF_AT(between), chosen[i], sums);
#else
        df_mix(forest, person, chosen[i], sums);
#endif
        df_survey(camera, person, chosen[i], sums, points + 3 * (size_t)i, records + (size_t)i * DF_CHANNELS, &all);
    }
    if (grid->n) df_see_whole(person, points, grid->n, &all);
    for (i = 0; i < grid->n; i++)
        df_fill_record(camera, person, chosen[i], points + 3 * (size_t)i, &all, records + (size_t)i * DF_CHANNELS);
    memset(records + (size_t)grid->n * DF_CHANNELS, 0, DF_CHANNELS * sizeof *records);
    records[(size_t)grid->n * DF_CHANNELS] = DF_BACKGROUND_MM;
    df_find_context_leaves(forest, camera, &seen, (df_lanes *)DF_AT(lanes), found);
    for (i = 0; i < grid->n; i++)
        df_judge(forest, found + (size_t)i * DF_WALKS * DF_CONTEXT_TREES, seconds + (size_t)i * DF_PARTS);
    for (i = 0; i < person->n; i++) near[i] = df_find_near(camera, person, &seen, i);
}

/* Replace the first stage's sums of a pixel by sums of both stages. */
static inline void df_combine(const df_person *person, int32_t pixel, int32_t *sums) {
    const int32_t near = person->near[pixel];
    int32_t shares[DF_PARTS];
    double mixed[DF_PARTS], whole = 0.0, unit; /* whole numbers below 2^53: sums are exact in any order */
    int k;
    df_share(sums, shares);
    if (near >= 0) {
        const uint16_t *seconds = person->seconds + (size_t)near * DF_PARTS;
        for (k = 0; k < DF_PARTS; k++) mixed[k] = (double)shares[k] * (double)seconds[k];
    } else {
        for (k = 0; k < DF_PARTS; k++) mixed[k] = (double)shares[k];
    }
    for (k = 0; k < DF_PARTS; k++) whole += mixed[k];
    unit = 1048576.0 / whole;
    for (k = 0; k < DF_PARTS; k++) sums[k] = (int32_t)(mixed[k] * unit);
}

