"""How people stand and move: pose families, BVH clips and gestures in, a rotation for each bone (`Pose`) out.

Other rooms may use `sample_poses` for built-in poses, `load_poses` for clips, `thin_poses`, and the stretches of motion
that recordings are composed of.

Modules, from the ground up:

- `kinematics`: rotations, headings, and joint positions of a reference adult.
- `bvh`: BVH files, in any channel order.
- `mocap`: clips retargeted to our skeleton. The T-pose of a clip is straightened, its heading removed, and its
  feet are put on whatever supports them.
- `angles`: anatomical joint angles, their limits, and the rotations they describe.
- `collision`: tests whether a pose is possible: limbs outside the body, weight over the feet, limbs on the floor.
- `rules`: what ranges of angles cannot express: the rhythm of a step, resting feet, touching hands.
- `families`: the families of built-in poses, as ranges of joint angles.
- `sampling`: built-in poses drawn from the families. Impossible poses are drawn again.
- `diversity`: thins poses until no two are closer than 5 cm (by default) in their largest joint distance.
- `motion`: stretches of clips, or of built-in walking and gestures, blended into each other and steered along a lane of
  the floor. A longer trajectory begins with the same keyframes.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
