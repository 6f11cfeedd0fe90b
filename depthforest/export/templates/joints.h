/* -- the interface -------------------------------------------------------------------------------------------------- */

typedef struct {
    int is_found;
    double position[3]; /* meters in camera space: x right, y down, z forward */
    double confidence;  /* probability that it is within 10 cm of the joint, 0 to 1 */
} df_joint;

enum { DF_JOINT_FIELDS = 6 }; /* fields of a mode: x, y, z, area, purity, spread */

DF_CHECK(modes, DF_MODES >= 1 && DF_JOINTS <= 64);

static inline const char *df_joint_name(int joint) {
    return joint >= 0 && joint < DF_JOINTS ? df_joint_names[joint] : "";
}

/* -- memory --------------------------------------------------------------------------------------------------------- */

typedef struct {
    float *points, *areas, *shares; /* (n, 3), (n), (n, DF_PARTS) */
    float *own, *starts, *ends;     /* (5, n), (9, n), (4, n) */
    float *found;                   /* (n, DF_JOINT_FIELDS) */
    int32_t *owner;                 /* (n) */
    int32_t n;
} df_cloud;

enum { DF_CLOUD_FLOATS = 3 + 1 + DF_PARTS + 5 + 9 + 4 + DF_JOINT_FIELDS + 1 };

/* Bytes of memory for a number of sampled pixels. People of any size have 1000 to 4000 samples on a regular grid. 8192
 * are plenty; as many as the person has pixels are always enough. */
static inline size_t df_joints_bytes(int32_t max_samples) {
    return max_samples < 1 ? 0 : (size_t)max_samples * DF_CLOUD_FLOATS * sizeof(float);
}

/* -- the person's surface ------------------------------------------------------------------------------------------- */

/* Is a pixel on the grid? Columns are counted from the middle of the frame outward, rows from the top. */
static inline int df_is_sampled(const df_camera *camera, const df_person *person, int32_t i, int32_t step) {
    const int32_t row = person->places[2 * i] + person->row, col = person->places[2 * i + 1] + person->col;
    return ((row | df_away(camera, col)) & (step - 1)) == 0;
}

/* Fill points, their surface area and the probabilities of their parts, without smoothing. */
static inline void df_fill_cloud(const df_forest *forest, const df_camera *camera, const df_person *person, int32_t step,
                                 df_cloud *cloud) {
    const float unit_area = (float)((double)step * (double)step / (camera->fx * camera->fy));
    int32_t i, at = 0, whole = person->whole, sums[DF_COLUMNS];
    int k;
    for (i = 0; i < person->n; i++) {
        const int32_t row = person->places[2 * i], col = person->places[2 * i + 1];
        float z, area;
        if (!df_is_sampled(camera, person, i, step)) continue;
        z = (float)person->crop[row * person->crop_cols + col] * 0.001f;
        cloud->points[3 * at] = (float)(((double)(col + person->col) - camera->cx) / camera->fx * (double)z);
        cloud->points[3 * at + 1] = (float)(((double)(row + person->row) - camera->cy) / camera->fy * (double)z);
        cloud->points[3 * at + 2] = z;
        area = z * z;
        cloud->areas[at] = area * unit_area;
        df_mix(forest, person, i, sums);
#if DF_CONTEXT
        df_combine(person, i, sums);
        for (k = 0, whole = 0; k < DF_PARTS; k++) whole += sums[k];
#endif
        for (k = 0; k < DF_PARTS; k++)
            cloud->shares[(size_t)at * DF_PARTS + (size_t)k] = (float)sums[k] / (float)whole;
        at++;
    }
}

/* -- mean shift ----------------------------------------------------------------------------------------------------- */

/* exp(-u) for 0 <= u, exp(-16) beyond: a series for exp(-u / 32), squared five times. */
static inline float df_falloff(float u) {
    const float v = (u < 16.0f ? u : 16.0f) * (-1.0f / 32.0f);
    float e = (float)(1.0 / 6.0) + v * (float)(1.0 / 24.0);
    e = 0.5f + v * e;
    e = 1.0f + v * e;
    e = 1.0f + v * e;
    e *= e;
    e *= e;
    e *= e;
    e *= e;
    return e * e;
}

/* Fill x, y, z, weight and surface area of the pixels of a cluster, and return how many there are. */
static inline int32_t df_collect(const df_cloud *cloud, int cluster) {
    const size_t n = (size_t)cloud->n;
    size_t i, to = 0;
    for (i = 0; i < n; i++) {
        float share = 0.0f;
        int k;
        for (k = df_firsts[cluster]; k < df_firsts[cluster + 1]; k++)
            share += cloud->shares[i * DF_PARTS + (size_t)df_members[k]];
        if (share < df_thresholds[cluster] || share <= 0.0f) continue;
        for (k = 0; k < 3; k++) cloud->own[(size_t)k * n + to] = cloud->points[3 * i + (size_t)k];
        cloud->own[3 * n + to] = share * cloud->areas[i];
        cloud->own[4 * n + to] = cloud->areas[i];
        to++;
    }
    return (int32_t)to;
}

/* Fill where to start: each pixel joins the nearest leader within the radius, or becomes one. -1: too many. */
static inline int32_t df_make_starts(const df_cloud *cloud, int32_t n_own, float radius) {
    const size_t n = (size_t)cloud->n;
    float *starts = cloud->starts;
    const float *own = cloud->own;
    int32_t n_starts = 0, i, s;
    for (i = 0; i < n_own; i++) {
        const float x = own[i], y = own[n + (size_t)i], z = own[2 * n + (size_t)i], weight = own[3 * n + (size_t)i];
        float nearest = radius * radius, dx, dy, dz;
        int32_t best = -1;
        for (s = 0; s < n_starts; s++) {
            float apart;
            dx = x - starts[6 * n + (size_t)s], dy = y - starts[7 * n + (size_t)s], dz = z - starts[8 * n + (size_t)s];
            apart = dx * dx + dy * dy + dz * dz;
            if (apart <= nearest) best = s, nearest = apart;
        }
        if (best < 0) {
            if ((int64_t)n_starts * n_own > DF_MAX_PAIRS) return -1;
            best = n_starts++;
            for (s = 0; s < 6; s++) starts[(size_t)s * n + (size_t)best] = 0.0f;
            starts[6 * n + (size_t)best] = x, starts[7 * n + (size_t)best] = y, starts[8 * n + (size_t)best] = z;
        }
        s = best;
        dx = x - starts[6 * n + (size_t)s], dy = y - starts[7 * n + (size_t)s], dz = z - starts[8 * n + (size_t)s];
        starts[s] += weight * dx;
        starts[n + (size_t)s] += weight * dy;
        starts[2 * n + (size_t)s] += weight * dz;
        starts[3 * n + (size_t)s] += weight;
        starts[4 * n + (size_t)s] += own[4 * n + (size_t)i];
        starts[5 * n + (size_t)s] += weight * (dx * dx + dy * dy + dz * dz);
    }
    for (s = 0; s < n_starts; s++) {
        size_t axis;
        for (axis = 0; axis < 3; axis++)
            starts[axis * n + (size_t)s] =
                starts[(6 + axis) * n + (size_t)s] + starts[axis * n + (size_t)s] / starts[3 * n + (size_t)s];
    }
    return n_starts;
}

/* Climb the density from every start, DF_CLIMBERS together; ends hold the final position, and the density one step
 * before it. */
static inline void df_climb(const df_cloud *cloud, int32_t n_own, float bandwidth, int32_t n_starts) {
    const size_t n = (size_t)cloud->n;
    const float scale = 1.0f / (bandwidth * bandwidth);
    float at[3][DF_CLIMBERS], sums[4][DF_CLIMBERS];
    int32_t first, i;
    int lane, axis, step;
    for (first = 0; first < n_starts; first += DF_CLIMBERS) {
        for (lane = 0; lane < DF_CLIMBERS; lane++) {
            const int32_t s = first + lane < n_starts ? first + lane : n_starts - 1;
            for (axis = 0; axis < 3; axis++) at[axis][lane] = cloud->starts[(size_t)axis * n + (size_t)s];
        }
        for (step = 0; step < DF_MAX_STEPS; step++) {
            float farthest = 0.0f;
            memset(sums, 0, sizeof sums);
            for (i = 0; i < n_own; i++) {
                const float x = cloud->own[i], y = cloud->own[n + (size_t)i], z = cloud->own[2 * n + (size_t)i];
                const float weight = cloud->own[3 * n + (size_t)i];
                for (lane = 0; lane < DF_CLIMBERS; lane++) {
                    const float dx = at[0][lane] - x, dy = at[1][lane] - y, dz = at[2][lane] - z;
                    const float pull = weight * df_falloff((dx * dx + dy * dy + dz * dz) * scale);
                    sums[0][lane] += pull * x;
                    sums[1][lane] += pull * y;
                    sums[2][lane] += pull * z;
                    sums[3][lane] += pull;
                }
            }
            for (lane = 0; lane < DF_CLIMBERS; lane++) {
                float moved = 0.0f;
                for (axis = 0; axis < 3; axis++) {
                    const float place = sums[axis][lane] / sums[3][lane], by = place - at[axis][lane];
                    moved += by * by;
                    at[axis][lane] = place;
                }
                farthest = moved > farthest ? moved : farthest;
            }
            if (farthest <= DF_TOLERANCE * DF_TOLERANCE) break;
        }
        for (lane = 0; lane < DF_CLIMBERS && first + lane < n_starts; lane++) {
            for (axis = 0; axis < 3; axis++) cloud->ends[(size_t)axis * n + (size_t)(first + lane)] = at[axis][lane];
            cloud->ends[3 * n + (size_t)(first + lane)] = sums[3][lane];
        }
    }
}

/* Merge ends into modes: the densest free end takes all free ends within the radius. Returns the number of modes. */
static inline int32_t df_merge(const df_cloud *cloud, int32_t n_starts, float radius) {
    const size_t n = (size_t)cloud->n;
    const float *starts = cloud->starts, *ends = cloud->ends;
    int32_t n_modes = 0, s;
    for (s = 0; s < n_starts; s++) cloud->owner[s] = -1;
    for (;;) {
        float weight = 0.0f, area = 0.0f, scatter = 0.0f, *mode = cloud->found + (size_t)n_modes * DF_JOINT_FIELDS;
        int32_t best = -1;
        size_t axis;
        for (s = 0; s < n_starts; s++)
            if (cloud->owner[s] < 0 && (best < 0 || ends[3 * n + (size_t)s] > ends[3 * n + (size_t)best])) best = s;
        if (best < 0) return n_modes;
        for (s = 0; s < n_starts; s++) {
            float apart = 0.0f;
            for (axis = 0; axis < 3; axis++) {
                const float off = ends[axis * n + (size_t)s] - ends[axis * n + (size_t)best];
                apart += off * off;
            }
            if (s != best && (cloud->owner[s] >= 0 || apart > radius * radius)) continue;
            cloud->owner[s] = n_modes;
            weight += starts[3 * n + (size_t)s];
            area += starts[4 * n + (size_t)s];
            scatter += starts[5 * n + (size_t)s];
            for (axis = 0; axis < 3; axis++) { /* moved from the leader to the mode */
                const float leader = starts[(6 + axis) * n + (size_t)s], off = leader - ends[axis * n + (size_t)best];
                scatter += starts[3 * n + (size_t)s] * off * (2.0f * (starts[axis * n + (size_t)s] - leader) + off);
            }
        }
        for (axis = 0; axis < 3; axis++) mode[axis] = ends[axis * n + (size_t)best];
        mode[3] = weight;
        mode[4] = weight / area;
        mode[5] = (float)sqrt((double)((scatter > 0.0f ? scatter : 0.0f) / weight));
        n_modes++;
    }
}

/* Fill the modes of a cluster with the most surface area, and return how many there are. */
static inline int df_find_modes(const df_cloud *cloud, int cluster, float modes[DF_MODES][DF_JOINT_FIELDS]) {
    const float bandwidth = df_bandwidths[cluster];
    const int32_t n_own = df_collect(cloud, cluster);
    float apart = DF_SPACING * bandwidth;
    int32_t n_starts = df_make_starts(cloud, n_own, apart), n_found, i;
    int k, n;
    while (n_starts < 0) {
        apart = 2.0f * apart > bandwidth ? 2.0f * apart : bandwidth;
        n_starts = df_make_starts(cloud, n_own, apart);
    }
    df_climb(cloud, n_own, bandwidth, n_starts);
    n_found = df_merge(cloud, n_starts, bandwidth);
    n = n_found < DF_MODES ? n_found : DF_MODES;
    for (k = 0; k < n; k++) {
        int32_t best = 0;
        for (i = 0; i < n_found; i++)
            if (cloud->found[i * DF_JOINT_FIELDS + 3] > cloud->found[best * DF_JOINT_FIELDS + 3]) best = i;
        memcpy(modes[k], cloud->found + (size_t)best * DF_JOINT_FIELDS, sizeof modes[k]);
        cloud->found[best * DF_JOINT_FIELDS + 3] = -1.0f;
    }
    return n;
}

/* -- from modes to joints ------------------------------------------------------------------------------------------- */

typedef struct {
    float modes[DF_CLUSTERS][DF_MODES][DF_JOINT_FIELDS];
    int n_modes[DF_CLUSTERS];
    double places[DF_JOINTS][DF_MODES][DF_JOINT_FIELDS];
    double evidence[DF_JOINTS][DF_MODES], costs[DF_JOINTS][DF_MODES];
    double below[DF_JOINTS][DF_MODES], above[DF_JOINTS][DF_MODES], messages[DF_JOINTS][DF_MODES];
    int counts[DF_JOINTS];
} df_proposals;

/* Push the modes of a cluster back along their rays. */
static inline void df_push_back(int joint, int cluster, df_proposals *all) {
    int i, k;
    all->counts[joint] = all->n_modes[cluster];
    for (i = 0; i < all->n_modes[cluster]; i++) {
        const float *mode = all->modes[cluster][i];
        const double far = sqrt((double)mode[0] * mode[0] + (double)mode[1] * mode[1] + (double)mode[2] * mode[2]);
        const double farther = 1.0 + df_push_backs[cluster] / far;
        for (k = 0; k < 3; k++) all->places[joint][i][k] = farther * (double)mode[k];
        for (k = 3; k < DF_JOINT_FIELDS; k++) all->places[joint][i][k] = (double)mode[k];
    }
}

#if DF_PLACERS > 0 || DF_MOVES
/* The camera's axes, as rows, turned so that z points at a point and x stays level. */
static inline void df_turn_axes(const double *toward, double axes[3][3]) {
    const double length = sqrt(toward[0] * toward[0] + toward[1] * toward[1] + toward[2] * toward[2]);
    double flat;
    int k;
    memset(axes, 0, 9 * sizeof(double));
    for (k = 0; k < 3; k++) axes[2][k] = toward[k] / length;
    flat = sqrt(axes[2][0] * axes[2][0] + axes[2][2] * axes[2][2]);
    axes[0][0] = axes[2][2] / flat, axes[0][2] = -axes[2][0] / flat;
    axes[1][0] = axes[2][1] * axes[0][2];
    axes[1][1] = axes[2][2] * axes[0][0] - axes[2][0] * axes[0][2];
    axes[1][2] = -axes[2][1] * axes[0][0];
}
#endif

#if DF_PLACERS > 0
/* Solve a x = b in place for n unknowns, with pivots. */
static inline void df_solve(int n, double a[DF_MAX_ANCHORS][DF_MAX_ANCHORS], double *b) {
    int i, j, k;
    for (k = 0; k < n; k++) {
        int pivot = k;
        double kept;
        for (i = k + 1; i < n; i++)
            if (fabs(a[i][k]) > fabs(a[pivot][k])) pivot = i;
        for (j = 0; j < n; j++) kept = a[k][j], a[k][j] = a[pivot][j], a[pivot][j] = kept;
        kept = b[k], b[k] = b[pivot], b[pivot] = kept;
        for (i = k + 1; i < n; i++) {
            const double factor = a[i][k] / a[k][k];
            for (j = k; j < n; j++) a[i][j] -= factor * a[k][j];
            b[i] -= factor * b[k];
        }
    }
    for (k = n - 1; k >= 0; k--) {
        for (j = k + 1; j < n; j++) b[k] -= a[k][j] * b[j];
        b[k] /= a[k][k];
    }
}

/* The weight of each anchor along each axis, and the offset, if only some anchors were found. */
static inline void df_expected(const df_placer *placer, const int *present, double weights[3][DF_MAX_ANCHORS],
                               double *added) {
    const int k = placer->n_anchors;
    int axis, i, j, n_present = 0, its[DF_MAX_ANCHORS];
    for (i = 0; i < k; i++)
        if (present[i]) its[n_present++] = i;
    for (axis = 0; axis < 3; axis++) {
        for (i = 0; i < k; i++) weights[axis][i] = 0.0;
        added[axis] = 0.0;
        if (!placer->is_fitted) {
            for (i = 0; i < n_present; i++) weights[axis][its[i]] = 1.0 / n_present;
            added[axis] = axis == 2 ? placer->push_back : 0.0;
        } else {
            double inner[DF_MAX_ANCHORS][DF_MAX_ANCHORS], right[DF_MAX_ANCHORS];
            for (i = 0; i < n_present; i++) {
                for (j = 0; j < n_present; j++)
                    inner[i][j] = placer->covariances[axis][its[i]][its[j]] + DF_TRANSLATION +
                                  (i == j ? DF_MODE_NOISE : 0.0);
                right[i] = placer->covariances[axis][its[i]][k] + DF_TRANSLATION;
            }
            df_solve(n_present, inner, right);
            added[axis] = placer->means[k][axis];
            for (i = 0; i < n_present; i++) {
                weights[axis][its[i]] = right[i];
                added[axis] -= right[i] * placer->means[its[i]][axis];
            }
        }
    }
}

/* Place a joint without a part relative to its anchors: from all first modes, then with other modes of a carrier. */
static inline void df_place(const df_placer *placer, df_proposals *all) {
    double weights[3][DF_MAX_ANCHORS], added[3], axes[3][3], middle[3] = {0, 0, 0}, place[3];
    double weight = 0.0, pixels = 0.0, spread = 0.0;
    int present[DF_MAX_ANCHORS], n_present = 0, is_carried = 0, axis, i, k, c, n = 1;
    double(*places)[DF_JOINT_FIELDS] = all->places[placer->joint];
    for (k = 0; k < placer->n_anchors; k++) {
        const int cluster = placer->anchors[k];
        present[k] = all->n_modes[cluster] > 0;
        if (!present[k]) continue;
        n_present++;
        if (k < placer->n_carriers) is_carried = 1;
        for (c = 0; c < 3; c++) middle[c] += (double)all->modes[cluster][0][c];
    }
    if (!is_carried) return;
    for (c = 0; c < 3; c++) middle[c] /= n_present, place[c] = middle[c];
    df_expected(placer, present, weights, added);
    df_turn_axes(middle, axes);
    for (axis = 0; axis < 3; axis++) {
        double value = added[axis];
        for (k = 0; k < placer->n_anchors; k++)
            for (c = 0; present[k] && c < 3; c++)
                value += weights[axis][k] * ((double)all->modes[placer->anchors[k]][0][c] - middle[c]) * axes[axis][c];
        for (c = 0; c < 3; c++) place[c] += value * axes[axis][c];
    }
    for (k = 0; k < placer->n_carriers; k++) {
        const float *mode = all->modes[placer->anchors[k]][0];
        if (!present[k]) continue;
        weight += (double)mode[3];
        pixels += (double)(mode[3] / mode[4]);
        spread += (double)(mode[3] * mode[5]);
    }
    for (c = 0; c < 3; c++) places[0][c] = place[c];
    places[0][3] = weight, places[0][4] = weight / pixels, places[0][5] = spread / weight;
    for (i = 1; i < DF_MODES; i++) {
        for (k = 0; k < placer->n_carriers; k++) {
            const int cluster = placer->anchors[k];
            const float *mode = all->modes[cluster][i], *first = all->modes[cluster][0];
            if (all->n_modes[cluster] <= i || n == DF_MODES) continue;
            for (c = 0; c < 3; c++) places[n][c] = place[c];
            for (axis = 0; axis < 3; axis++) {
                double value = 0.0;
                for (c = 0; c < 3; c++) value += ((double)mode[c] - (double)first[c]) * axes[axis][c];
                for (c = 0; c < 3; c++) places[n][c] += weights[axis][k] * value * axes[axis][c];
            }
            for (c = 3; c < DF_JOINT_FIELDS; c++) places[n][c] = (double)mode[c];
            n++;
        }
    }
    all->counts[placer->joint] = n;
}
#endif

/* -- the set of joints with the most plausible bones ---------------------------------------------------------------- */

static inline double df_bone_cost(const double *a, const double *b, double length, double sd) {
    const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    const double off = (sqrt(x * x + y * y + z * z) - length) / sd, cost = off * off;
    return (cost < DF_CAP ? cost : DF_CAP) / 2.0;
}

/* Fill the best scores of the sets below each proposal, and return the best of all. */
static inline double df_climb_up(double size, df_proposals *all) {
    double total = 0.0;
    int k, i, j, child;
    for (k = DF_JOINTS - 1; k >= 0; k--) {
        const int joint = df_order[k], parent = df_parents[joint], n = all->counts[joint];
        for (i = 0; i < n; i++) all->below[joint][i] = all->evidence[joint][i];
        for (child = 0; child < DF_JOINTS; child++)
            if (df_parents[child] == joint && all->counts[child] > 0)
                for (i = 0; i < n; i++) all->below[joint][i] += all->messages[child][i];
        if (n == 0) continue;
        if (parent < 0 || all->counts[parent] == 0) { /* a root, or its parent was not found: chosen by itself */
            double best = all->below[joint][0];
            for (i = 1; i < n; i++) best = all->below[joint][i] > best ? all->below[joint][i] : best;
            total += best;
            continue;
        }
        for (i = 0; i < all->counts[parent]; i++) {
            double best = -HUGE_VAL;
            for (j = 0; j < n; j++) {
                const double cost = df_bone_cost(all->places[parent][i], all->places[joint][j],
                                                 size * df_lengths[joint], df_sds[joint]);
                const double score = all->below[joint][j] - DF_BONE_WEIGHT * cost;
                best = score > best ? score : best;
            }
            all->messages[joint][i] = best;
        }
    }
    return total;
}

/* Fill how much the best set of joints loses with each proposal, and return the size of the person. */
static inline double df_choose_set(df_proposals *all) {
    static const double sizes[] = DF_SIZES;
    double best_size = sizes[0], best_total = -HUGE_VAL;
    size_t s;
    int k, i, j;
    for (s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const double total = df_climb_up(sizes[s], all);
        if (total > best_total) best_size = sizes[s], best_total = total;
    }
    df_climb_up(best_size, all);
    for (k = 0; k < DF_JOINTS; k++) {
        const int joint = df_order[k], parent = df_parents[joint], n = all->counts[joint];
        double top = -HUGE_VAL;
        for (j = 0; j < n; j++) {
            all->above[joint][j] = 0.0;
            if (parent >= 0 && all->counts[parent] > 0) {
                double best = -HUGE_VAL;
                for (i = 0; i < all->counts[parent]; i++) {
                    const double cost = df_bone_cost(all->places[parent][i], all->places[joint][j],
                                                     best_size * df_lengths[joint], df_sds[joint]);
                    const double rest = all->above[parent][i] + all->below[parent][i] - all->messages[joint][i];
                    best = rest - DF_BONE_WEIGHT * cost > best ? rest - DF_BONE_WEIGHT * cost : best;
                }
                all->above[joint][j] = best;
            }
            if (all->above[joint][j] + all->below[joint][j] > top) top = all->above[joint][j] + all->below[joint][j];
        }
        for (j = 0; j < n; j++) all->costs[joint][j] = top - all->above[joint][j] - all->below[joint][j];
    }
    return best_size;
}

static inline double df_within(double x, double limit) { return x < -limit ? -limit : x > limit ? limit : x; }

static inline double df_chance(double odds) { return 1.0 / (1.0 + exp(-df_within(odds, DF_MAX_ODDS))); }

#if DF_MOVES
/* Move the chosen joints by the positions of the others, along the camera's axes turned to the person. */
static inline void df_move(const df_proposals *all, const int *chosen, double size, df_joint *joints) {
    double origin[3] = {0, 0, 0}, axes[3][3], local[DF_JOINTS][3], sure[DF_JOINTS], columns[DF_MOVES];
    int joint, other, a, c, k, n = 0;
    for (joint = 0; joint < DF_JOINTS; joint++) {
        sure[joint] = joints[joint].confidence;
        if (!joints[joint].is_found) continue;
        n++;
        for (c = 0; c < 3; c++) origin[c] += joints[joint].position[c];
    }
    if (!n) return;
    for (c = 0; c < 3; c++) origin[c] /= n;
    df_turn_axes(origin, axes);
    for (joint = 0; joint < DF_JOINTS; joint++)
        for (a = 0; a < 3; a++) {
            local[joint][a] = 0.0;
            for (c = 0; joints[joint].is_found && c < 3; c++)
                local[joint][a] += (joints[joint].position[c] - origin[c]) * axes[a][c];
        }
    for (joint = 0; joint < DF_JOINTS; joint++) {
        const double *proposal = all->places[joint][chosen[joint]];
        const double cost = all->costs[joint][chosen[joint]], *odds = df_odds[joint];
        double total;
        if (!joints[joint].is_found) continue;
        for (other = 0, k = 0; other < DF_JOINTS; other++) {
            if (other == joint) continue;
            for (a = 0; a < 3; a++)
                columns[3 * k + a] = sure[other] * df_within(local[other][a] - local[joint][a], DF_REACH_M);
            columns[3 * (DF_JOINTS - 1) + k] = sure[other];
            k++;
        }
        k = 4 * (DF_JOINTS - 1);
        columns[k] = log((proposal[3] > DF_LEAST_AREA ? proposal[3] : DF_LEAST_AREA) / DF_UNIT_AREA);
        columns[k + 1] = proposal[4], columns[k + 2] = proposal[5], columns[k + 3] = proposal[2];
        columns[k + 4] = size, columns[k + 5] = 1.0;
        total = odds[0] + odds[1] * all->evidence[joint][chosen[joint]];
        total += odds[2] * (cost < DF_MAX_COST ? cost : DF_MAX_COST);
        total += odds[3] * proposal[5] + odds[4] * proposal[2];
        for (k = 0; k < DF_JOINTS - 1; k++) total += odds[6 + k] * columns[3 * (DF_JOINTS - 1) + k];
        joints[joint].confidence = df_chance(total);
        for (a = 0; a < 3; a++) {
            double step = 0.0;
            for (k = 0; k < DF_MOVES; k++) step += df_steps[joint][a][k] * columns[k];
            step = df_within(step, DF_MAX_STEP_M);
            for (c = 0; c < 3; c++) joints[joint].position[c] += step * axes[a][c];
        }
    }
}
#endif

/* Choose the set of joints and fill the best proposal of each. */
static inline void df_answer(df_proposals *all, df_joint *joints) {
    int chosen[DF_JOINTS] = {0}, joint, i, k;
    double size;
    for (joint = 0; joint < DF_JOINTS; joint++)
        for (i = 0; i < all->counts[joint]; i++)
            all->evidence[joint][i] = df_evidence[joint][0] +
                                      df_evidence[joint][1] * log(all->places[joint][i][3] / DF_UNIT_AREA) +
                                      df_evidence[joint][2] * all->places[joint][i][4];
    size = df_choose_set(all);
    for (joint = 0; joint < DF_JOINTS; joint++) {
        memset(&joints[joint], 0, sizeof joints[joint]);
        if (!all->counts[joint]) continue;
        for (i = 1; i < all->counts[joint]; i++)
            if (all->costs[joint][i] < all->costs[joint][chosen[joint]]) chosen[joint] = i;
        i = chosen[joint];
        joints[joint].is_found = 1;
        for (k = 0; k < 3; k++) joints[joint].position[k] = all->places[joint][i][k];
        joints[joint].confidence =
            df_chance(df_confidence[joint][0] + df_confidence[joint][1] * all->evidence[joint][i] +
                      df_confidence[joint][2] * all->costs[joint][i]);
    }
#if DF_MOVES
    df_move(all, chosen, size, joints);
#else
    (void)size;
#endif
}

/* Find the joints of the person that df_label has labeled last with this scratch memory.
 *
 * scratch   as df_label left it, after DF_OK or DF_NOBODY
 * memory    n_bytes of it (see df_joints_bytes), aligned to 8 bytes; separate from the scratch memory
 * joints    DF_JOINTS of them, filled
 *
 * Returns DF_OK, DF_NOBODY, or an error code; after an error, nothing was written. */
static inline int df_find_joints(const df_forest *forest, const df_camera *camera, const void *scratch, void *memory,
                                 size_t n_bytes, df_joint *joints) {
    const df_person *person = (const df_person *)scratch;
    df_proposals all;
    df_cloud cloud;
    float *at = (float *)memory;
    size_t n = 0;
    int32_t i, step;
    int k;
    if (!forest || !forest->leaves || !camera || !scratch || !memory || !joints) return DF_BAD_ARGUMENT;
    if (df_check_frame(camera) != DF_OK) return df_check_frame(camera);
    if ((uintptr_t)memory % 8 || (uintptr_t)scratch % 8) return DF_BAD_SCRATCH;
    step = df_grid_step(person->n, DF_FAST_PIXELS);
    for (i = 0; i < person->n; i++) n += (size_t)df_is_sampled(camera, person, i, step);
    if (df_joints_bytes((int32_t)n) > n_bytes) return DF_BAD_SCRATCH;
    memset(joints, 0, DF_JOINTS * sizeof *joints);
    if (!n) return DF_NOBODY;
    cloud.n = (int32_t)n;
    cloud.points = at, at += 3 * n;
    cloud.areas = at, at += n;
    cloud.shares = at, at += DF_PARTS * n;
    cloud.own = at, at += 5 * n;
    cloud.starts = at, at += 9 * n;
    cloud.ends = at, at += 4 * n;
    cloud.found = at, at += DF_JOINT_FIELDS * n;
    cloud.owner = (int32_t *)(void *)at;
    df_fill_cloud(forest, camera, person, step, &cloud);
    memset(&all, 0, sizeof all);
    for (k = 0; k < DF_CLUSTERS; k++) all.n_modes[k] = df_find_modes(&cloud, k, all.modes[k]);
    for (k = 0; k < DF_OWN; k++) df_push_back(df_own[k][0], df_own[k][1], &all);
#if DF_PLACERS > 0
    for (k = 0; k < DF_PLACERS; k++) df_place(&df_placers[k], &all);
#endif
    df_answer(&all, joints);
    return DF_OK;
}
