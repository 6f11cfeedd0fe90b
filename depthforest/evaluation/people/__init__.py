"""Evaluation of the detection of people: masks compared with true masks.

From the ground up: `options` (what a run reads and writes), `matching` (who counts as found, and which masks are
false), `ids` (whether people in a recording keep their ids), `score` (`PeopleScore`: figures and intervals), `judging`
(`evaluate_people`: one pass over frames), `rooms` (real frames with marked people), `page` (the HTML report), `run` (a
run of `evaluate --people`).
"""
