"""Who is in a frame: a depth frame in, one mask for each person out.

`find_people` looks for people with a `Background` or without, `PeopleTracker` keeps their ids over a recording. The
way without a background: coarse cells (`grid`), floor and walls (`planes`), flat furniture (`faces`), connected
`regions`, `bodies` judged by size and shape and parted where they touch (`touching`), masks drawn to the pixel
(`outlines`).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
