"""The documentation site has a page that labels depth pictures in the browser, made when the site is built."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.exported import tool
from support.limbforests import forest_of

DOCS = Path(__file__).resolve().parents[2] / "docs"

CONF = f"""
import sys
sys.path.insert(0, {str(DOCS)!r})
extensions = ["myst_parser", "site_browser_page"]
browser_page_model = "small.safetensors"
"""


def test_a_visitor_clicks_the_sample(tmp_path):
    for name in ("ziglang", "sphinx", "myst_parser"):
        pytest.importorskip(name, reason="needs depthforest[docs]")
    sync_api = pytest.importorskip("playwright.sync_api")
    chromium = tool("chromium", "chromium-browser", "google-chrome")
    forest_of(5, smooth_m=0.03).save(tmp_path / "small.safetensors")
    (tmp_path / "conf.py").write_text(CONF)
    (tmp_path / "index.md").write_text("# Site\n\n```{toctree}\nstart/browser\n```\n")
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "browser.md").write_text("# Try\n\n```{browser-page}\n```\n")
    command = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", ".", "site"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(120_000)  # milliseconds
        page.goto((tmp_path / "site" / "start" / "browser.html").as_uri())
        page.click("a.browser-page")
        page.wait_for_selector("body[data-ready]")
        page.click("#sample")
        page.wait_for_function("document.getElementById('said').textContent.includes('of 320 x 240 labeled in')")
        browser.close()


def test_a_site_without_the_compiler_says_so_in_one_line(tmp_path, monkeypatch, capsys):
    pytest.importorskip("docutils", reason="needs depthforest[docs]")
    spec = importlib.util.spec_from_file_location("site_browser_page", DOCS / "site_browser_page.py")
    extension = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(extension)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    app = SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=tmp_path)
    extension.make_page(app)
    assert capsys.readouterr().err == extension.MISSING + "\n"
    (line,) = extension.BrowserPage.run(SimpleNamespace(page=extension.BrowserPage.page))
    assert "ziglang" in line.astext()
    assert "\n" not in line.astext()
    assert list(tmp_path.iterdir()) == []
