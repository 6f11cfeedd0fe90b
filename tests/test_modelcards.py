import pytest

import depthforest as df
from depthforest import modelcards
from depthforest.models import shipped_models

CARD = """# fast

Small & quick, **3 trees** of `<b>` leaves; see [the file](fast.toml) and [home](https://example.org/a?b=1).

| | one | two |
|---|---|---|
| right | 44 % | 46 % |

- first
- second,
  which goes on

```
a < b
```
Last.
"""


def test_markdown_becomes_html():
    page = modelcards.render(CARD)
    assert "<h3>fast</h3>" in page
    assert "Small &amp; quick, <strong>3 trees</strong> of <code>&lt;b&gt;</code> leaves" in page
    assert "see the file and" in page
    assert '<a href="https://example.org/a?b=1">home</a>' in page
    assert "<thead><tr><th></th><th>one</th><th>two</th></tr></thead><tbody><tr><td>right</td>" in page
    assert "<ul><li>first</li><li>second, which goes on</li></ul>" in page
    assert "<pre><code>a &lt; b</code></pre>" in page
    assert page.endswith("<p>Last.</p>")


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
