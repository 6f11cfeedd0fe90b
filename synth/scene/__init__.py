"""People and furniture in front of a camera: bodies and poses in, exact depth and labels out.

Other rooms may use `pose_body`, `compose`, `render` with its `Canvas`, and the exact solids of `analytic`.

Modules, from the ground up:

- `analytic`: exact depth of planes, spheres and boxes by solving equations. The renderer is tested against it.
- `skinning`: linear blend skinning: a body in a pose, standing on the floor.
- `rendering`: the z-buffer. One thread draws a frame, on a canvas that the thread keeps, because allocating memory
  takes as long as drawing a body. Shared edges are covered exactly once.
- `shapes`: curved shapes as rows of numbers, turned into meshes by one kernel.
- `furniture`: furniture as boxes. Seats are fitted to the sitting person.
- `assembling`, `items`, `hangings`, `things`: the contents of cluttered rooms. `inventory` draws each on first use.
- `stage`: the parts of a scene: people, pieces, walls and a view.
- `rooms`: cluttered rooms: walls, and places for things.
- `activities`: things that people carry, sit behind or lie on, and people who touch each other.
- `composing`: people, furniture and walls around a camera that looks at them. Seats fit thighs and back; nothing
  intersects a person.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
