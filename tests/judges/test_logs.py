"""Logs of judges become pools: the same eight traces, whoever wrote them."""

from __future__ import annotations

import json
import tracemalloc
import zipfile

import logs
import numpy as np
import pytest

import haystat as hs
from haystat.errors import BadOption, FileError, HaystatError, UnknownName
from haystat.formats import FORMATS, judged
from haystat.formats.conversation import message
from haystat.formats.log_files import LARGEST_DOCUMENT
from haystat.formats.traces import Trace, Verdict


def tool_of(name):
    return name.partition(":")[0]


def judge_of(name):
    return "tone/v1" if name == "mlflow: table" else "tone"


def read(log, **options):
    name, path = log
    judges = [judge_of(name)]
    return judged(FORMATS[tool_of(name)].traces(path), str(path), judges, **options)


def test_every_format_of_traces_has_a_log_here():
    with_traces = {name for name, form in FORMATS.items() if form.traces}
    assert {tool_of(name) for name in logs.WRITERS} == with_traces


def test_a_log_becomes_a_pool_of_failures(log):
    found = read(log)
    judge = judge_of(log[0])
    np.testing.assert_allclose(found.scores[judge], 1 - np.array(logs.SCORES))
    assert found.predictions[judge].tolist() == logs.FAILED
    assert found.n_left_out == 0
    pool = found.pool(strata=2)
    assert (pool.size, pool.schema.systems) == (8, (judge,))


def test_the_conversation_is_kept_with_roles(log):
    texts = read(log).show["conversation"]
    for k, text in enumerate(texts):
        messages = [m for m in json.loads(text) if m["role"] in ("user", "assistant")]
        assert messages[0] == {"role": "user", "content": logs.asked(k)}
        assert (messages[-1]["role"], messages[-1]["content"]) == ("assistant", logs.said(k))


def test_the_reasons_wait_for_the_answer(log):
    found = read(log)
    assert all(logs.REASON in text for text in found.after["judge_reason"])
    assert not any(logs.REASON in str(text) for column in found.show.values() for text in column)


@pytest.mark.parametrize("name", ["inspect: eval", "phoenix: frames"])
def test_a_log_is_read_by_new_and_through_a_table_alike(name, run, tmp_path):
    path, tool, judge = logs.WRITERS[name](tmp_path), tool_of(name), judge_of(name)
    options = ("--measure", "recall", "--seed", 3, "--strata", 4)
    run("new", tmp_path / "a.haystat", path, "--from", tool, "--judge", judge, *options)
    table = tmp_path / "pool.parquet"
    about = run("pool", path, "--from", tool, "--judge", judge, "-o", table, "--json")
    assert (about["items"], about["left_out"], about["judges"]) == (8, 0, [judge])
    shown = ["--show", ",".join(about["show"]), "--after", ",".join(about["after"])]
    named = ("--id", "item", "--score", about["score"], "--prediction", "failure_predicted")
    run("new", tmp_path / "b.haystat", table, *named, *shown, *options)
    with (
        hs.Study.open(tmp_path / "a.haystat") as one,
        hs.Study.open(tmp_path / "b.haystat") as other,
    ):
        first, second = one.ask(5), other.ask(5)
        assert first == second
        assert [q.record for q in first] == [q.record for q in second]
        assert all("judge_reason" not in q.record for q in first)


def test_inspect_puts_back_attachments_calls_and_facts(tmp_path):
    traces = list(FORMATS["inspect"].traces(logs.inspect_archive(tmp_path)))
    assert traces[0].messages[2] == {
        "role": "assistant",
        "content": "Let me see.",
        "tool_calls": [{"name": "add", "arguments": '{\n "x": 1\n}'}],
    }
    assert traces[0].facts == {"target": "Paris", "topic": "law"}
    assert set(traces[0].verdicts) == {"tone", "grade"}


def test_words_of_a_judge_are_verdicts(tmp_path):
    found = judged(FORMATS["inspect"].traces(logs.inspect_archive(tmp_path)), "it", ["grade"])
    assert found.scores["grade"].tolist() == logs.FAILED


def test_two_judges_are_two_systems(tmp_path, run):
    path = logs.inspect_archive(tmp_path)
    study = tmp_path / "both.haystat"
    two = ("--judge", "tone", "--judge", "grade")
    run("new", study, path, "--from", "inspect", *two, "--measure", "f1", "--compare")
    with hs.Study.open(study) as opened:
        assert opened.pool.schema.systems == ("tone", "grade")
        assert {*opened.settings["after"]} == {"tone_reason", "grade_reason"}
    table = tmp_path / "both.parquet"
    about = run("pool", path, "--from", "inspect", *two, "-o", table, "--json")
    assert about["score"] == ["failure_score_tone", "failure_score_grade"]


def test_facts_of_a_log_are_sub_populations(tmp_path, run):
    path = logs.inspect_archive(tmp_path)
    given = ("--from", "inspect", "--judge", "tone", "--column", "topic")
    run("new", tmp_path / "a.haystat", path, *given)
    with hs.Study.open(tmp_path / "a.haystat") as study:
        assert study.pool.schema.columns == ("topic",)
    error = run("new", tmp_path / "b.haystat", path, *given[:-1], "colour", code=2)
    assert "no column 'colour'" in error


def verdicts(*given):
    return [Trace(str(k), [], {"j": verdict}) for k, verdict in enumerate(given)]


def test_a_comparison_says_what_fails():
    traces = verdicts(*[Verdict(float(grade)) for grade in (1, 2, 3, 4, 5)])
    found = judged(traces, "it", fails="<3")
    assert found.predictions["j"].tolist() == [1, 1, 0, 0, 0]
    assert found.scores["j"].tolist() == [1, 0.75, 0.5, 0.25, 0]
    high = judged(traces, "it", fails=">= 4")
    assert high.predictions["j"].tolist() == [0, 0, 0, 1, 1]
    assert high.scores["j"].tolist() == [0, 0.25, 0.5, 0.75, 1]


def test_words_say_what_fails():
    traces = verdicts(Verdict(word="Rude"), Verdict(word="kind"), Verdict(word="unsafe"))
    assert judged(traces, "it", fails="rude, unsafe").predictions["j"].tolist() == [1, 0, 1]


def test_a_judge_that_passes_low_numbers_is_turned_round():
    traces = verdicts(Verdict(0.1, passed=True), Verdict(0.9, passed=False), Verdict(0.3, "", True))
    np.testing.assert_allclose(judged(traces, "it").scores["j"], [0.1, 0.9, 0.3])


def test_unsure_is_half_way():
    traces = verdicts(*[Verdict(word=word) for word in ("yes", "unsure", "no")])
    found = judged(traces, "it")
    assert found.scores["j"].tolist() == [0, 0.5, 1]
    assert found.predictions["j"].tolist() == [0, 0, 1]


def test_traces_without_a_verdict_are_counted(tmp_path, run):
    path = tmp_path / "traces.jsonl"
    lines = [{"id": str(k), "sample": {"input": "q"}, "results": []} for k in range(3)]
    for k, line in enumerate(lines[:2]):
        line["results"] = [{"name": "tone", "score": 0.2 + k / 2}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = run("pool", path, "--from", "openai-evals", "-o", tmp_path / "p.csv")
    assert "note: 1 traces have no verdict of tone" in out
    made = run("new", tmp_path / "s.haystat", path, "--from", "openai-evals", "--json")
    assert any("1 traces have no verdict" in note for note in made["notes"])


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ([Verdict(3.0)], {}, "--fails '<3'"),
        ([Verdict(word="meh")], {}, "which words are failures"),
        ([Verdict(word="meh")], {"fails": "<1"}, "no number"),
        ([Verdict(0.3)], {"fails": "0.5"}, "never says that; give a comparison such as '<0.5'"),
        ([Verdict(0.5)], {"fails": "<half"}, "comparison such as"),
    ],
)
def test_what_cannot_be_told_is_asked_for(given, options, message):
    with pytest.raises(BadOption, match=message):
        judged(verdicts(*given), "it", **options)


def test_several_judges_want_a_name(tmp_path, run):
    path = logs.inspect_archive(tmp_path)
    error = run("pool", path, "--from", "inspect", "-o", tmp_path / "p.csv", code=2)
    assert "--judge: grade, tone" in error
    wrong = ("--judge", "nobody")
    error = run("pool", path, "--from", "inspect", *wrong, "-o", tmp_path / "p.csv", code=2)
    assert "no judge 'nobody'" in error


def test_a_log_without_verdicts_is_refused():
    with pytest.raises(FileError, match="no verdict"):
        judged([Trace("a", [], {})], "it")
    with pytest.raises(FileError, match="no traces"):
        judged([], "it")
    apart = [Trace("a", [], {"x": Verdict(1.0)}), Trace("b", [], {"y": Verdict(1.0)})]
    with pytest.raises(FileError, match="x and y"):
        judged(apart, "it", ["x", "y"])


def test_ids_that_come_twice_are_told_apart():
    traces = [Trace("a", [], {"j": Verdict(k / 4)}) for k in range(3)]
    traces.append(Trace("a #2", [], {"j": Verdict(0.9)}))
    assert judged(traces, "it").ids.tolist() == ["a", "a #3", "a #4", "a #2"]


def test_columns_are_not_named_for_a_log(tmp_path, run):
    path = logs.inspect_archive(tmp_path)
    given = ("--from", "inspect", "--score", "tone")
    assert "leave out --score" in run("new", tmp_path / "a.haystat", path, *given, code=2)
    run_file = tmp_path / "run.txt"
    run_file.write_text("301 Q0 FT-1 1 14.5 bm25\n")
    given = ("--from", "trec", "--judge", "x", "-o", tmp_path / "p.csv")
    assert "no judges" in run("pool", run_file, *given, code=2)


# --- broken, cut short, newer, huge


def read_all(name, path):
    form = FORMATS[tool_of(name)]
    return judged(form.traces(path), str(path), [judge_of(name)])


def complaint(name, path):
    """What is said about a log that cannot be read; nothing where it can."""
    try:
        found = read_all(name, path)
    except (HaystatError, FileNotFoundError) as error:
        return str(error)
    assert len(found.ids) + found.n_left_out <= 8
    return ""


def test_a_log_cut_short_anywhere_is_one_line_or_whole_traces(log):
    name, path = log
    content = path.read_bytes()
    n_refused = 0
    for share in (0.0, 0.1, 0.5, 0.9, 0.99):
        path.write_bytes(content[: int(len(content) * share)])
        said = complaint(name, path)  # lines may end where a file was cut
        assert "\n" not in said
        n_refused += bool(said)
    assert n_refused >= 4


def test_changed_bytes_are_one_line_or_read(log):
    name, path = log
    content = bytearray(path.read_bytes())
    rng = np.random.default_rng(5)
    for place in rng.integers(0, len(content), 25):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        path.write_bytes(bytes(damaged))
        assert "\n" not in complaint(name, path)


def swapped(value):
    """The value with each of its parts replaced in turn by something else."""
    for other in (None, 17, "text", [[1]]):
        yield other
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(min(len(value), 2)):
            for other in swapped(value[key]):
                copy = value.copy()
                copy[key] = other
                yield copy


@pytest.mark.parametrize("name", ["inspect", "promptfoo", "deepeval", "mlflow", "phoenix"])
def test_parts_of_another_kind_are_one_line_or_read(name, tmp_path):
    writer = next(write for key, write in logs.WRITERS.items() if tool_of(key) == name)
    document = logs.inspect_document if name == "inspect" else writer
    path = document(tmp_path)
    text = path.read_text()
    whole = json.loads(text.splitlines()[0] if path.suffix == ".jsonl" else text)
    if isinstance(whole, dict):
        whole = {
            k: v[:1] if isinstance(v, list) and k != "columns" else v for k, v in whole.items()
        }
        for part in whole.values():
            if isinstance(part, dict) and "results" in part:
                part["results"] = part["results"][:1]
    for other in swapped(whole):
        path.write_text(json.dumps(other))
        assert "\n" not in complaint(f"{name}:", path)


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", "not JSON", '{"a": 1}', "\xff", "[" * 9000]
)
def test_other_files_are_refused_in_one_line(log, text):
    name, path = log
    path.write_text(text, encoding="latin-1")
    with pytest.raises(HaystatError) as caught:
        read_all(name, path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "write", [lambda f: logs.inspect_archive(f, version=3), lambda f: logs.promptfoo_document(f, 4)]
)
def test_a_newer_version_is_refused(write, tmp_path, run):
    path = write(tmp_path)
    tool = "inspect" if path.suffix == ".eval" else "promptfoo"
    error = run("pool", path, "--from", tool, "-o", tmp_path / "p.csv", code=2)
    assert "update haystat" in error
    assert not (tmp_path / "p.csv").exists()


def test_a_huge_document_is_refused_and_lines_are_not(tmp_path, run):
    path = tmp_path / "results.json"
    with path.open("wb") as file:
        file.write(b"{\n")
        file.truncate(LARGEST_DOCUMENT + 1)  # takes no room on disk
    error = run("pool", path, "--from", "promptfoo", "-o", tmp_path / "p.csv", code=2)
    assert "at most 512 MB" in error
    assert "results.jsonl" in error


def test_a_part_that_unpacks_to_too_much_is_refused(tmp_path):
    path = logs.inspect_archive(tmp_path)
    content = bytearray(path.read_bytes())
    place = content.rfind(b"PK\x01\x02", 0, content.rfind(b"PK\x01\x02"))
    content[place + 24 : place + 28] = (0xFFFF_FFF0).to_bytes(4, "little")
    path.write_bytes(bytes(content))
    with pytest.raises(FileError):
        list(FORMATS["inspect"].traces(path))


def test_zstandard_parts_are_read(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    plain = logs.inspect_archive(tmp_path, zipfile.ZIP_STORED)
    packed = tmp_path / "packed.eval"
    _pack_with_zstandard(pyarrow, plain, packed)
    form = FORMATS["inspect"]
    assert list(form.traces(packed)) == list(form.traces(plain))
    content = bytearray(packed.read_bytes())
    sample = content.find(b"samples/1")
    content[content.find(b"\x28\xb5\x2f\xfd", sample) + 40] ^= 0xFF
    packed.write_bytes(bytes(content))
    with pytest.raises(FileError, match="damaged"):
        list(form.traces(packed))


def _pack_with_zstandard(pyarrow, plain, packed):
    """The same ZIP file with every part in Zstandard, method 93, as Inspect writes it."""
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(packed, "w") as target:
        for entry in source.infolist():
            content = source.read(entry)
            made = pyarrow.compress(content, codec="zstd", asbytes=True)
            target.writestr(entry.filename, made)
            info = target.infolist()[-1]
            info.compress_type, info.file_size = 93, len(content)
            info.CRC = zipfile.crc32(content)


def test_unknown_tools_and_lost_files_are_one_line(tmp_path, run):
    given = ("new", tmp_path / "a.haystat", tmp_path / "none.eval", "--from")
    assert "no format" in run(*given, "nothing", code=2)
    assert "no file" in run(*given, "inspect", code=2)
    with pytest.raises(UnknownName):
        judged(verdicts(Verdict(0.1)), "it", ["other"])


def test_messages_are_let_go_as_they_are_read():
    """Of a log of 1 GB there is one text in memory, not the messages beside it."""

    def traces():
        for k in range(40):
            yield Trace(f"t{k}", [message("user", f"{k} " * 60_000)], {"j": Verdict(0.4)})

    tracemalloc.start()
    found = judged(traces(), "a log")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * sum(map(len, found.show["conversation"]))
