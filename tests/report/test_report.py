"""What a report says, and what it must never do."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import haystat as hs
from haystat import measures
from haystat.report import FORMATS, collect
from haystat.report.words import spoken

VOID = {"meta", "br"}
NASTY = '<script>alert("x")</script>'


class Checked(HTMLParser):
    """Collects tags and texts, and fails where tags do not match."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.open, self.texts = [], [], []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


KINDS = {
    "f1": {},
    "several measures": {"measure": ["precision", "recall"]},
    "no label": {"labels": 0},
    "passive": {"design": "passive"},
    "stratified": {"design": "stratified", "measure": "accuracy"},
    "two systems": {"systems": ["a", NASTY]},
    "a curve": {"measure": measures.PRCurve(n_thresholds=16)},
    "a threshold": {"measure": measures.Threshold(n_thresholds=32, precision=0.6)},
    "precision alone": {"measure": "precision"},
    "three classes": {"classes": ("x", "y", NASTY), "measure": "f1_macro"},
    "class names": {"classes": ("no", NASTY)},
}


@pytest.fixture(scope="module", params=KINDS)
def study(request, make):
    return make(**KINDS[request.param])[0]


@pytest.fixture(scope="module")
def report(study):
    return collect(study)


def test_the_page_is_whole_and_needs_nothing_else(report):
    page = FORMATS["html"](report)
    found = Checked(page)
    assert {"html", "main", "svg", "table"} <= {tag for tag, _ in found.tags}
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in found.tags}
    addresses = [
        value
        for _, attrs in found.tags
        for name, value in attrs.items()
        if name in ("src", "href", "action") or (name or "").startswith("on")
    ]
    assert addresses == []
    assert "http://" not in page
    assert "https://" not in page
    assert "url(" not in page
    assert "@import" not in page


def test_no_number_is_missing_in_words(report):
    page = " ".join(Checked(FORMATS["html"](report)).texts)
    assert not re.search(r"\b(nan|inf|None)\b", page)


def test_texts_of_the_user_stay_texts(report):
    assert NASTY not in FORMATS["html"](report)
    assert "<script" not in FORMATS["html"](report)
    assert "<script" not in FORMATS["md"](report)


def test_every_format_can_be_written(report):
    assert FORMATS["md"](report).startswith("# ")
    assert json.loads(FORMATS["json"](report))["status"]["size"] == 3000


def test_the_same_study_gives_the_same_report_and_is_not_changed_by_it(study, report):
    entries = study.entries
    assert FORMATS["html"](collect(study)) == FORMATS["html"](report)
    assert study.entries == entries


def test_the_estimate_is_the_one_of_the_study(make):
    study, _ = make()
    report = collect(study, level=0.9)
    (component,) = report["estimate"]["components"]
    estimate = study.estimate(level=0.9)
    assert (component["value"], (component["low"], component["high"])) == (
        estimate.value,
        estimate.interval,
    )
    assert f"{estimate.value:.1%}" in FORMATS["html"](report)


def test_convergence_ends_at_the_estimate(make):
    study, _ = make()
    report = collect(study)
    assert [point["labels"] for point in report["convergence"]] == [40, 80, 120]
    assert report["convergence"][-1]["components"] == report["estimate"]["components"]


def test_the_confusion_matrix_holds_the_truth_and_the_f1(make):
    study, label = make(labels=400)
    with study.reading() as fold:
        index, _ = fold.pool.items.load_all()
        predicted = fold.pool.outputs(np.sort(index)).predictions[:, 0]
    assert len(predicted) == len(label)
    (matrix,) = collect(study)["confusion"]
    count = {(cell["predicted"], cell["actual"]): cell["count"] for cell in matrix["cells"]}
    assert sum(count.values()) == pytest.approx(3000)
    for cell in matrix["cells"]:
        truth = np.sum((predicted == int(cell["predicted"])) & (label == int(cell["actual"])))
        width = cell["high"] - cell["low"]
        assert cell["low"] - width / 2 <= truth <= cell["high"] + width / 2
    hit = count["1", "1"]
    f1 = 2 * hit / (2 * hit + count["1", "0"] + count["0", "1"])
    assert f1 == pytest.approx(study.estimate().value)


def test_a_curve_without_support_begins_at_the_operating_point(make):
    study, _ = make()
    (curve,) = collect(study)["curves"]
    assert curve["from"] == pytest.approx(0.5, abs=0.01)
    assert min(point["threshold"] for point in curve["points"]) >= curve["from"]
    first = curve["points"][0]
    assert first["precision"] == pytest.approx(study.estimate("precision").value, abs=0.05)


def test_a_passive_design_supports_the_whole_curve(make):
    study, _ = make(design="passive")
    (curve,) = collect(study)["curves"]
    assert curve["from"] is None
    assert curve["points"][0]["recall"] == pytest.approx(1.0)


def test_labels_that_cannot_speak_say_so(make):
    study, _ = make(measure="precision")
    report = collect(study)
    page = FORMATS["html"](report)
    assert [entry["name"] for entry in report["also"] if "reason" in entry] != []
    assert "do not support" in page


def test_regions_add_up_to_the_pool_and_the_labels(make):
    study, _ = make()
    report = collect(study)
    assert sum(region["items"] for region in report["regions"]) == 3000
    assert sum(region["labelled"] for region in report["regions"]) == 120
    found = [answer for answer in study.answers if answer.label == 1]
    assert sum(region["positives"] for region in report["regions"]) == len(found)
    ends = [(region["from"], region["to"]) for region in report["regions"]]
    assert ends == sorted(ends)


def test_mistakes_are_mistakes_and_can_be_left_out(make):
    study, label = make()
    mistakes = collect(study, examples=2)["mistakes"]
    assert 1 <= len(mistakes) <= 4
    for mistake in mistakes:
        assert mistake["predicted"] != mistake["actual"] == str(label[mistake["item"]])
    page = FORMATS["html"](collect(study, examples=0))
    assert "b &amp; c" not in page


def test_the_command_writes_by_the_ending(make, tmp_path, run):
    study, _ = make()
    for name, start in (("r.html", "<!doctype"), ("r.md", "# "), ("r.json", "{")):
        run("report", study.path, "-o", tmp_path / name)
        assert (tmp_path / name).read_text().startswith(start)
    found = json.loads(run("report", study.path, "--format", "json"))
    assert found["estimate"]["labels"] == 120


def test_wrong_input_is_one_line_and_exit_2(make, tmp_path, run):
    study, _ = make(labels=0)
    for arguments, said in (
        ((tmp_path / "none.haystat", "-o", tmp_path / "r.html"), "no study"),
        ((study.path, "-o", tmp_path / "r.docx"), "end it in"),
        ((study.path, "--level", 2), "level"),
        ((study.path, "--examples", -1), "--examples"),
        ((study.path, "-o", tmp_path / "no" / "r.html"), "r.html"),
    ):
        assert said in run("report", *arguments, code=2)


def test_a_report_shows_where_to_cut_and_what_is_in_use(make):
    study, _ = make(measure=measures.Threshold(n_thresholds=32, precision=0.6))
    report = collect(study)
    [found] = report["cuts"]
    assert found["requirement"] == "precision of at least 0.6"
    assert report["in_use"][0]["n_predicted"] == found["own"]["n_predicted"]
    page = Checked(FORMATS["html"](report))
    words = " ".join(page.texts)
    assert "Where to cut" in words
    assert "in use: " in words
    marked = [text for text in page.texts if text.startswith("certified: ")]
    assert bool(marked) == (found["certified"] is not None)
    assert "## Where to cut" in FORMATS["md"](report)
    best = collect(make(measure="f1", design="assisted")[0])["cuts"][0]
    assert best["requirement"] == "best f1"
    assert best["certified"]["n_predicted"] > 0


def test_sentences_begin_with_a_capital_letter(make):
    for report in (collect(make()[0]), collect(make(measure=["precision", "f1"])[0])):
        assert all(line[0].isupper() for line in report["summary"]), report["summary"]
    assert [spoken(name) for name in ("f1", "mcc", "new:f1")] == ["F1", "MCC", "new:f1"]


def test_the_words_of_two_cuts_point_away_from_each_other(make):
    page = FORMATS["html"](collect(make(measure="f1", design="assisted")[0]))
    place = r'<text class="(\w+)" x="([\d.]+)" y="[\d.]+">(?:certified|in use): '
    (one, left), (other, right) = sorted(re.findall(place, page), key=lambda found: float(found[1]))
    assert float(left) < float(right)
    assert (one, other) == ("end", "start")


def test_many_labels_are_listed_and_the_mean_over_them_is_told_first():
    rng = np.random.default_rng(0)
    names = tuple(f"tag {k}" for k in range(9))
    pool = hs.Pool.multi_label({name: rng.beta(0.4, 3, 200) for name in names}, strata=27)
    study = hs.Evaluation(pool, measures.PerLabel(measures.F1(), names), random_state=0)
    study.tell({query.item: int(rng.random() < 0.3) for query in study.ask(200)})
    report, estimate = collect(study), study.estimate()
    assert report["summary"][0].startswith(f"f1 macro {estimate.values[-2]:.4g} (")
    for form in ("html", "md"):
        written = FORMATS[form](report)
        assert all(f"f1 {name}" in written for name in (*names, "micro"))
        assert f"{estimate.intervals[3, 1]:.4g}" in written
        assert "components" not in written
