from html.parser import HTMLParser

import pytest

import depthforest as df
from depthforest.evaluation.report import cards as modelcards
from depthforest.forest.loading import shipped_models

CARD = """# fast

Small & quick, **3 trees** of `<b>` leaves; see [the file](fast.toml) and [home](https://example.org/a?b=1).

| | one | two |
|---|---|---|
| right | 44 % | 46 % |

- first
- second,
  which continues

```
a < b
```
Last.
"""


def test_markdown_becomes_html():
    page = modelcards.render(CARD)
    assert page.startswith("<h3>fast</h3>\n")
    assert "Small &amp; quick, <strong>3 trees</strong> of <code>&lt;b&gt;</code> leaves" in page
    assert "see the file and" in page
    assert '<a href="https://example.org/a?b=1">home</a>' in page
    flat = page.replace(">\n<", "><")
    start = (
        '<div class="scroll"><table><thead><tr><th></th><th>one</th><th>two</th></tr></thead><tbody><tr><td>right</td>'
    )
    assert start in flat
    assert "</tbody></table></div>" in flat
    assert "<ul><li>first</li><li>second,\nwhich continues</li></ul>" in flat
    assert "<pre><code>a &lt; b\n</code></pre>" in page
    assert page.endswith("<p>Last.</p>")


def test_headings_are_lowered_and_lists_keep_their_number():
    assert modelcards.render("# a\n## b\n###### c", top=2) == "<h2>a</h2>\n<h3>b</h3>\n<h6>c</h6>"
    assert '<ol start="3">' in modelcards.render("3. three\n4. four")


class Elements(HTMLParser):
    """Collects tags, and attributes as (tag, name, value)."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes = set(), []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes += [(tag, name, value) for name, value in attributes]


def test_links_lead_to_the_web_or_are_text():
    text = "[a](http://a) [b](https://b) [c](mailto:c@d) [d](d.md) [e](#e) [f](JavaScript:f) [g](data:g) <h:h> [i](//i)"
    found = Elements(modelcards.render(text))
    assert [value for _, _, value in found.attributes] == ["http://a", "https://b", "mailto:c@d"]
    assert modelcards.render("[d](d.md)") == "<p>d</p>"


HOSTILE = """[a](https://b[k](x) y) t [c](https://d/autofocus/onfocus=document.title='PWNED'//)

<b onclick="x">raw</b> <!-- comment --> &lt;i&gt; <img src=x onerror=alert(1)>

<div onload=x>
block
</div>

```py" onload="x
fence
```

| <u>a</u> | b |
|--:|:-:|
| [t](https://e "title\" onclick=x") | ![i](https://f/x.png) |

[r]: https://g 'x" onclick="y'

[r] <https://h"onclick=x>
"""


def test_a_hostile_card_yields_no_attribute_or_element_of_its_own():
    found = Elements(modelcards.render(HOSTILE))
    assert found.tags <= {"p", "a", "pre", "code", "div", "table", "thead", "tbody", "tr", "th", "td"}
    addresses = [value for tag, name, value in found.attributes if (tag, name) == ("a", "href")]
    assert "https://d/autofocus/onfocus=document.title='PWNED'//" in addresses
    assert all(address.startswith("https://") for address in addresses)
    others = [attribute for attribute in found.attributes if attribute[:2] != ("a", "href")]
    assert others == [("div", "class", "scroll")]


@pytest.mark.parametrize(
    "attack",
    [
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        '[x](https://a" onclick="alert(1))',
        "| <img src=x onerror=alert(1)> |",
        "```\n</code></pre><script>alert(1)</script>",
        "# <script>alert(1)</script>",
    ],
)
def test_a_card_brings_nothing_else_into_the_page(attack):
    page = modelcards.render(attack)
    for tag in ("<script", "<img", "javascript:", 'onclick="', 'href="https://a"'):
        assert tag not in page


def test_a_card_of_brackets_is_no_endless_work():
    """The work grew with their square: a card of the largest size would take the better part of an hour."""
    assert modelcards.render("[" * 100_000) == "<p>" + "[" * 100_000 + "</p>"


def test_an_open_fence_ends_with_the_card():
    assert modelcards.render("```\ncode") == "<pre><code>code</code></pre>"


def test_the_card_is_beside_the_model(tmp_path):
    model = tmp_path / "my.safetensors"
    assert modelcards.find_card(model) == ""
    (tmp_path / "my.md").write_text("# mine")
    assert modelcards.find_card(model) == "# mine"
    (tmp_path / "my.md").write_bytes(b"x" * (modelcards.MAX_CARD_BYTES + 1))
    assert modelcards.find_card(model) == ""
    assert modelcards.find_card(None) == ""


@pytest.mark.parametrize("name", shipped_models())
def test_shipped_cards_are_shown_whole(name):
    text = modelcards.find_card(shipped_models()[name])
    page = modelcards.render(text)
    assert page.startswith(f"<h3>{name}</h3>")
    assert "](" not in page
    assert "**" not in page


def test_a_forest_describes_itself():
    facts = dict(modelcards.describe_forest(df.load()))
    assert facts["trees"] == "3"
    assert facts["config.depth"] == "20"
