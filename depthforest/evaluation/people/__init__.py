"""How well people are found: masks held against true masks.

From the ground up: `options` (what a run reads and writes), `matching` (the rule: who counts as found, what is false),
`ids` (do people of a recording keep their ids), `score` (`PeopleScore`: figures and intervals), `judging`
(`evaluate_people`: one pass over frames), `rooms` (real frames with marked people), `page` (the HTML report), `run`
(a run of `evaluate --people`).
"""
