"""A Sphinx extension that writes references from the code itself.

`command-line` writes a section for every command, `public-names` the documentation of every public name of a package.
"""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

ROUTING = re.compile(r"get_metadata_routing|set_\w+_request")
"""Methods that scikit-learn gives every estimator; their documentation refers to scikit-learn's own pages."""

_written: set[int] = set()
"""Names that have been documented: some packages offer what another one has."""


def _text(value: object) -> str:
    return "" if value is None else " ".join(str(value).split())


def _default(parameter: Any) -> str:
    value = parameter.default
    if value is None or callable(value) or value == () or getattr(parameter, "is_flag", False):
        return ""
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _rows(command: Any, context: Any) -> list[tuple[str, str, str]]:
    rows = []
    for parameter in command.get_params(context):
        if parameter.name == "help" or getattr(parameter, "hidden", False):
            continue
        if parameter.param_type_name == "argument":
            name = parameter.metavar or parameter.human_readable_name
        else:
            name = ", ".join([*parameter.opts, *parameter.secondary_opts])
        rows.append((name, _text(getattr(parameter, "help", "")), _default(parameter)))
    return rows


def _table(rows: list[tuple[str, str, str]]) -> nodes.table:
    table, group = nodes.table(), nodes.tgroup(cols=3)
    table += group
    for width in (25, 60, 15):
        group += nodes.colspec(colwidth=width)
    head, body = nodes.thead(), nodes.tbody()
    group += [head, body]
    for part, lines in ((head, [("option", "what it does", "default")]), (body, rows)):
        for line in lines:
            row = nodes.row()
            for column, cell in enumerate(line):
                entry = nodes.entry()
                is_code = part is body and column != 1 and cell
                paragraph = nodes.paragraph()
                paragraph += nodes.literal(text=cell) if is_code else nodes.Text(cell)
                entry += paragraph
                row += entry
            part += row
    return table


class CommandLine(Directive):
    """Write a section for every command: its help and its options."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        import typer
        from typer.main import get_command

        from depthforest.cli.commands import app

        group = get_command(app)
        context = typer.Context(group, info_name="depthforest")
        sections: list[nodes.Node] = []
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if command is None or command.hidden:
                continue
            section = nodes.section(ids=[nodes.make_id(f"depthforest {name}")])
            section += nodes.title(text=f"depthforest {name}")
            for paragraph in (command.help or "").split("\n\n"):
                if paragraph.strip():
                    section += nodes.paragraph(text=_text(paragraph))
            inner = typer.Context(command, info_name=name, parent=context)
            usage = " ".join(command.collect_usage_pieces(inner))
            section += nodes.literal_block(text=f"depthforest {name} {usage}", language="none")
            if rows := _rows(command, inner):
                section += _table(rows)
            sections.append(section)
        return sections


class PublicNames(Directive):
    """Write what autodoc says of every public name of a package, classes with their public methods."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return what autodoc makes of the names."""
        package = importlib.import_module(self.arguments[0])
        lines: list[str] = []
        for name in sorted(package.__all__, key=lambda name: (name[0].islower(), name)):
            value = getattr(package, name)
            if inspect.ismodule(value) or isinstance(value, str) or id(value) in _written:
                continue
            _written.add(id(value))
            kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
            lines += [f".. auto{kind}:: {package.__name__}.{name}"]
            if kind == "class":
                left_out = ", ".join(filter(ROUTING.fullmatch, dir(value)))
                lines += ["   :members:", f"   :exclude-members: {left_out}"]
            lines += [""]
        container = nodes.container()
        self.state.nested_parse(StringList(lines, self.arguments[0]), 0, container)
        return list(container.children)


def setup(app: Any) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("command-line", CommandLine)
    app.add_directive("public-names", PublicNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
