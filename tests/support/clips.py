"""Tiny motion clips."""

from synth.bodies.skeleton import BONE_NAMES, PARENTS


def bvh_clip(folder, name="01_01", n=4):
    """Write a tiny clip on the CMU skeleton in which the left arm rises."""

    children = {i: [c for c in range(len(BONE_NAMES)) if PARENTS[c] == i] for i in range(-1, len(BONE_NAMES))}
    offsets = {"LeftArm": "2 1 0", "RightArm": "-2 1 0", "LeftUpLeg": "1 -1 0", "RightUpLeg": "-1 -1 0"}

    def node(i, indent):
        name = BONE_NAMES[i]
        side = 1 if name.startswith("L") else -1
        default = (
            f"{4 * side} 0 0"
            if any(w in name for w in ("ForeArm", "Hand", "Finger", "Thumb"))
            else "0 -7 0"
            if name.endswith(("Leg", "Foot")) and "Up" not in name
            else "0 0 2"
            if "Toe" in name
            else "0 2 0"
        )
        channels = (
            "6 Xposition Yposition Zposition Zrotation Yrotation Xrotation"
            if i == 0
            else "3 Zrotation Yrotation Xrotation"
        )
        lines = [
            f"{'ROOT' if i == 0 else 'JOINT'} {name}",
            "{",
            f"OFFSET {'0 0 0' if i == 0 else offsets.get(name, default)}",
            f"CHANNELS {channels}",
        ]
        for child in children[i]:
            lines += node(child, indent + 1)
        if not children[i]:
            lines += ["End Site", "{", "OFFSET 0 1 0", "}"]
        return [*lines, "}"]

    n_values = 3 + 3 * len(BONE_NAMES)
    arm = 3 + 3 * BONE_NAMES.index("LeftArm")
    rows = []
    for t in range(n):
        row = [0.0] * n_values
        row[1] = 15.0
        row[arm] = 20.0 * t
        rows.append(" ".join(map(str, row)))
    text = ["HIERARCHY", *node(0, 0), "MOTION", f"Frames: {n}", "Frame Time: 0.2", *rows]
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.bvh").write_text("\n".join(text) + "\n")
    return folder
