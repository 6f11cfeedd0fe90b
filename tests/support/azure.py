"""A file as Azure Kinect's recorder writes it, and the calibration of a real device."""

import json
import struct

import numpy as np

# the depth camera of a real device: what its file holds, and what Microsoft's SDK makes of it for 640 x 576
AZURE = [0.5122697949409485, 0.49451231956481934, 0.4921168386936188, 0.4921667277812958, 3.1305770874023438,
         2.324939012527466, 0.1304156482219696, 3.458651542663574, 3.350114583969116, 0.6629416346549988, 0, 0,
         -0.0000511557373101823, 0.00008132171933539212]  # fmt: skip
CALIBRATION = {
    "CalibrationInformation": {
        "Cameras": [
            {"Location": "CALIBRATION_CameraLocationPV0", "Intrinsics": {"ModelParameters": [0.0] * 14}},
            {"Location": "CALIBRATION_CameraLocationD0", "Intrinsics": {"ModelParameters": AZURE}},
        ]
    }
}


def azure_file(path, n=3, size=(640, 576), attachment=CALIBRATION):
    """Write tracks as Azure Kinect's recorder does: gray16be, raw, DEPTH beside IR, with the code b16g.

    PyAV writes raw video without its code, so that goes into the empty field of the track's header.
    """
    import av

    with av.open(str(path), "w", format="matroska", options={"allow_raw_vfw": "1"}) as container:
        streams = {}
        for title in ("DEPTH", "IR"):
            stream = container.add_stream("rawvideo", rate=30)
            stream.width, stream.height = size
            stream.pix_fmt = "gray16be"
            stream.metadata["title"] = title
            streams[title] = stream
        container.add_attachment("calibration.json", "application/octet-stream", json.dumps(attachment).encode())
        for number in range(n):
            for title, stream in streams.items():
                values = np.full(size[::-1], 2000 + number if title == "DEPTH" else 77, np.uint16)
                picture = av.VideoFrame.from_ndarray(values, format="gray16be")
                picture.pts = number
                for packet in stream.encode(picture):
                    container.mux(packet)
    plain = struct.pack("<IiiHHI", 40, size[0], -size[1], 1, 16, 0)
    content = path.read_bytes()
    assert content.count(plain) == 2
    path.write_bytes(content.replace(plain, struct.pack("<IiiHH4s", 40, *size, 1, 16, b"b16g")))
    return path
