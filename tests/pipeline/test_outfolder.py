"""The output folder: names, inputs that are never overwritten, and a second run."""

import json
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.labelcommand import CAMERA, DATA, GOLDEN, MODEL, contents, files, label, person_only, times

import depthforest as df
from depthforest.base.errors import DepthForestError, DepthForestWarning, UsageError, text_of
from depthforest.cli.commands import app
from depthforest.cli.options import as_option
from depthforest.frames import drawing
from depthforest.pipeline import LabelOptions, LabelRun
from depthforest.pipeline.outfolder import OutputFolder, _is_newer, safe_name
from depthforest.pipeline.run import model_digest, shipped_name

# -- names -------------------------------------------------------------------------------------------------------------


def test_equal_names_get_their_folders(frames, out, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(frames, other)
    drawing.write_depth(other / "only.png", person_only(DATA[3]))
    assert label(frames, other, "-o", out, "--write", "parts") == 0
    expected = {f"parts/{folder}/f{i}.png" for folder in ("in", "other") for i in range(3)}
    assert files(out) == {"label.json", "parts/only.png", *expected}


def test_files_that_differ_in_their_ending_keep_it(frames, out):
    for i in range(2):
        np.save(frames / f"f{i}.npy", person_only(DATA[i]))
    assert label(frames, "-o", out, "--write", "parts") == 0
    expected = {"parts/f0_npy.png", "parts/f0_png.png", "parts/f1_npy.png", "parts/f1_png.png", "parts/f2.png"}
    assert files(out) == {"label.json", *expected}
    assert label(frames, "-o", out, "--write", "parts") == 0
    assert files(out) == {"label.json", *expected}


def test_a_second_run_never_takes_an_input_for_another(frames, out, tmp_path):
    """The same file name in two folders, labeled one after the other."""
    other = tmp_path / "other"
    other.mkdir()
    drawing.write_depth(other / "f0.png", person_only(DATA[1]))
    assert label(frames / "f0.png", "-o", out, "--write", "parts") == 0
    first = (out / "parts" / "f0.png").read_bytes()
    assert label(other / "f0.png", "-o", out, "--write", "parts") == 0
    assert files(out) == {"label.json", "parts/f0.png", "parts/other/f0.png"}
    assert (out / "parts" / "f0.png").read_bytes() == first
    assert (out / "parts" / "other" / "f0.png").read_bytes() != first


def test_pages_of_a_stack_and_files_stay_apart(frames, out):
    np.save(frames / "f.npy", np.stack([person_only(DATA[i]) for i in range(2)]))
    drawing.write_depth(frames / "f_000001.png", person_only(DATA[3]))
    assert label(frames, "-o", out, "--write", "parts") == 0
    assert files(out) == {
        "label.json",
        *(f"parts/f{i}.png" for i in range(3)),
        *("parts/f_000000.png", "parts/f_000001.png", "parts/in/f_000001.png"),
    }
    assert (out / "parts" / "f_000001.png").read_bytes() == (out / "parts" / "f1.png").read_bytes()


def test_a_stack_does_not_take_the_names_of_earlier_files(frames, out):
    drawing.write_depth(frames / "f_000001.png", person_only(DATA[3]))
    assert label(frames / "f_000001.png", "-o", out, "--write", "parts") == 0
    first = contents(out / "parts")
    np.save(frames / "f.npy", np.stack([person_only(DATA[i]) for i in range(2)]))
    assert label(frames / "f.npy", "-o", out, "--write", "parts") == 0
    assert contents(out / "parts").items() >= first.items()
    assert files(out / "parts") == {"f_000001.png", "in/f_000000.png", "in/f_000001.png"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("frame 1", "frame 1"),
        ("größe", "größe"),
        ("..", "frame"),
        ("", "frame"),
        (".hidden", "hidden"),
        ("..\\..\\x", "_.._x"),
        ("a/b", "a_b"),
        ("a\nb\x00\u202e", "a_b__"),
        ("c:x*?", "c_x__"),
        ("nul.tar", "_nul.tar"),
        ("\udcff", "_"),
    ],
)
def test_names_become_safe(text, expected):
    assert safe_name(text) == expected


def test_long_names_are_cut_and_stay_apart():
    a, b = safe_name("ä" * 200 + "1"), safe_name("ä" * 200 + "2")
    assert a != b
    assert max(len(a.encode()), len(b.encode())) <= 180
    assert safe_name(a) == a


@pytest.mark.skipif(os.name != "posix", reason="such names exist on POSIX only")
def test_odd_names_stay_inside(out, tmp_path):
    odd = tmp_path / ".." / tmp_path.name / "odd"
    odd.mkdir()
    for name in ("...png", "..\\..\\up.png", "a\nb.png", "[red].png", "F.png", "f.png", "x" * 250 + ".npy"):
        if name.endswith("npy"):
            np.save(odd / name, person_only(DATA[0]))
        else:
            drawing.write_depth(odd / name, person_only(DATA[0]))
    before = files(tmp_path)
    assert label(odd, *odd.glob(".*"), "-o", out, "--write", "json,parts") == 0
    after = files(tmp_path) - before
    assert all(name.startswith("out/") for name in after)
    names = {Path(name).relative_to("out/parts").as_posix() for name in after if name.startswith("out/parts/")}
    assert len(names) == 7
    assert {"_.._up.png", "a_b.png", "[red].png", "odd/F.png"} <= names


def test_a_record_that_leads_elsewhere_is_refused(frames, out):
    assert label(frames / "f0.png", "-o", out) == 0
    record = json.loads((out / "label.json").read_text())
    (source,) = record["sources"].values()
    for name in ("../../f0", "/f0", "a//b"):
        (out / "label.json").write_text(json.dumps(record | {"sources": {name: source}}))
        with pytest.raises(DepthForestError, match="is not what label writes"):
            label(frames / "f0.png", "-o", out)
    (out / "label.json").write_text(json.dumps(record | {"schema": 2}))
    with pytest.raises(DepthForestError, match="has schema 2, this version knows 1"):
        label(frames / "f0.png", "-o", out)


# -- inputs are never overwritten --------------------------------------------------------------------------------------


def test_the_input_folder_is_no_output_folder(frames):
    before = contents(frames)
    with pytest.raises(UsageError, match="is an input"):
        label(frames, "-o", frames)
    assert contents(frames) == before


def test_outputs_inside_the_input_folder_are_not_read_again(frames):
    before = contents(frames)
    pattern = frames / "**" / "*.png"
    assert label(pattern, "-o", frames / "labels", "--write", "parts,confidence") == 0
    first = contents(frames)
    with pytest.warns(DepthForestWarning, match="6 of the inputs are outputs of label in it and are not read"):
        assert label(pattern, "-o", frames / "labels", "--write", "parts,confidence") == 0
    assert contents(frames) == first
    assert before.items() <= first.items()
    with pytest.raises(UsageError, match="all inputs are outputs of label"):
        label(frames / "labels" / "parts", "-o", frames / "labels")


def test_a_data_set_keeps_its_labels(tmp_path):
    shutil.copytree(GOLDEN / "frames", tmp_path / "data")
    before = contents(tmp_path)
    for force in ([], ["--force"]):
        with pytest.raises(UsageError, match="parts: is there already, and not from label"):
            label(tmp_path / "data" / "depth", "-o", tmp_path / "data", *force)
    assert contents(tmp_path) == before


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_link_does_not_lead_to_an_input(frames, out):
    out.mkdir()
    (out / "parts").symlink_to(frames)
    before = contents(frames)
    with pytest.raises(UsageError, match="not from label"):
        label(frames, "-o", out)
    assert contents(frames) == before


def test_masks_are_inputs_too(frames, out):
    assert label(frames, "-o", out) == 0
    before = contents(out)
    with pytest.raises(UsageError, match="parts: may be overwritten"):
        label(frames, "-o", out, "--mask", out / "parts", "--force")
    assert contents(out) == before


# -- a second run ------------------------------------------------------------------------------------------------------


def test_a_second_run_does_what_is_missing(frames, out, capsys):
    assert label(frames, "-o", out) == 0
    first, bytes_before = times(out), contents(out)
    assert label(frames, "-o", out) == 0
    assert capsys.readouterr().out.endswith(": 0; done before: 3\n")
    assert times(out) == first
    (out / "overlay" / "f1.png").unlink()
    assert label(frames, "-o", out) == 0
    assert {name for name, when in times(out).items() if when != first.get(name)} == {"parts/f1.png", "overlay/f1.png"}
    # another output of the same frames, then one frame that changed
    assert label(frames, "-o", out, "--write", "confidence") == 0
    assert len(files(out)) == 10
    late = time.time_ns() + 10**10
    os.utime(frames / "f2.png", ns=(late, late))
    before = times(out)
    assert label(frames, "-o", out) == 0
    assert {name for name, when in times(out).items() if when != before[name]} == {"parts/f2.png", "overlay/f2.png"}
    assert bytes_before.items() <= contents(out).items()


def test_later_runs_draw_the_same_pictures(frames, out, tmp_path):
    """With joints, if an earlier run wrote them, whatever is asked for now; joints of other options are forgotten."""
    only_parts = tmp_path / "parts"
    assert label(frames, "-o", only_parts, "--write", "overlay") == 0
    assert label(frames, "-o", out, "--write", "overlay,joints") == 0
    first = contents(out)
    assert first["overlay/f0.png"] != contents(only_parts)["overlay/f0.png"]
    (out / "overlay" / "f0.png").unlink()
    assert label(frames, "-o", out, "--write", "parts,overlay") == 0
    assert first.items() <= contents(out).items()
    assert label(frames, "-o", out, "--write", "overlay", "--force") == 0
    assert first.items() <= contents(out).items()
    options = ("--write", "overlay", "--mirror")
    assert label(frames, "-o", out, *options, "--force") == 0
    assert label(frames, "-o", tmp_path / "plain", *options) == 0
    assert contents(out)["overlay/f0.png"] == contents(tmp_path / "plain")["overlay/f0.png"]


def test_force_labels_again_the_same_bytes(frames, out):
    write = ["--write", "parts,overlay,confidence,probabilities,json"]
    assert label(frames, "-o", out, *write) == 0
    first, bytes_before = times(out), contents(out)
    assert label(frames, "-o", out, "--force", "--threads", 1, *write) == 0
    assert all(when != first[name] for name, when in times(out).items())
    assert contents(out) == bytes_before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--mirror"], "mirror was False, now True"),
        (["--reject", "0.9"], r"reject was not given, now 0\.9"),
        (["--rule", "votes"], "rule was mean, now votes"),
        (["--smooth", "0.1"], r"smooth_m was 0\.0, now 0\.1"),
        (["--flip"], "flip was False, now True"),
        (["--model", "other.safetensors"], "another model"),
        (["--model", "joints.safetensors"], "another model"),
        (["--track"], "track was off, now on"),
        (["--mask", "mask.png"], "mask was not given, now .*mask.png"),
    ],
)
def test_other_options_never_mix(frames, out, tmp_path, monkeypatch, change, message):
    monkeypatch.chdir(tmp_path)
    leaves = df.Forest.load(MODEL).leaves[::-1]
    forest = df.Forest.load(MODEL)
    df.Forest(forest.roots, forest.offsets, forest.thresholds, forest.children, leaves, forest.part_set).save(
        "other.safetensors"
    )
    replace(forest, joints={"samples": 5}).save("joints.safetensors")
    Image.fromarray(DATA[0].people == 1).save("mask.png")
    words = ["label", str(frames), "-o", str(out), "--camera", CAMERA]
    model = [] if "--model" in change else ["--model", str(MODEL)]
    assert label(frames, "-o", out, "--write", "parts,confidence") == 0
    before = contents(out)
    with pytest.raises(
        UsageError, match=f"was labeled with other options \\({message}\\); .* is_forced=True to"
    ) as error:
        app([*words, *model, *change], standalone_mode=False)
    assert "; name another folder, or pass --force to replace those results" in text_of(error.value, as_option)
    assert contents(out) == before
    # one frame again by force: nothing of the old answers stays, of no output
    words[1] = str(frames / "f0.png")
    app([*words, *model, *change, "--write", "parts", "--force"], standalone_mode=False)
    assert files(out) == {"label.json", "parts/f0.png"}


def test_another_model_is_named_if_it_is_known(frames, out):
    """By the digest that the record holds."""
    names = {digest: name for name in ("body31-fast", "body31-top") if (digest := model_digest(df.load(name)))}
    fast, top = names
    (out / "parts").mkdir(parents=True)
    for old, new, message in (
        (fast, top, r"\(model was body31-fast, now body31-top\)"),
        (fast, "0" * 64, r"\(model was body31-fast, now one that is not shipped\)"),
        ("0" * 64, "1" * 64, r"\(another model\)"),
    ):
        record = {"schema": 1, "identity": {"model": old}, "sources": {}, "video": None}
        (out / "label.json").write_text(json.dumps(record))
        with pytest.raises(UsageError, match=message):
            OutputFolder(out, ["parts"], [frames / "f0.png"], {"model": new}, model_name=shipped_name)


def test_what_was_there_stays_if_nothing_can_be_labeled(frames, out):
    assert label(frames, "-o", out) == 0
    before = contents(out)
    (frames / "f0.png").write_bytes(b"")
    assert label(frames / "f0.png", "-o", out, "--mirror", "--force") == 1
    assert contents(out) == before


def test_foreign_files_survive_force(frames, out):
    assert label(frames, "-o", out) == 0
    (out / "parts" / "mine.png").write_bytes(b"mine")
    (out / "notes.txt").write_text("mine")
    assert label(frames / "f0.png", "-o", out, "--mirror", "--force", "--write", "parts") == 0
    assert files(out) == {"label.json", "parts/f0.png", "parts/mine.png", "notes.txt"}


def a_run(frames, out, forest, **options):
    options = LabelOptions(is_background_removed=True, **options)
    return LabelRun(forest, df.read_frames(frames, CAMERA), out, options, outputs=("parts",))


def test_two_runs_that_began_together_do_not_mix(frames, out, forest):
    """Each saw an empty folder; both wrote their frames into it."""
    first, second = a_run(frames, out, forest), a_run(frames, out, forest, smooth=0.1)
    first.run()
    before = contents(out)
    with pytest.raises(UsageError, match="another run has written there since this one began; run it again"):
        second.run()
    assert contents(out) == before


def test_what_a_killed_run_left_is_removed(frames, out, forest):
    a_run(frames / "f0.png", out, forest).run()
    for name in (
        ".0123456789ab.part",
        "parts/.0123456789ab.part",
        ".0123456789ab.part.mp4",
        ".mine.part",
        "my/.1.part",
    ):
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).touch()
    a_run(frames / "f1.png", out, forest).run()
    assert {name for name in files(out) if ".part" in name} == {".mine.part", "my/.1.part"}


def test_an_output_as_old_as_its_input_is_done(tmp_path):
    """Some file systems count whole seconds."""
    for name, seconds in (("in", 100), ("out", 100), ("later", 101)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (seconds, seconds))
    assert _is_newer([tmp_path / "out"], [tmp_path / "in"])
    assert not _is_newer([tmp_path / "out"], [tmp_path / "in", tmp_path / "later"])
    assert not _is_newer([tmp_path / "none"], [tmp_path / "in"])
