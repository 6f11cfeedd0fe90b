"""State that all open pages share: the source, the models, and the labeling thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from depthforest.base import thread_count
from depthforest.forest import Forest, find_model, load, shipped_models
from depthforest.frames import BONES, JOINTS, NAMED_SCALES, PRESETS, REGIONS15
from depthforest.io import FrameSequence
from depthforest.people import Background
from depthforest.view.clips import open_clip, with_data_sets
from depthforest.view.options import ViewOptions
from depthforest.view.protocol import GIVEN, Reading
from depthforest.view.uploads import UploadFolder


class Viewer:
    """State that all open pages share: the source, the models, and the labeling thread.

    Parameters
    ----------
    options : ViewOptions
    tell : callable
        Called with one line for every refusal and error.
    """

    def __init__(self, options: ViewOptions, tell: Callable[[str], object]) -> None:
        self.options, self.tell = options, tell
        self.sources = tuple(map(str, with_data_sets(options.sources, options.reading)[0]))
        self.clip = open_clip(options.sources, options.reading, options.fps)
        self.background: Background | None = None
        if options.background is not None:
            self.background = Background.learn(FrameSequence([options.background], self.clip.options))
        self.models = list(shipped_models())
        for model in (options.model, options.compare):
            if model is not None and model not in self.models:
                find_model(model)
                self.models.append(model)
        self._forests: dict[int, Forest] = {}
        first = 0 if options.model is None else self.models.index(options.model)
        if options.model is None:
            default = find_model(None)
            first = next(i for i, name in enumerate(self.models) if shipped_models().get(name) == default)
        self.first_model = first
        self.first_compared = None if options.compare is None else self.models.index(options.compare)
        self.sessions: dict[str, Any] = {}
        self.uploads = UploadFolder()
        # one frame at a time; each uses the pool of threads that everything uses
        self.worker = ThreadPoolExecutor(1, thread_name_prefix="depthforest-view")

    def forest(self, index: int) -> Forest:
        """Return a model; it is read on first use."""
        if index not in self._forests:
            self._forests[index] = load(self.models[index])
        return self._forests[index]

    def first_reading(self) -> Reading:
        """Return the reading options of the command line."""
        options, reading = self.options, self.clip.options
        size = "" if reading.size is None else "{}x{}".format(*reading.size)
        people = "all" if options.is_background_removed else "find" if options.background is None else "given"
        camera = "" if reading.camera is None else GIVEN
        scale = "" if reading.scale is None else str(reading.scale)
        topic = reading.topic or ""
        return Reading(camera, scale, reading.flip, reading.rotate, size, people, options.is_tracked, topic)

    def hello(self, session: str) -> dict[str, Any]:
        """Return the first message to a page."""
        return {
            "kind": "hello",
            "session": session,
            "models": self.models,
            "joints": JOINTS,
            "bones": BONES,
            "regions": REGIONS15.names,
            "cameras": list(PRESETS),
            "scales": list(NAMED_SCALES),
            "threads": thread_count(),
        }

    def close(self) -> None:
        """Drop work that is waiting for the labeling thread, and remove the uploads."""
        self.worker.shutdown(wait=False, cancel_futures=True)
        self.uploads.close()
