"""Who is in a frame: a depth frame in, one mask for each person out.

Other rooms may use `find_people`, with a `Background` or without one, the `People` it returns, `PeopleTracker`, which
keeps ids over a recording, `measure_people`, `find_world`, and `PersonModel`; training also what it learns from
(`learning`).

Modules, from the ground up:

- `grid`: a frame as coarse cells of the nearest surface, in meters, with normals and the noise of the frame. Only the
  nearest surface counts, so that thin limbs survive the coarseness.
- `planes`: the planes of a room by RANSAC on points with normals: floor, walls, and which way is up.
- `regions`: connected cells, separated at depth jumps, and their measures. Measures add up, so a person in several
  pieces is measured as their sum.
- `faces`: flat faces of furniture, grown from where they are flattest. Normals on a face vary by noise alone; those on
  a trunk bend away.
- `survey`: `SurveyedRoom`, what planes and faces take of a grid, and which way is up in it.
- `touching`: separates people who touch, by their heads, each over its own trunk.
- `bodies`: regions put together to bodies, by gaps and sizes.
- `judging`: proposals of what may be people, described by what forests see in them, and `PersonModel`, which judges.
- `outlines`: masks drawn to the pixel: each reading joins the surface that it lies on.
- `background`: the empty room: depth and noise of every pixel. Farther readings soon replace the background, because
  nobody can see through a wall. Nearer ones do so after half a minute.
- `finding`: `find_people`, with a background or without, and `People`, its result.
- `world`: `find_world`: up and the camera's height from the floor, and joints in meters above it.
- `sizes`: how large people are.
- `room`: `LearnedRoom`: the background of a recording, learned while people are in it.
- `tracks`: `PeopleTracker`: ids that persist over a recording, by overlap of masks and position in meters.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
