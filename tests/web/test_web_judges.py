"""Chats on the page: what a judge says waits for the answer, and nothing in a trace acts."""

from __future__ import annotations

import json

import pytest
from web_case import calling, make_pool, serving

import haystat as hs
from haystat.formats.conversation import conversation, message
from haystat.web.conversations import cut_conversation
from haystat.web.options import PageOptions, keep_options
from haystat.web.upload_limits import cut_record

pytestmark = [pytest.mark.xdist_group("browser")]

SIZE = 200
SECRET = "the judge thinks so"
GUIDELINES = (
    "# Failures\n\nAnything **rude**. [More](javascript:hacked=1) <img src=x onerror=hacked=1>"
)
#: every way that a text might become more than a text
TRICKS = [
    "<script>window.hacked = 1</script>",
    '<img src=x onerror="window.hacked = 1">',
    "<svg/onload=window.hacked=1><iframe srcdoc='<script>parent.hacked=1</script>'></iframe>",
    "<a href='javascript:window.hacked=1'>click</a>",
    "[click me](javascript:window.hacked=1)",
    "[click me](data:text/html,<script>window.hacked=1</script>)",
    "![pixel](https://attacker.example/pixel.png?leak)",
    "<https://attacker.example> https://attacker.example/plain",
    "[label]: https://attacker.example 'title'\n[label] [a](//attacker.example \"t\")",
    "**bold <b onmouseover=window.hacked=1>** `code <img src=x onerror=window.hacked=1>`",
    "```html\n<script>window.hacked=1</script>\n```",
    "> <details open ontoggle=window.hacked=1>quote",
    "- <style>body{display:none}</style>\n1. <meta http-equiv=refresh content='0;url=/studies'>",
    "# <form action=https://attacker.example><input name=q><button>go</button></form>",
    "</div></section><base href=https://attacker.example/><link rel=stylesheet href=//a.example>",
    "&lt;script&gt;window.hacked=1&lt;/script&gt; &#60;img src=x&#62;",
    "{{ 7 * 7 }} ${window.hacked=1} <%= 1 %>",
    "\u202eevil\u202c \u0000 \ufeff " + "[" * 500 + "`" * 501 + "*" * 999,
]
ALIVE = """document.querySelectorAll(`#record :is(a, script, img, svg, iframe, style, form, input,
    meta, link, base, object, embed, b), #record [onerror], #record [onload], #record [href],
    #record [src], #record [style]`).length"""


def talk(k, texts):
    asked = [message("system", "Be kind."), message("user", f"Question {k}?")]
    said = [message("assistant", t, [{"name": t[:40], "arguments": {"q": t}}]) for t in texts]
    others = [part for t in texts for part in (message(t[:30], t), message("tool", t))]
    return conversation([*asked, *said, *others, message("assistant", f"Answer {k}")])


def make_judged(path, texts=TRICKS, size=SIZE, **options):
    pool, labels = make_pool(size)
    show = {
        "conversation": [talk(k, texts) for k in range(size)],
        "judge_reason": [f"{SECRET} {k} {texts[k % len(texts)]}" for k in range(size)],
    }
    with hs.Study.create(
        path, pool, "prevalence", random_state=1, show=show, after=["judge_reason"]
    ) as study:
        keep_options(study, PageOptions(names=("Fine", "Failure"), **options))
    return path, labels


@pytest.fixture
def judged_file(tmp_path):
    return make_judged(tmp_path / "judged.haystat", guidelines=GUIDELINES)


def test_the_reasons_come_with_the_answer_and_not_before(judged_file):
    path, labels = judged_file
    with calling(path) as caller:
        page = caller.get("/label").text
        asked = caller.post("/api/ask", {"n": 5, "annotator": "ann"})
        assert SECRET not in page + asked.text
        question = asked.json()["questions"][0]
        label = int(labels[question["item"]])
        answer = {"item": question["item"], "key": question["key"], "label": label}
        told = caller.post("/api/tell", {"answers": [answer], "annotator": "ann", "ask": 3}).json()
        assert told["after"]["item"] == question["item"]
        assert told["after"]["record"]["judge_reason"].startswith(SECRET)
        assert set(told["after"]["said"][0]) == {"system", "prediction"}
        assert SECRET not in json.dumps(told["questions"])


def test_a_picture_that_waits_for_the_answer_is_not_served_before_it(tmp_path):
    (tmp_path / "heat.png").write_bytes(b"\x89PNG\r\n")
    show = {"text": ["about it"] * 80, "heat": ["heat.png"] * 80}
    pool = hs.Pool([0.1, 0.2, 0.7, 0.9] * 20, strata=2)
    path = tmp_path / "p.haystat"
    with hs.Study.create(path, pool, random_state=0, show=show, after=["heat"]) as study:
        keep_options(study, PageOptions(images=("heat",)))
    with calling(path) as caller:
        item = caller.post("/api/ask", {"n": 1, "annotator": "ann"}).json()["questions"][0]["item"]
        where = {"params": {"item": item, "column": "heat"}}
        assert caller.get("/picture", **where).status_code == 404
        told = {"answers": [{"item": item, "label": 1}], "annotator": "ann"}
        assert caller.post("/api/tell", told).json()["after"]["record"] == {"heat": "heat.png"}
        assert caller.get("/picture", **where).status_code == 200


def test_a_change_of_mind_after_the_reasons_says_so(judged_file):
    path, _ = judged_file
    with calling(path) as caller:
        item = caller.post("/api/ask", {"n": 1, "annotator": "ann"}).json()["questions"][0]["item"]
        for label in (0, 1):
            told = {"answers": [{"item": item, "label": label}], "annotator": "ann"}
            assert caller.post("/api/tell", {**told, "correct": True}).status_code == 200
    with hs.Study.open(path) as study:
        (correction,) = [entry for entry in study.entries if entry.kind == "correction"]
    assert "after the judge's reasons" in correction.payload


def test_nowhere_else_are_the_reasons_shown_before_the_answer(judged_file):
    path, _ = judged_file
    with hs.Study.open(path) as study:
        question = study.ask(1)[0]
        assert set(question.record) == set(study.record_of(question.item)) == {"conversation"}
        assert study.pending[0].record == question.record
        assert study.revealed(question.item) == {}
        study.tell({question.item: 1})
        assert set(study.revealed(question.item)) == {"judge_reason"}


def test_disagreements_are_listed_for_managers_alone(judged_file):
    path, _ = judged_file
    with calling(path, secret="manager" * 4, annotator_secret="annotator" * 4) as caller:
        assert caller.get("/api/disagreements").status_code in (401, 403)
    with calling(path) as caller:
        questions = caller.post("/api/ask", {"n": 12, "annotator": "ann"}).json()["questions"]
        with hs.Study.open(path) as study, study.reading() as state:
            index = {q["item"]: state.questions.index_of[q["item"]] for q in questions}
            outputs = state.pool.outputs(list(index.values()))
            predicted = dict(zip(index, outputs.predictions[:, 0].tolist(), strict=True))
        wrong = {q["item"] for q in questions[:5]}
        answers = [
            {"item": item, "label": 1 - said if item in wrong else said}
            for item, said in predicted.items()
        ]
        caller.post("/api/tell", {"answers": answers, "annotator": "ann"})
        found = caller.get("/api/disagreements").json()
    assert (found["total"], found["answers"]) == (5, 12)
    assert {one["item"] for one in found["disagreements"]} == wrong
    for one in found["disagreements"]:
        assert one["predicted"] == str(predicted[one["item"]]) != str(one["label"])
        assert one["annotator"] == "ann"
        assert one["after"]["judge_reason"].startswith(SECRET)


def test_tricks_in_traces_do_nothing_in_a_browser(judged_file, open_page):
    path, _ = judged_file
    asked_for = []
    with serving(path) as address:
        page = open_page(address)
        page.on("request", lambda request: asked_for.append(request.url))
        page.on("dialog", lambda dialog: asked_for.append("dialog"))
        for _ in range(4):
            page.wait_for_selector("#record .chat")
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
            for one in page.query_selector_all("#record :is(.link, .more, strong, code)"):
                one.click()
            assert page.evaluate(ALIVE) == 0
            before = page.text_content("#record")
            page.keyboard.press("f")
            page.wait_for_function(
                "before => document.getElementById('record').textContent !== before", arg=before
            )
        page.wait_for_selector("#after:not([hidden])")
        assert page.evaluate(ALIVE.replace("#record", ".beside")) == 0
        assert "javascript:hacked=1" in page.text_content("#guidelines-text")
        page.goto(f"{address}/disagreements")
        page.wait_for_selector("#total")
        for summary in page.query_selector_all(".disagreement > summary"):
            summary.click()
        assert page.evaluate(ALIVE.replace("#record", "#list")) == 0
        assert page.evaluate("window.hacked") is None
        assert page.url.startswith(address)
    assert [url for url in asked_for if not url.startswith(address)] == []


def test_a_chat_has_roles_folded_calls_and_markdown(tmp_path, open_page):
    text = (
        "# Head\n\nSome **bold** and `code`.\n\n- one\n- two\n\n```\nx < 1\n```\n\n> said\n"
        + "x" * 5000
    )
    path, _ = make_judged(tmp_path / "chat.haystat", [text], guidelines="Be *fair*.")
    with serving(path) as address:
        page = open_page(address, viewport={"width": 1400, "height": 900})
        page.wait_for_selector("#record .chat")
        roles = page.eval_on_selector_all("#record .role", "all => all.map(e => e.textContent)")
        assert roles[:3] == ["System", "User", "Assistant"]
        for selector in ("strong", "code", "li", "pre", "blockquote", ".heading"):
            assert page.query_selector(f"#record .assistant {selector}"), selector
        assert page.query_selector("#record .assistant .fold:not([open]) summary")
        assert not page.is_visible("#record .fold pre")
        assert "x" * 5000 not in page.text_content("#record .assistant .markdown")
        page.click("#record .assistant .more")
        assert "x" * 5000 in page.text_content("#record .assistant .markdown")
        beside = page.evaluate("""['.guidelines', '#record'].map(s =>
            document.querySelector(s).getBoundingClientRect().left)""")
        assert beside[0] > beside[1]
        assert not page.is_visible("#after")
        assert SECRET not in page.content()
        page.keyboard.press("j")
        page.wait_for_selector("#after:not([hidden])")
        assert SECRET in page.text_content("#after")
        assert "you said Failure" in page.text_content("#after")


def test_many_calls_of_tools_make_no_large_reply():
    calls = [{"name": "f" * 600, "arguments": "y" * 600}] * 60
    text = conversation([message("user", "hi", calls)] * 200)
    assert len(text) > 10_000_000
    record, letters = cut_record({"talk": text})
    assert len(record["talk"]) < 1_000_000
    assert letters < 1_000_000


def test_a_long_conversation_is_cut_message_by_message():
    parts = [message("user" if k % 2 else "assistant", f"{k} " + "x" * 3000) for k in range(3000)]
    text = conversation(parts)
    cut = json.loads(cut_conversation(text, 200_000, 20_000))
    assert len(json.dumps(cut)) < 350_000
    assert cut[0]["content"].startswith("0 x")
    assert cut[-1]["content"].startswith("2999 x")
    assert any("2,600 messages left out" in one["content"] for one in cut)
    short = [message("user", "y" * 30_000), message("assistant", "Hi")]
    cut = json.loads(cut_conversation(conversation(short), 200_000, 20_000))
    assert "30,000 letters in all" in cut[0]["content"]
    assert cut[1] == short[1]
    assert cut_conversation("[{broken", 10, 10) is None
    for depth in range(900, 1000, 10):  # what can be read, and not written again
        nested = f'[{{"role": "user", "content": {"[" * depth}{"]" * depth}}}]'
        cut_conversation(nested, 10, 10)
    half = cut_conversation(f'[{{"role": "user", "content": "\\ud800{"x" * 999}"}}]', 10, 600)
    assert json.loads(half.encode())[0]["content"].startswith("?xxx")
    assert cut_conversation('[{"role": 3}]', 10, 10) is None


def test_guidelines_are_kept_by_new(tmp_path, monkeypatch, capsys):
    from haystat.cli import main

    (tmp_path / "pool.csv").write_text("score\n" + "\n".join(str(k / 50) for k in range(50)))
    (tmp_path / "guide.md").write_text("# What fails\n")
    study = tmp_path / "a.haystat"
    given = [
        study,
        tmp_path / "pool.csv",
        "--score",
        "score",
        "--guidelines",
        tmp_path / "guide.md",
    ]
    monkeypatch.setattr("sys.argv", ["haystat", "new", *map(str, given)])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code, capsys.readouterr()
    with calling(study) as caller:
        assert caller.get("/api/study").json()["guidelines"] == "# What fails"
