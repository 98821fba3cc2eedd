"""The page in a real browser: Debian's Chromium, by keyboard."""

from __future__ import annotations

import re

import numpy as np
import pytest
from web_case import NASTY, make_study, press, saved, serving

import haystat as hs
from haystat.study import verify
from haystat.web.options import PageOptions, keep_options

pytestmark = [pytest.mark.xdist_group("browser")]

MARKUP = "document.querySelectorAll('#record :is(a, script, img, svg)').length"
TOPS = """[...document.querySelectorAll('.keys button, #prompt, #record')]
    .map(e => e.getBoundingClientRect().top)"""
#: how long each of 25 answers takes to bring the next question
ANSWER_25 = """async () => {
    const delays = [], text = () => document.getElementById('record').textContent;
    for (let k = 0; k < 25; k++) {
        const before = text(), begin = performance.now();
        document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'f', bubbles: true }));
        while (text() === before) {
            if (performance.now() - begin > 60000) throw new Error('no next question: ' + before);
            await new Promise(done => { requestAnimationFrame(done); setTimeout(done, 1000); });
        }
        delays.push(performance.now() - begin);
        await new Promise(done => setTimeout(done, 30));
    }
    return delays;
}"""
#: what a screen reader could not name
NAMELESS = """() => [...document.querySelectorAll(
    'button, input, select, textarea, [role=img], [role=group], progress')]
    .filter(e => !(e.labels && e.labels.length) && !e.getAttribute('aria-label')
        && !e.getAttribute('aria-labelledby') && !e.textContent.trim())
    .map(e => e.outerHTML)"""


def item_on(page):
    """The item that the page asks about."""
    return int(re.search(r"item (\d+)", page.text_content("#record")).group(1))


def wait_for_question(page):
    page.wait_for_selector("#record .item-id")


def test_sixty_items_by_keyboard_alone_with_undo_skip_and_reload(served, open_page):
    address, path, labels = served
    page = open_page(address)
    wait_for_question(page)
    told, skipped = {}, []
    for k in range(60):
        item = item_on(page)
        if k == 30:
            saved(page)
            page.reload()
            wait_for_question(page)
            assert item_on(page) == item  # the question is still ours
        if k in (7, 40):
            page.keyboard.press("s")
            page.wait_for_selector("#skip-box[open]")
            press(page, "1")
            skipped.append(item)
            continue
        wrong = k in (12, 33)
        press(page, "j" if labels[item] != wrong else "f")
        told[item] = int(labels[item])
        if wrong:
            page.keyboard.press("u")
            page.wait_for_selector(".answer.chosen")
            assert item_on(page) == item
            press(page, "j" if labels[item] else "f")
    saved(page)
    assert page.evaluate("document.activeElement.id") == "record"
    page.wait_for_function(
        "() => document.getElementById('counts').textContent.includes('58 labels')"
    )
    with hs.Study.open(path) as study:
        answers = {a.item: a.label for a in study.answers}
        estimate = study.estimate()
        corrections = [e for e in study.entries if e.kind == "correction"]
    assert answers == {**told, **dict.fromkeys(skipped)}
    assert len(corrections) == 2
    assert verify(path).ok
    page.wait_for_function(
        f"() => document.getElementById('value').textContent === '{estimate.value:.3f}'"
    )
    low, high = estimate.interval
    assert f"{low:.3f} to {high:.3f}" in page.text_content("#range")


def test_two_browsers_never_see_the_same_item(served, open_page):
    address, path, labels = served
    pages = [open_page(address), open_page(address)]
    seen = [set(), set()]
    for page in pages:
        wait_for_question(page)
    for _ in range(25):
        for page, items in zip(pages, seen, strict=True):
            items.add(item_on(page))
            press(page, "j" if labels[item_on(page)] else "f")
    for page in pages:
        saved(page)
    assert len(seen[0]) == len(seen[1]) == 25
    assert seen[0].isdisjoint(seen[1])
    with hs.Study.open(path) as study:
        assert sorted(study.status().annotators.values()) == [25, 25]
    assert verify(path).ok


def test_two_tabs_of_one_browser_do_not_share_items_either(served, open_page):
    address, _, _ = served
    page = open_page(address)
    wait_for_question(page)
    other = page.context.new_page()
    other.goto(address)
    wait_for_question(other)
    assert item_on(page) != item_on(other)
    assert page.text_content("#who-name") == other.text_content("#who-name")


#: where the bars of a chart stand after other values have come
BARS = """async () => {
  const { along } = await import("/static/common.js");
  const bars = (ends) =>
    ends.map((range, place) => ({ range, place, items_share: 0.1, labels_share: 0.1 }));
  const values = bars(["0.5", "0.9"]), look = { faint: "grey", accent: "blue" };
  const tooltip = { disableDefaultStyle: true };
  const options = { ast: true, defaultStyle: false, tooltip, actions: false };
  const spec = { data: { name: "table", values }, ...along(look) };
  const box = document.body.appendChild(document.createElement("div"));
  const { view } = await window.vegaEmbed(box, spec, options);
  await view.data("table", bars(["0.3", "0.7", "0.9"])).runAsync();
  return view.scale("x").domain();
}"""


def test_the_numbers_of_one_arrive_at_the_other(served, open_page):
    address, _, labels = served
    watching = open_page(f"{address}/watch")
    page = open_page(address)
    wait_for_question(page)
    for _ in range(20):
        press(page, "j" if labels[item_on(page)] else "f")
    saved(page)
    watching.wait_for_function("() => document.getElementById('people').textContent.includes('20')")
    watching.wait_for_selector("#chart canvas")
    watching.wait_for_selector("#along canvas")
    assert watching.evaluate(BARS) == ["0.3", "0.7", "0.9"]
    assert watching.text_content("#state") == "live"


def test_note_and_name_by_keyboard(served, open_page):
    address, path, _ = served
    page = open_page(address)
    wait_for_question(page)
    item = item_on(page)
    page.keyboard.press("n")
    page.keyboard.type("ask the archive: s f j u")  # letters that are keys elsewhere
    page.keyboard.press("Control+Enter")
    page.wait_for_function("() => document.getElementById('line').textContent.includes('journal')")
    page.focus("#who")
    page.keyboard.press("Enter")
    page.keyboard.type("Zoë")
    page.keyboard.press("Enter")
    wait_for_question(page)
    press(page, "f")
    saved(page)
    with hs.Study.open(path) as study:
        notes = [e.data for e in study.entries if e.kind == "note" and e.data.get("item") == item]
        assert notes == [{"item": item, "text": "ask the archive: s f j u"}]
        assert list(study.status().annotators) == ["Zoë"]
        assert study.status().labels == 1


def test_three_classes_have_the_keys_1_2_3_and_pictures_are_shown(tmp_path, open_page):
    png = bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763"
        "f8cfc000000301010018dd8db00000000049454e44ae426082"
    )
    (tmp_path / "dot.png").write_bytes(png)
    scores = np.random.default_rng(0).dirichlet(np.ones(3), 300)
    pool = hs.Pool(scores, classes=("cat", "dog", "owl"), strata=8)
    show = {"photo": ["dot.png"] * 300, "link": ["https://x.org/a?b=c"] * 300}
    path = tmp_path / "animals.haystat"
    study = hs.Study.create(path, pool, "accuracy", random_state=0, show=show)
    keep_options(study, PageOptions(images=("photo",)))
    study.close()
    with serving(path) as address:
        page = open_page(address)
        wait_for_question(page)
        page.wait_for_function("() => document.querySelector('#record img').naturalWidth === 1")
        assert "https://x.org/a?b=c" in page.inner_text("#record")
        links = page.evaluate("[...document.querySelectorAll('#record a')].map(a => a.href)")
        assert links == ["https://x.org/a?b=c"]
        item = item_on(page)
        press(page, "3")
        saved(page)
    with hs.Study.open(path) as study:
        assert [(a.item, a.label) for a in study.answers] == [(item, "owl")]


def test_what_a_record_holds_is_text(tmp_path, open_page):
    study, _ = make_study(tmp_path / "nasty.haystat", nasty=True, prompt=NASTY[0], names=NASTY[1:3])
    study.note(NASTY[0], NASTY[1])
    study.close()
    with serving(tmp_path / "nasty.haystat") as address:
        page = open_page(address)
        seen = set()
        for _ in range(15):
            wait_for_question(page)
            text = page.inner_text("#record")
            seen |= {
                nasty
                for nasty in NASTY
                if nasty.replace("\u202e", "") in text.replace("\u202e", "")
            }
            assert page.evaluate("window.hacked") is None
            assert page.evaluate(MARKUP) == 0
            press(page, "f")
        assert len(seen) == len(NASTY)
        assert page.inner_text("#prompt") == NASTY[0]
        for path in ("watch", "explain", "report", "studies"):
            page.goto(f"{address}/{path}")
            assert page.evaluate("window.hacked") is None


def test_dark_mode_follows_the_system(served, open_page):
    address, _, _ = served

    def brightness(page):
        wait_for_question(page)
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    assert brightness(open_page(address, color_scheme="light")) > 600
    assert brightness(open_page(address, color_scheme="dark")) < 150


@pytest.mark.parametrize("path", ["label", "watch", "explain", "studies", "new"])
def test_nothing_overflows_at_400_pixels(served, open_page, path):
    address, _, _ = served
    page = open_page(f"{address}/{path}", viewport={"width": 400, "height": 800})
    if path == "label":
        wait_for_question(page)
        box = page.locator(".answer").last.bounding_box()
        assert box["x"] + box["width"] <= 400
        assert box["y"] + box["height"] <= 800
        assert box["height"] >= 44  # for thumbs
        page.locator(".answer").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_the_next_question_moves_nothing_and_is_there_at_once(served, open_page):
    address, _, _ = served
    page = open_page(address)
    wait_for_question(page)
    page.evaluate(
        """() => { window.shifts = 0; new PerformanceObserver(list => {
        for (const e of list.getEntries()) window.shifts += e.value; })
        .observe({ type: 'layout-shift', buffered: false }); }"""
    )
    boxes = page.evaluate(TOPS)
    delays = page.evaluate(ANSWER_25)
    after = page.evaluate(TOPS)
    assert after == boxes
    assert page.evaluate("window.shifts") < 0.01
    assert sorted(delays)[len(delays) // 2] < 500  # no round trip to a server
    assert max(delays) < 20_000
    assert page.evaluate("document.activeElement.id") == "record"


def test_boxes_keep_the_focus_and_give_it_back(served, open_page):
    address, _, _ = served
    page = open_page(address)
    wait_for_question(page)
    for key, box in (("s", "skip-box"), ("n", "note-box"), ("?", "help-box")):
        page.keyboard.press(key)
        assert page.evaluate(f"document.getElementById('{box}').contains(document.activeElement)")
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.id") == "record"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.classList.contains('answer')")
    press(page, "Enter")  # a button under the focus answers, and keeps the focus
    assert page.evaluate("document.activeElement.classList.contains('answer')")


def test_screen_readers_find_names_for_everything(served, open_page):
    address, _, _ = served
    for path in ("label", "watch", "new"):
        page = open_page(f"{address}/{path}")
        nameless = page.evaluate(NAMELESS)
        assert nameless == []
        if path == "label":
            wait_for_question(page)
            assert page.text_content("#heard").startswith("1 of 10. name: ")
        assert page.evaluate("document.documentElement.lang") == "en"
        assert page.evaluate("document.querySelectorAll('main').length") == 1


def test_a_token_in_the_link_opens_the_page_and_leaves_the_address(study_file, open_page):
    with serving(study_file[0], secret="a-long-enough-token") as address:
        page = open_page(f"{address}/?token=a-long-enough-token")
        wait_for_question(page)
        assert "token" not in page.url
        press(page, "f")
        saved(page)
        names = page.evaluate("performance.getEntriesByType('resource').map(e => e.name)")
        assert not [name for name in names if "token" in name]
        assert all(name.startswith(address) for name in names)  # nothing from elsewhere


def test_the_form_takes_the_token(study_file, open_page):
    with serving(study_file[0], secret="a-long-enough-token") as address:
        page = open_page(f"{address}/login")
        page.fill("#secret", "a-long-enough-token")
        page.click("button[type=submit]")
        wait_for_question(page)


def test_annotators_of_a_blind_study_see_questions_and_no_numbers(tmp_path, open_page):
    make_study(tmp_path / "s.haystat", blind=True)[0].close()
    secrets = {"secret": "a secret of managers", "annotator_secret": "a secret of annotators"}
    with serving(tmp_path / "s.haystat", **secrets) as address:
        page = open_page(f"{address}/?token=a secret of annotators")
        wait_for_question(page)
        press(page, "f")
        saved(page)
        assert not page.is_visible("aside.live")
        assert page.locator("nav a").all_inner_texts() == ["Label", "Studies"]
        page.click("nav >> text=Studies")
        assert page.locator("main a").all_inner_texts() == ["s", "Label"]
        page = open_page(f"{address}/?token=a secret of managers")
        wait_for_question(page)
        assert page.is_visible("aside.live")


def test_a_page_recovers_when_the_server_comes_back(study_file, open_page):
    path, labels = study_file
    with serving(path) as address:
        page = open_page(address)
        wait_for_question(page)
        press(page, "f")
        saved(page)
    first = item_on(page)
    press(page, "j" if labels[first] else "f")  # nobody is there to hear it
    page.wait_for_function("() => document.getElementById('line').textContent.includes('away')")
    with serving(path, port=int(address.rsplit(":", 1)[1])):
        saved(page)
        press(page, "f")
        saved(page)
        page.wait_for_selector("#dot.on")
    with hs.Study.open(path) as study:
        answers = {a.item: a.label for a in study.answers}
    assert len(answers) == 3
    assert answers[first] == labels[first]
    open_page.may_complain = True  # the browser notes refused connections by itself
