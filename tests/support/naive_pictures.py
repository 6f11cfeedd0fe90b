"""Slow, obvious twins of the pictures; tests compare both."""

from __future__ import annotations

import cv2
import numpy as np

from depthforest.frames import shading


def shade(frame):
    """Return a frame lit like a statue, one step after the other on whole pictures."""
    is_reading = frame.depth_mm > 0
    if not is_reading.any():
        return np.zeros((*frame.shape, 3), dtype=np.uint8)
    depth = frame.depth_mm.astype(np.float32)
    near, far = np.percentile(depth[is_reading], (2, 98))
    distance = np.clip((depth - np.float32(near)) / np.float32(max(far - near, 1.0)), 0, 1)
    lit = shading.AMBIENT + (1 - shading.AMBIENT) * facing_light(frame)
    light = np.where(is_reading, 255 * lit, 0)
    channels = [light * (near_tint + (far_tint - near_tint) * distance) for near_tint, far_tint in shading.TINTS]
    return np.stack([c.astype(np.uint8) for c in channels], axis=-1)


def facing_light(frame):
    """Return the cosine between surface and light, 0 to 1; 0.5 where the neighbors don't lie on one surface."""
    depth = frame.depth_mm / np.float32(1000)
    jump = shading.JUMP_M_PER_M * float(np.median(depth[depth > 0]))
    holes = np.where(depth > 0, depth, np.float32(100.0))
    side = shading.SMOOTHING_PX
    filtered = cv2.bilateralFilter(holes, side, jump, side / 2, borderType=cv2.BORDER_REPLICATE)
    smooth = np.where(depth > 0, filtered, np.nan).astype(np.float32)
    camera = frame.camera
    normal_x = surface_slope(smooth) * np.float32(camera.fx)
    normal_y = surface_slope(smooth.T).T * np.float32(camera.fy)
    x = ((np.arange(camera.width) - camera.cx) / camera.fx).astype(np.float32)
    y = ((np.arange(camera.height) - camera.cy) / camera.fy).astype(np.float32)[:, None]
    normal_z = -(smooth + x * normal_x + y * normal_y)
    light = shading.LIGHT
    along = light[0] * normal_x + light[1] * normal_y + light[2] * normal_z
    length = np.sqrt(normal_x**2 + normal_y**2 + normal_z**2) * np.float32(np.linalg.norm(light))
    cosine = np.abs(along) / length
    return np.where(np.isnan(cosine), np.float32(0.5), np.minimum(cosine, np.float32(1)))


def surface_slope(depth):
    """Return dz/dcol from the neighbors on the same surface: both, or the one that is; NaN if none."""
    step = np.diff(depth, axis=1)
    is_surface = np.abs(step) <= shading.JUMP_M_PER_M * depth[:, 1:]
    step = np.where(is_surface, step, np.float32(0))
    total, n_known = np.zeros_like(depth), np.zeros_like(depth)
    total[:, 1:] += step
    total[:, :-1] += step
    n_known[:, 1:] += is_surface
    n_known[:, :-1] += is_surface
    with np.errstate(invalid="ignore"):
        return total / n_known


def paint(shaded, parts, colors, opacity):
    """Return a shaded picture with its parts painted on."""
    is_part = parts != 255
    lit = shaded[is_part]
    light = shading.SHADOW + ((1 - shading.SHADOW) / 255) * lit.max(axis=1, keepdims=True).astype(np.float32)
    picture = shaded.copy()
    picture[is_part] = (opacity * (colors[parts[is_part]] * light) + (1 - opacity) * lit).astype(np.uint8)
    return picture
