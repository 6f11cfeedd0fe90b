"""A RealSense camera made in software by Intel's own SDK, and files that its recorder writes."""

import time

import numpy as np

WIDTH, HEIGHT, UNIT = 32, 24, 0.0005


class SoftwareCamera:
    """A device with a depth sensor whose frames are pushed by `push`."""

    def __init__(self, rs, fps=30):
        self.rs = rs
        self.device = rs.software_device()
        self.sensor = self.device.add_sensor("Stereo Module")
        inside = rs.intrinsics()
        inside.width, inside.height, inside.fx, inside.fy, inside.ppx, inside.ppy = WIDTH, HEIGHT, 50, 51, 15.5, 11.25
        inside.model, inside.coeffs = rs.distortion.brown_conrady, [0] * 5
        stream = rs.video_stream()
        stream.type, stream.index, stream.uid, stream.fmt = rs.stream.depth, 0, 1, rs.format.z16
        stream.width, stream.height, stream.fps, stream.bpp, stream.intrinsics = WIDTH, HEIGHT, fps, 2, inside
        self.profile = self.sensor.add_video_stream(stream, True)
        self.sensor.add_read_only_option(rs.option.depth_units, UNIT)
        self.sensor.add_read_only_option(rs.option.stereo_baseline, 50.0)
        self.device.register_info(rs.camera_info.name, "Software D435")
        self.device.register_info(rs.camera_info.serial_number, "0123")

    def push(self, number):
        """Let the sensor see a wall at 1000 + number units, 33 ms after the last."""
        rs, frame = self.rs, self.rs.software_video_frame()
        frame.stride, frame.bpp = WIDTH * 2, 2
        frame.pixels = np.full((HEIGHT, WIDTH), 2000 + number, np.uint16)
        frame.timestamp, frame.domain = 1e6 + 33.0 * number, rs.timestamp_domain.system_time
        frame.frame_number, frame.depth_units = number + 1, UNIT
        frame.profile = self.profile.as_video_stream_profile()
        self.sensor.on_video_frame(frame)


def record(rs, path, n=4):
    """Record n frames of a software camera with the SDK's recorder."""
    camera = SoftwareCamera(rs)
    recorder = rs.recorder(str(path), camera.device)
    sensor, queue = recorder.query_sensors()[0], rs.frame_queue(10)
    sensor.open(sensor.get_stream_profiles()[0])
    sensor.start(queue)
    for number in range(n):
        camera.push(number)
        assert queue.wait_for_frame(5000)
        time.sleep(0.01)
    sensor.stop()
    sensor.close()
    return path
