#!/bin/sh
# Every command of docs/EXPERIMENTS.md, as tools/experiments.py runs them. A row's commands are those under its
# number, and what rows before it have made.
set -e
# 1
depthforest train --data v1.zarr -o grown.safetensors --trees 1 --frames-per-tree 4000 --pixels-per-frame 200 --candidates 200 --min-pixels 40 --probe-range-m 0.7 --seed 5
depthforest evaluate grown.safetensors --data valid.zarr --no-joints --json test_grown.safetensors.json
depthforest evaluate grown.safetensors --data valid_near.zarr --no-joints --json test-near_grown.safetensors.json
depthforest evaluate grown.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_grown.safetensors.json
# 2
depthforest evaluate grown.safetensors --data valid.zarr --no-joints --mirror --json test_mirror_grown.safetensors.json
depthforest evaluate grown.safetensors --data valid_near.zarr --no-joints --mirror --json test-near_mirror_grown.safetensors.json
depthforest evaluate grown.safetensors --data valid_realsense.zarr --no-joints --mirror --json test-stereo_mirror_grown.safetensors.json
# 3
depthforest fit-leaves grown.safetensors --data fresh.zarr --limit 2000 -o fit_rounds_0_mirror_facings_1_smooth_0_grown.safetensors --rounds 0 --mirror --facings 1 --smooth 0
depthforest evaluate fit_rounds_0_mirror_facings_1_smooth_0_grown.safetensors --data valid.zarr --no-joints --json test_fit_rounds_0_mirror_facings_1_smooth_0_grown.safetensors.json
depthforest evaluate fit_rounds_0_mirror_facings_1_smooth_0_grown.safetensors --data valid_near.zarr --no-joints --json test-near_fit_rounds_0_mirror_facings_1_smooth_0_grown.safetensors.json
depthforest evaluate fit_rounds_0_mirror_facings_1_smooth_0_grown.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_rounds_0_mirror_facings_1_smooth_0_grown.safetensors.json
# 4
depthforest fit-leaves grown.safetensors --data fresh.zarr --limit 2000 -o fit_rounds_0_mirror_smooth_0_grown.safetensors --rounds 0 --mirror --smooth 0
depthforest evaluate fit_rounds_0_mirror_smooth_0_grown.safetensors --data valid.zarr --no-joints --json test_fit_rounds_0_mirror_smooth_0_grown.safetensors.json
depthforest evaluate fit_rounds_0_mirror_smooth_0_grown.safetensors --data valid_near.zarr --no-joints --json test-near_fit_rounds_0_mirror_smooth_0_grown.safetensors.json
depthforest evaluate fit_rounds_0_mirror_smooth_0_grown.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_rounds_0_mirror_smooth_0_grown.safetensors.json
# 5
depthforest fit-leaves grown.safetensors --data fresh.zarr --limit 2000 -o fit_rounds_0_mirror_grown.safetensors --rounds 0 --mirror
depthforest evaluate fit_rounds_0_mirror_grown.safetensors --data valid.zarr --no-joints --json test_fit_rounds_0_mirror_grown.safetensors.json
depthforest evaluate fit_rounds_0_mirror_grown.safetensors --data valid_near.zarr --no-joints --json test-near_fit_rounds_0_mirror_grown.safetensors.json
depthforest evaluate fit_rounds_0_mirror_grown.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_rounds_0_mirror_grown.safetensors.json
# 6
depthforest fit-leaves grown.safetensors --data fresh.zarr --limit 2000 -o fit_mirror_grown.safetensors --mirror
depthforest evaluate fit_mirror_grown.safetensors --data valid.zarr --no-joints --json test_fit_mirror_grown.safetensors.json
depthforest evaluate fit_mirror_grown.safetensors --data valid_near.zarr --no-joints --json test-near_fit_mirror_grown.safetensors.json
depthforest evaluate fit_mirror_grown.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_mirror_grown.safetensors.json
# 7
depthforest fit-leaves grown.safetensors --data fresh.zarr --limit 2000 -o fit_mirror_rounds_5_grown.safetensors --mirror --rounds 5
depthforest evaluate fit_mirror_rounds_5_grown.safetensors --data valid.zarr --no-joints --json test_fit_mirror_rounds_5_grown.safetensors.json
depthforest evaluate fit_mirror_rounds_5_grown.safetensors --data valid_near.zarr --no-joints --json test-near_fit_mirror_rounds_5_grown.safetensors.json
depthforest evaluate fit_mirror_rounds_5_grown.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_mirror_rounds_5_grown.safetensors.json
# 8
depthforest fit-leaves grown.safetensors --data fresh.zarr --limit 2000 -o fit_mirror_facings_16_grown.safetensors --mirror --facings 16
depthforest evaluate fit_mirror_facings_16_grown.safetensors --data valid.zarr --no-joints --json test_fit_mirror_facings_16_grown.safetensors.json
depthforest evaluate fit_mirror_facings_16_grown.safetensors --data valid_near.zarr --no-joints --json test-near_fit_mirror_facings_16_grown.safetensors.json
depthforest evaluate fit_mirror_facings_16_grown.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_mirror_facings_16_grown.safetensors.json
# 9
depthforest fit-leaves grown.safetensors --data fresh.zarr --limit 2000 -o fit_no-mirror_grown.safetensors --no-mirror
depthforest evaluate fit_no-mirror_grown.safetensors --data valid.zarr --no-joints --json test_fit_no-mirror_grown.safetensors.json
depthforest evaluate fit_no-mirror_grown.safetensors --data valid_near.zarr --no-joints --json test-near_fit_no-mirror_grown.safetensors.json
depthforest evaluate fit_no-mirror_grown.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_no-mirror_grown.safetensors.json
# 10
depthforest fit-leaves grown.safetensors --data fresh.zarr --limit 2000 -o fit_mirror_leaves_10000_grown.safetensors --mirror --leaves 10000
depthforest evaluate fit_mirror_leaves_10000_grown.safetensors --data valid.zarr --no-joints --json test_fit_mirror_leaves_10000_grown.safetensors.json
depthforest evaluate fit_mirror_leaves_10000_grown.safetensors --data valid_near.zarr --no-joints --json test-near_fit_mirror_leaves_10000_grown.safetensors.json
depthforest evaluate fit_mirror_leaves_10000_grown.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_mirror_leaves_10000_grown.safetensors.json
# 11
depthforest fit-leaves grown.safetensors --data fresh.zarr --data fresh_near.zarr --limit 1000 -o fit_mirror_near_grown.safetensors --mirror
depthforest evaluate fit_mirror_near_grown.safetensors --data valid.zarr --no-joints --json test_fit_mirror_near_grown.safetensors.json
depthforest evaluate fit_mirror_near_grown.safetensors --data valid_near.zarr --no-joints --json test-near_fit_mirror_near_grown.safetensors.json
depthforest evaluate fit_mirror_near_grown.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_mirror_near_grown.safetensors.json
# 12
depthforest train --data v1.zarr --data near.zarr -o grown_near.safetensors --trees 1 --frames-per-tree 4000 --pixels-per-frame 200 --candidates 200 --min-pixels 40 --probe-range-m 0.7 --seed 5
depthforest fit-leaves grown_near.safetensors --data fresh.zarr --data fresh_near.zarr --limit 1000 -o fit_mirror_near_grown_near.safetensors --mirror
depthforest evaluate fit_mirror_near_grown_near.safetensors --data valid.zarr --no-joints --json test_fit_mirror_near_grown_near.safetensors.json
depthforest evaluate fit_mirror_near_grown_near.safetensors --data valid_near.zarr --no-joints --json test-near_fit_mirror_near_grown_near.safetensors.json
depthforest evaluate fit_mirror_near_grown_near.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_mirror_near_grown_near.safetensors.json
# 13
depthforest fit-leaves grown.safetensors --data fresh.zarr --data fresh_realsense.zarr --limit 1000 -o fit_mirror_stereo_grown.safetensors --mirror
depthforest evaluate fit_mirror_stereo_grown.safetensors --data valid.zarr --no-joints --json test_fit_mirror_stereo_grown.safetensors.json
depthforest evaluate fit_mirror_stereo_grown.safetensors --data valid_near.zarr --no-joints --json test-near_fit_mirror_stereo_grown.safetensors.json
depthforest evaluate fit_mirror_stereo_grown.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_mirror_stereo_grown.safetensors.json
# 14
depthforest train --data v1.zarr --data realsense.zarr -o grown_stereo.safetensors --trees 1 --frames-per-tree 4000 --pixels-per-frame 200 --candidates 200 --min-pixels 40 --probe-range-m 0.7 --seed 5
depthforest fit-leaves grown_stereo.safetensors --data fresh.zarr --data fresh_realsense.zarr --limit 1000 -o fit_mirror_stereo_grown_stereo.safetensors --mirror
depthforest evaluate fit_mirror_stereo_grown_stereo.safetensors --data valid.zarr --no-joints --json test_fit_mirror_stereo_grown_stereo.safetensors.json
depthforest evaluate fit_mirror_stereo_grown_stereo.safetensors --data valid_near.zarr --no-joints --json test-near_fit_mirror_stereo_grown_stereo.safetensors.json
depthforest evaluate fit_mirror_stereo_grown_stereo.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_mirror_stereo_grown_stereo.safetensors.json
# 15
depthforest train --data v1.zarr -o grown_frames-per-tree_1000.safetensors --trees 1 --frames-per-tree 1000 --pixels-per-frame 200 --candidates 200 --min-pixels 40 --probe-range-m 0.7 --seed 5
depthforest fit-leaves grown_frames-per-tree_1000.safetensors --data fresh.zarr --limit 2000 -o fit_mirror_grown_frames-per-tree_1000.safetensors --mirror
depthforest evaluate fit_mirror_grown_frames-per-tree_1000.safetensors --data valid.zarr --no-joints --json test_fit_mirror_grown_frames-per-tree_1000.safetensors.json
depthforest evaluate fit_mirror_grown_frames-per-tree_1000.safetensors --data valid_near.zarr --no-joints --json test-near_fit_mirror_grown_frames-per-tree_1000.safetensors.json
depthforest evaluate fit_mirror_grown_frames-per-tree_1000.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_mirror_grown_frames-per-tree_1000.safetensors.json
# 16
depthforest train --data v1.zarr -o grown_frames-per-tree_2000.safetensors --trees 1 --frames-per-tree 2000 --pixels-per-frame 200 --candidates 200 --min-pixels 40 --probe-range-m 0.7 --seed 5
depthforest fit-leaves grown_frames-per-tree_2000.safetensors --data fresh.zarr --limit 2000 -o fit_mirror_grown_frames-per-tree_2000.safetensors --mirror
depthforest evaluate fit_mirror_grown_frames-per-tree_2000.safetensors --data valid.zarr --no-joints --json test_fit_mirror_grown_frames-per-tree_2000.safetensors.json
depthforest evaluate fit_mirror_grown_frames-per-tree_2000.safetensors --data valid_near.zarr --no-joints --json test-near_fit_mirror_grown_frames-per-tree_2000.safetensors.json
depthforest evaluate fit_mirror_grown_frames-per-tree_2000.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_mirror_grown_frames-per-tree_2000.safetensors.json
# 17
depthforest train --data v1.zarr -o grown_candidates_50.safetensors --trees 1 --frames-per-tree 4000 --pixels-per-frame 200 --candidates 50 --min-pixels 40 --probe-range-m 0.7 --seed 5
depthforest fit-leaves grown_candidates_50.safetensors --data fresh.zarr --limit 2000 -o fit_mirror_grown_candidates_50.safetensors --mirror
depthforest evaluate fit_mirror_grown_candidates_50.safetensors --data valid.zarr --no-joints --json test_fit_mirror_grown_candidates_50.safetensors.json
depthforest evaluate fit_mirror_grown_candidates_50.safetensors --data valid_near.zarr --no-joints --json test-near_fit_mirror_grown_candidates_50.safetensors.json
depthforest evaluate fit_mirror_grown_candidates_50.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_mirror_grown_candidates_50.safetensors.json
# 18
depthforest train --data v1.zarr -o grown_trees_2.safetensors --trees 2 --frames-per-tree 4000 --pixels-per-frame 200 --candidates 200 --min-pixels 40 --probe-range-m 0.7 --seed 5
depthforest fit-leaves grown_trees_2.safetensors --data fresh.zarr --limit 2000 -o fit_mirror_grown_trees_2.safetensors --mirror
depthforest evaluate fit_mirror_grown_trees_2.safetensors --data valid.zarr --no-joints --json test_fit_mirror_grown_trees_2.safetensors.json
depthforest evaluate fit_mirror_grown_trees_2.safetensors --data valid_near.zarr --no-joints --json test-near_fit_mirror_grown_trees_2.safetensors.json
depthforest evaluate fit_mirror_grown_trees_2.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_mirror_grown_trees_2.safetensors.json
# 19
depthforest train --data v1.zarr -o grown_probe-range-m_0.3.safetensors --trees 1 --frames-per-tree 4000 --pixels-per-frame 200 --candidates 200 --min-pixels 40 --probe-range-m 0.3 --seed 5
depthforest fit-leaves grown_probe-range-m_0.3.safetensors --data fresh.zarr --limit 2000 -o fit_mirror_grown_probe-range-m_0.3.safetensors --mirror
depthforest evaluate fit_mirror_grown_probe-range-m_0.3.safetensors --data valid.zarr --no-joints --json test_fit_mirror_grown_probe-range-m_0.3.safetensors.json
depthforest evaluate fit_mirror_grown_probe-range-m_0.3.safetensors --data valid_near.zarr --no-joints --json test-near_fit_mirror_grown_probe-range-m_0.3.safetensors.json
depthforest evaluate fit_mirror_grown_probe-range-m_0.3.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_mirror_grown_probe-range-m_0.3.safetensors.json
# 20
depthforest train --data v1.zarr -o grown_class-balance_0.safetensors --trees 1 --frames-per-tree 4000 --pixels-per-frame 200 --candidates 200 --min-pixels 40 --probe-range-m 0.7 --seed 5 --class-balance 0
depthforest fit-leaves grown_class-balance_0.safetensors --data fresh.zarr --limit 2000 -o fit_mirror_grown_class-balance_0.safetensors --mirror
depthforest evaluate fit_mirror_grown_class-balance_0.safetensors --data valid.zarr --no-joints --json test_fit_mirror_grown_class-balance_0.safetensors.json
depthforest evaluate fit_mirror_grown_class-balance_0.safetensors --data valid_near.zarr --no-joints --json test-near_fit_mirror_grown_class-balance_0.safetensors.json
depthforest evaluate fit_mirror_grown_class-balance_0.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_mirror_grown_class-balance_0.safetensors.json
# 21
depthforest train --data v1.zarr -o grown_pixels-per-frame_50.safetensors --trees 1 --frames-per-tree 4000 --pixels-per-frame 50 --candidates 200 --min-pixels 40 --probe-range-m 0.7 --seed 5
depthforest fit-leaves grown_pixels-per-frame_50.safetensors --data fresh.zarr --limit 2000 -o fit_mirror_grown_pixels-per-frame_50.safetensors --mirror
depthforest evaluate fit_mirror_grown_pixels-per-frame_50.safetensors --data valid.zarr --no-joints --json test_fit_mirror_grown_pixels-per-frame_50.safetensors.json
depthforest evaluate fit_mirror_grown_pixels-per-frame_50.safetensors --data valid_near.zarr --no-joints --json test-near_fit_mirror_grown_pixels-per-frame_50.safetensors.json
depthforest evaluate fit_mirror_grown_pixels-per-frame_50.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_mirror_grown_pixels-per-frame_50.safetensors.json
# 22
depthforest train --data v1.zarr -o grown_probe-range-m_1.0.safetensors --trees 1 --frames-per-tree 4000 --pixels-per-frame 200 --candidates 200 --min-pixels 40 --probe-range-m 1.0 --seed 5
depthforest fit-leaves grown_probe-range-m_1.0.safetensors --data fresh.zarr --limit 2000 -o fit_mirror_grown_probe-range-m_1.0.safetensors --mirror
depthforest evaluate fit_mirror_grown_probe-range-m_1.0.safetensors --data valid.zarr --no-joints --json test_fit_mirror_grown_probe-range-m_1.0.safetensors.json
depthforest evaluate fit_mirror_grown_probe-range-m_1.0.safetensors --data valid_near.zarr --no-joints --json test-near_fit_mirror_grown_probe-range-m_1.0.safetensors.json
depthforest evaluate fit_mirror_grown_probe-range-m_1.0.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_mirror_grown_probe-range-m_1.0.safetensors.json
# 23
depthforest train --data v1.zarr -o grown_class-balance_1.safetensors --trees 1 --frames-per-tree 4000 --pixels-per-frame 200 --candidates 200 --min-pixels 40 --probe-range-m 0.7 --seed 5 --class-balance 1
depthforest fit-leaves grown_class-balance_1.safetensors --data fresh.zarr --limit 2000 -o fit_mirror_grown_class-balance_1.safetensors --mirror
depthforest evaluate fit_mirror_grown_class-balance_1.safetensors --data valid.zarr --no-joints --json test_fit_mirror_grown_class-balance_1.safetensors.json
depthforest evaluate fit_mirror_grown_class-balance_1.safetensors --data valid_near.zarr --no-joints --json test-near_fit_mirror_grown_class-balance_1.safetensors.json
depthforest evaluate fit_mirror_grown_class-balance_1.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_mirror_grown_class-balance_1.safetensors.json
# 24
depthforest train --data v1.zarr -o grown_candidates_800.safetensors --trees 1 --frames-per-tree 4000 --pixels-per-frame 200 --candidates 800 --min-pixels 40 --probe-range-m 0.7 --seed 5
depthforest fit-leaves grown_candidates_800.safetensors --data fresh.zarr --limit 2000 -o fit_mirror_grown_candidates_800.safetensors --mirror
depthforest evaluate fit_mirror_grown_candidates_800.safetensors --data valid.zarr --no-joints --json test_fit_mirror_grown_candidates_800.safetensors.json
depthforest evaluate fit_mirror_grown_candidates_800.safetensors --data valid_near.zarr --no-joints --json test-near_fit_mirror_grown_candidates_800.safetensors.json
depthforest evaluate fit_mirror_grown_candidates_800.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_mirror_grown_candidates_800.safetensors.json
# 25
depthforest train --data v1.zarr -o grown_frames-per-tree_8000.safetensors --trees 1 --frames-per-tree 8000 --pixels-per-frame 200 --candidates 200 --min-pixels 40 --probe-range-m 0.7 --seed 5
depthforest fit-leaves grown_frames-per-tree_8000.safetensors --data fresh.zarr --limit 2000 -o fit_mirror_grown_frames-per-tree_8000.safetensors --mirror
depthforest evaluate fit_mirror_grown_frames-per-tree_8000.safetensors --data valid.zarr --no-joints --json test_fit_mirror_grown_frames-per-tree_8000.safetensors.json
depthforest evaluate fit_mirror_grown_frames-per-tree_8000.safetensors --data valid_near.zarr --no-joints --json test-near_fit_mirror_grown_frames-per-tree_8000.safetensors.json
depthforest evaluate fit_mirror_grown_frames-per-tree_8000.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_mirror_grown_frames-per-tree_8000.safetensors.json
# 26
depthforest train --data v1.zarr -o grown_trees_3.safetensors --trees 3 --frames-per-tree 4000 --pixels-per-frame 200 --candidates 200 --min-pixels 40 --probe-range-m 0.7 --seed 5
depthforest fit-leaves grown_trees_3.safetensors --data fresh.zarr --limit 2000 -o fit_mirror_grown_trees_3.safetensors --mirror
depthforest evaluate fit_mirror_grown_trees_3.safetensors --data valid.zarr --no-joints --json test_fit_mirror_grown_trees_3.safetensors.json
depthforest evaluate fit_mirror_grown_trees_3.safetensors --data valid_near.zarr --no-joints --json test-near_fit_mirror_grown_trees_3.safetensors.json
depthforest evaluate fit_mirror_grown_trees_3.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_mirror_grown_trees_3.safetensors.json
# 27
depthforest fit-leaves grown_trees_3.safetensors --data fresh.zarr --limit 2000 -o fit_rounds_0_mirror_grown_trees_3.safetensors --rounds 0 --mirror
depthforest evaluate fit_rounds_0_mirror_grown_trees_3.safetensors --data valid.zarr --no-joints --json test_fit_rounds_0_mirror_grown_trees_3.safetensors.json
depthforest evaluate fit_rounds_0_mirror_grown_trees_3.safetensors --data valid_near.zarr --no-joints --json test-near_fit_rounds_0_mirror_grown_trees_3.safetensors.json
depthforest evaluate fit_rounds_0_mirror_grown_trees_3.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_rounds_0_mirror_grown_trees_3.safetensors.json
# 28
depthforest train --data v1.zarr -o grown_trees_3_probe-range-m_0.3.safetensors --trees 3 --frames-per-tree 4000 --pixels-per-frame 200 --candidates 200 --min-pixels 40 --probe-range-m 0.3 --seed 5
depthforest fit-leaves grown_trees_3_probe-range-m_0.3.safetensors --data fresh.zarr --limit 2000 -o fit_mirror_grown_trees_3_probe-range-m_0.3.safetensors --mirror
depthforest evaluate fit_mirror_grown_trees_3_probe-range-m_0.3.safetensors --data valid.zarr --no-joints --json test_fit_mirror_grown_trees_3_probe-range-m_0.3.safetensors.json
depthforest evaluate fit_mirror_grown_trees_3_probe-range-m_0.3.safetensors --data valid_near.zarr --no-joints --json test-near_fit_mirror_grown_trees_3_probe-range-m_0.3.safetensors.json
depthforest evaluate fit_mirror_grown_trees_3_probe-range-m_0.3.safetensors --data valid_realsense.zarr --no-joints --json test-stereo_fit_mirror_grown_trees_3_probe-range-m_0.3.safetensors.json
