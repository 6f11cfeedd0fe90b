"""Detection of people: a depth frame in, one mask for each person out.

Other rooms may use `find_people`, with a `Background` or without one, the `People` it returns, `PeopleTracker`, which
keeps ids over a recording, `measure_people`, `find_world`, and `PersonModel`; training also uses its training data
(`learning`).

Modules, from the ground up:

- `grid`: a frame as coarse cells of the nearest surface, in meters, with normals and the noise of the frame. Only the
  nearest surface counts, so that thin limbs are not lost.
- `planes`: the planes of a room by RANSAC on points with normals: floor, walls, and the up direction.
- `regions`: connected cells, separated at depth jumps, and their measures. Measures add up, so a person in several
  pieces is measured as their sum.
- `faces`: flat faces of furniture, grown from their flattest cells. Normals on a face vary only by noise; a trunk is
  curved.
- `survey`: `SurveyedRoom`: the cells of a grid on planes and faces, and the up direction.
- `touching`: separates touching people by their heads, each over its own trunk.
- `bodies`: assembles regions into bodies, by gaps and sizes.
- `judging`: proposes candidates, describes them by the forests' answers, and classifies them with `PersonModel`.
- `outlines`: pixel-accurate masks: each reading joins the surface that it lies on.
- `background`: the empty room: depth and noise of every pixel. Farther readings soon replace the background, because a
  camera cannot see through a wall. Nearer ones do so after half a minute.
- `finding`: `find_people`, with a background or without, and `People`, its result.
- `world`: `find_world`: up and the camera's height from the floor, and joints in meters above it.
- `sizes`: measures people's sizes.
- `room`: `LearnedRoom`: the background of a recording, learned while people are in it.
- `tracks`: `PeopleTracker`: ids that persist over a recording, by overlap of masks and position in meters.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
