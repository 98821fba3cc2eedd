"""A study made with the form of the page, in a real browser."""

from __future__ import annotations

import pytest
from web_case import press, saved

import haystat as hs

pytestmark = [pytest.mark.xdist_group("browser")]


def test_a_study_from_an_uploaded_csv(served, open_page, tmp_path):
    address, path, _ = served
    rows = [f"p{i},{(i * 37 % 1000) / 1000},Ann {i % 90},Anne {i % 90}" for i in range(1000)]
    (tmp_path / "up").mkdir()
    (tmp_path / "up" / "my pairs.csv").write_text("\n".join(["pair,score,name_l,name_r", *rows]))
    page = open_page(f"{address}/new")
    page.set_input_files("#upload", tmp_path / "up" / "my pairs.csv")
    page.wait_for_selector("#preview table")
    assert page.input_value("#score") == "score"
    assert page.input_value("#id") == "pair"
    page.fill("#name", "from the browser")
    page.fill("#prompt", "One person?")
    page.fill("#wanted", "0.2")
    page.fill("#threshold", "0.5")
    page.click("#create")
    page.wait_for_url("**/label?study=from*")
    page.wait_for_selector("#record .item-id")
    assert page.inner_text("#prompt") == "One person?"
    assert page.inner_text(".answer >> nth=1").split()[-1] == "Yes"
    press(page, "j")
    saved(page)
    with hs.Study.open(path.parent / "from the browser.haystat") as study:
        assert study.status().labels == 1
        assert study.settings["source"]["score"] == ["score"]


def test_a_study_of_two_systems_and_three_classes_from_the_form(served, open_page):
    address, path, _ = served
    kinds = ("spam", "news", "other")
    rows = [
        f"m{i},{i / 900},{kinds[i % 3]},{1 - i / 900},{kinds[i % 2]},text {i}" for i in range(900)
    ]
    (path.parent / "mails.csv").write_text("\n".join(["id,old,old_says,new,new_says,text", *rows]))
    open_page.may_complain = True  # a form that is half filled in has no plan yet
    page = open_page(f"{address}/new")
    page.select_option("#file", "mails.csv")
    page.wait_for_selector("#preview table")
    page.select_option("#score", "old")
    page.select_option("#prediction", "old_says")
    page.click("#add-system")
    page.select_option(".system select >> nth=0", "new")
    page.select_option(".system select >> nth=1", "new_says")
    page.fill("#classes", "spam, news, other")
    page.select_option("#measure", "f1_macro")
    page.click("#create")
    page.wait_for_url("**/label?study=mails*")
    page.wait_for_selector("#record .item-id")
    assert [text.split()[-1] for text in page.locator(".answer").all_inner_texts()] == list(kinds)
    press(page, "2")
    saved(page)
    with hs.Study.open(path.parent / "mails.haystat") as study:
        assert [answer.label for answer in study.answers] == ["news"]
        assert study.measure.components == ("old:f1_macro", "new:f1_macro")


def test_another_score_helps_and_is_not_shown(served, open_page):
    address, path, _ = served
    rows = [f"p{i},{i / 500},{(i * 7 % 500) / 500},{i % 3},text {i}" for i in range(500)]
    (path.parent / "two.csv").write_text("\n".join(["id,score,old,rule,text", *rows]))
    page = open_page(f"{address}/new")
    page.select_option("#file", "two.csv")
    page.wait_for_selector("#preview table")
    page.select_option("#score", "score")
    page.check("#show input[value=old]")
    page.click("#further summary")
    page.check("#signals input[value=old]")
    page.check("#signals input[value=rule]")
    assert page.is_disabled("#signals input[value=score]"), "what is evaluated is no signal"
    assert page.is_disabled("#show input[value=old]"), "a signal tells the score"
    page.fill("#threshold", "0.9")
    page.click("#create")
    page.wait_for_url("**/label?study=two*")
    page.wait_for_selector("#record .item-id")
    assert "old" not in page.inner_text("#record")
    with hs.Study.open(path.parent / "two.haystat") as study:
        assert study.settings["source"]["signals"] == ["old", "rule"]
        assert study.settings["source"]["show"] == ["text"]


def test_items_with_several_labels_from_the_form(served, open_page):
    address, path, _ = served
    rows = [f"p{i},{i / 500},{1 - i / 500},{i % 7 / 7},picture {i}" for i in range(500)]
    (path.parent / "tags.csv").write_text("\n".join(["id,cat,dog,bird,text", *rows]))
    page = open_page(f"{address}/new")
    page.select_option("#file", "tags.csv")
    page.wait_for_selector("#preview table")
    page.select_option("#score", "cat")
    page.check("#multi-label")
    assert page.inner_text("#add-system") == "Another label"
    for _ in range(2):
        page.click("#add-system")
    chosen = page.locator(".system select:first-of-type").evaluate_all("s => s.map(e => e.value)")
    assert chosen[::2] == ["dog", "bird"]  # the next column that is free
    page.fill("#wanted", "0.5")
    page.click("#create")
    page.wait_for_url("**/label?study=tags*")
    page.wait_for_selector("#record .item-id")
    assert page.inner_text("#prompt") == "Does the item have this label?"
    assert "LABEL" in page.inner_text("#record").upper()
    for key in "fjfjfjfj":
        press(page, key)
    saved(page)
    page.goto(f"{address}/watch?study=tags")
    page.wait_for_function("() => document.querySelectorAll('#parts tr').length === 5")
    assert page.inner_text("#measure") == "f1 macro"
    names = page.locator("#parts td:first-child").all_inner_texts()
    assert names == ["f1 cat", "f1 dog", "f1 bird", "f1 macro", "f1 micro"]
    page.goto("about:blank")


def test_two_labels_have_values_of_their_own(served, open_page):
    address, path, _ = served
    rows = [f"p{i},{i / 500},text {i}" for i in range(500)]
    (path.parent / "words.csv").write_text("\n".join(["id,score,text", *rows]))
    (path.parent / "known.csv").write_text("item,label\np3,no\np499,yes\n")
    page = open_page(f"{address}/new")
    page.select_option("#file", "words.csv")
    page.wait_for_selector("#preview table")
    page.select_option("#score", "score")
    page.fill("#classes", "no, yes")
    page.click("#further summary")
    page.select_option("#known", "known.csv")
    page.click("#create")
    page.wait_for_url("**/label?study=words*")
    page.wait_for_selector("#record .item-id")
    press(page, "j")
    saved(page)
    with hs.Study.open(path.parent / "words.haystat") as study:
        assert [answer.label for answer in study.answers] == ["yes"]
        assert study.status().known == 2
