"""People and furniture before a camera: bodies and poses in, exact depth and labels out.

Other rooms may use `pose_body`, `compose`, `render` with its `Canvas`, and the exact solids of `analytic`.

Modules, from the ground up:

- `analytic`: exact depth of planes, spheres and boxes in plain algebra. The renderer is tested against it.
- `skinning`: linear blend skinning: a body in a pose, standing on the floor.
- `rendering`: the z-buffer. One thread draws a frame, on a canvas that the thread keeps, because fresh memory costs as
  much time as drawing a body. Shared edges are covered exactly once.
- `shapes`: curved shapes as rows of numbers, meshed by one kernel.
- `furniture`: furniture as boxes. Seats are fitted to the person who sits on them.
- `assembling`, `items`, `hangings`, `things`: what cluttered rooms are full of. `inventory` draws each when it is met.
- `stage`: what a scene is: people, pieces, walls and a view.
- `rooms`: cluttered rooms: walls, and places for things.
- `activities`: what people carry, sit behind, lie on, and how they touch.
- `composing`: people, furniture and walls around a camera that looks at them. Seats fit thighs and back; nothing
  intersects a person.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
