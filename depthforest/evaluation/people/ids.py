"""Scoring whether people in a recording keep their ids."""

from __future__ import annotations

from dataclasses import dataclass

from depthforest.evaluation.people.matching import FOUND_IOU, JudgedFrame


@dataclass(frozen=True)
class IdScore:
    """How well ids stay with people.

    An id belongs to the first person it is given to, and a person's own id is the first that belongs to them.

    Parameters
    ----------
    n_seen : int
        How often a true person is evaluated in a frame, over all people and frames.
    n_kept : int
        How often that person is found with their own id.
    n_switches : int
        How often a person is found with a different id than the last time.
    n_people : int
        Number of true people.
    """

    n_seen: int
    n_kept: int
    n_switches: int
    n_people: int

    @property
    def kept(self) -> float:
        """Share of people's frames in which they are found with their own id; NaN if nobody is there."""
        return self.n_kept / self.n_seen if self.n_seen else float("nan")

    @classmethod
    def of(cls, frames: list[JudgedFrame]) -> IdScore:
        """Follow the people through the frames of one recording, in order."""
        owners: dict[int, int] = {}  # id -> person
        own: dict[int, int] = {}  # person -> id
        last: dict[int, int] = {}
        n_seen = n_kept = n_switches = 0
        people: set[int] = set()
        for frame in frames:
            for person, found, iou in frame.people:
                people.add(person)
                n_seen += 1
                if iou < FOUND_IOU:
                    continue
                if owners.setdefault(found, person) == person:
                    own.setdefault(person, found)
                n_kept += own.get(person) == found
                n_switches += last.get(person, found) != found
                last[person] = found
        return cls(n_seen, n_kept, n_switches, len(people))
