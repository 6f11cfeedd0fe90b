"""The report: figures in, one self-contained HTML file out.

`evaluation.run` uses it: finished evaluations and images go to `page.write_report`; `text` also has the words that the
terminal shows.

Modules, from the ground up:

- `svg`: plots as inline SVG, without a plotting package, so that the page has the same bytes everywhere.
- `cards`: model cards from Markdown. A card is untrusted: none of its HTML reaches the page.
- `examples`: the best and worst frames beside the ground truth, frames on which models differ, and marked frames.
- `text`: the words: titles of figures, intervals, verdicts, and how figures are computed.
- `plots`: the sections that are plots: parts, confusion, joints, breakdowns, confidence.
- `page`: `write_report`, which assembles the page.
"""
