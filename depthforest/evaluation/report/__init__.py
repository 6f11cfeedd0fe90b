"""The report: figures in, one HTML file that needs nothing else out.

Plots are inline SVG (`svg`, `plots`), model cards come from Markdown with HTML off (`cards`), `examples` draws the
best and worst frames beside the truth, `page` puts it together.
"""
