"""The OpenAPI document of what is under /api."""

from __future__ import annotations

from typing import Any

from haystat import __version__
from haystat.designs import DESIGNS
from haystat.measures import MEASURES
from haystat.web.guard import CSRF_HEADER

Node = dict[str, Any]

ANYTHING: Node = {"type": "object"}
TEXT: Node = {"type": "string", "maxLength": 200}
ITEM: Node = {"oneOf": [{"type": "integer"}, {"type": "string", "maxLength": 2000}]}
LABEL: Node = {
    "oneOf": [{"type": "number"}, {"type": "string", "maxLength": 2000}, {"type": "boolean"}]
}
WHO: Node = {
    "type": "string",
    "minLength": 1,
    "maxLength": 80,
    "description": "Who asks or answers; everybody a different name.",
}
SEAT: Node = {
    "type": "string",
    "maxLength": 80,
    "description": "Who holds the questions, if not the annotator: a tab of a browser, say.",
}
BANNED = (
    "Label Studio bans webhooks to loopback and private addresses unless it runs with "
    "SSRF_PROTECTION_ENABLED=false; `haystat import --url … --watch` needs no webhook."
)
STUDY_PARAMETER: Node = {
    "name": "study",
    "in": "query",
    "required": False,
    "schema": {"type": "string", "maxLength": 100},
    "description": "Name of the study; by default the one the server was started with.",
}


def document() -> Node:
    """The whole document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "haystat",
            "version": __version__,
            "description": "Ask which items to label, tell the labels, read the estimate. "
            f"Send `Authorization: Bearer TOKEN`, or a cookie and the header {CSRF_HEADER}.",
        },
        "paths": _paths(),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": _schemas(),
        },
        "security": [{"token": []}],
    }


def _paths() -> Node:
    return {
        "/api/studies": {
            "get": _get("List the studies", "Studies", of_study=False),
            "post": _post("Make a study from a file", "NewStudy", "Made", 201, of_study=False),
        },
        "/api/study": {"get": _get("What there is to know before asking", "Study")},
        "/api/ask": {"post": _post("Get questions; nobody else gets them", "Ask", "Questions")},
        "/api/tell": {"post": _post("Take answers: all of them or none", "Tell", "Taken")},
        "/api/skip": {"post": _post("Say that nobody can tell", "Skip", "Told")},
        "/api/note": {"post": _post("Write a remark into the journal", "Note", "Anything")},
        "/api/release": {"post": _post("Give back questions", "Release", "Anything")},
        "/api/status": {"get": _get("How far the study is", "Anything")},
        "/api/estimate": {"get": _get("The estimate", "Estimate", _estimate_parameters())},
        "/api/files": {"get": _get("Files that may hold a pool", "Files", of_study=False)},
        "/api/preview": {
            "get": _get("Columns of a file", "Anything", [_query("file", True)], of_study=False)
        },
        "/api/plan": {"post": _post("Labels to expect", "Wish", "Anything", of_study=False)},
        "/api/upload": {"post": _upload()},
        "/api/label-studio": {
            "post": _post("Receive a webhook of Label Studio", "LabelStudio", "Anything")
            | {"description": BANNED}
        },
    }


def _schemas() -> Node:
    return {**_common_schemas(), **_work_schemas(), **_study_schemas()}


def _common_schemas() -> Node:
    names: Node = {"type": "array", "items": {"type": "string"}}
    return {
        "Anything": ANYTHING,
        "Error": _object({"error": {"type": "string"}}, ["error"]),
        "Estimate": ANYTHING,
        "Files": _object({"files": names}),
        "Studies": _object({"studies": names}),
        "Study": ANYTHING,
        "Upload": _object({"file": TEXT}, ["file"]),
    }


def _work_schemas() -> Node:
    """What people and tools do with a study."""
    answer = _object({"item": ITEM, "label": LABEL}, ["item", "label"])
    question = _object({"item": ITEM, "key": TEXT, "record": ANYTHING}, ["item", "key", "record"])
    told = _object({"item": ITEM, "outcome": TEXT}, ["item", "outcome"])
    who: Node = {"annotator": WHO, "seat": SEAT}
    tell: Node = {
        "answers": {"type": "array", "items": answer, "maxItems": 1000},
        "correct": {"type": "boolean", "description": "Replace one's own answers."},
        "ask": {"type": "integer", "minimum": 0, "maximum": 200},
    }
    reason: Node = {"type": "string", "maxLength": 500}
    after: Node = {
        "type": "integer",
        "minimum": 0,
        "maximum": 3600,
        "description": "Seconds to wait; asking again in that time keeps them.",
    }
    event: Node = {"action": TEXT, "task": ANYTHING, "annotation": ANYTHING}
    return {
        "Ask": _object({"n": {"type": "integer", "minimum": 1, "maximum": 200}, **who}),
        "Questions": _object({"questions": {"type": "array", "items": question}}, ["questions"]),
        "Tell": _object({**tell, **who}, ["answers"]),
        "Told": told,
        "Taken": _object({"taken": {"type": "array", "items": told}}, ["taken"]),
        "Skip": _object({"item": ITEM, "annotator": WHO, "reason": reason}, ["item"]),
        "Note": _object(
            {"text": {"type": "string", "maxLength": 4000}, "annotator": WHO, "item": ITEM},
            ["text"],
        ),
        "Release": _object({**who, "after": after}),
        "LabelStudio": _object(event, ["action"]),
    }


def _study_schemas() -> Node:
    """How a study is made."""
    texts: Node = {"type": "array", "items": TEXT, "maxItems": 100}
    wish: Node = {
        "file": {**TEXT, "description": "A file of the server's folder."},
        "score": {**TEXT, "description": "Column with the score."},
        "id": TEXT,
        "prediction": TEXT,
        "show": {**texts, "description": "Columns that the person who labels sees."},
        "images": {**texts, "description": "Columns with paths of pictures beside the file."},
        "measure": {"type": "string", "enum": list(MEASURES), "default": "f1"},
        "design": {"type": "string", "enum": list(DESIGNS)},
        "wanted": {"type": "number", "description": "Width of the interval at which to stop."},
        "threshold": {"type": "number"},
        "classes": {**texts, "description": "Label values, the negative first."},
        "names": {**texts, "description": "The labels as people see them."},
        "prompt": TEXT,
        "seed": {"type": "integer"},
        "reveal": {"type": "boolean"},
        "second": {"type": "number", "minimum": 0, "maximum": 0.5},
    }
    return {
        "Wish": _object(wish, ["file", "score"]),
        "NewStudy": _object({"name": TEXT, **wish}, ["name", "file", "score"]),
        "Made": _object({"study": TEXT, "items": {"type": "integer"}}, ["study", "items"]),
    }


def _get(
    summary: str, result: str, parameters: list[Node] | None = None, of_study: bool = True
) -> Node:
    every = [*([STUDY_PARAMETER] if of_study else []), *(parameters or [])]
    return {"summary": summary, "parameters": every, "responses": _responses(result, 200)}


def _post(summary: str, given: str, result: str, status: int = 200, of_study: bool = True) -> Node:
    content = {"application/json": {"schema": _reference(given)}}
    return {
        "summary": summary,
        "parameters": [STUDY_PARAMETER] if of_study else [],
        "requestBody": {"required": True, "content": content},
        "responses": _responses(result, status),
    }


def _upload() -> Node:
    binary = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    return {
        "summary": "Upload a CSV or Parquet file: the body is the file",
        "parameters": [_query("name", True)],
        "requestBody": {"required": True, "content": binary},
        "responses": _responses("Upload", 201),
    }


def _responses(result: str, status: int) -> Node:
    def answer(description: str, schema: str) -> Node:
        content = {"application/json": {"schema": _reference(schema)}}
        return {"description": description, "content": content}

    refusals = {
        "400": "The input is wrong; the error says what is allowed",
        "401": "The token is missing or wrong",
        "403": "The request comes from another site",
        "404": "No such study, item or file",
        "409": "The item has another answer, or the study is there already",
        "413": "Too large",
        "415": "Of another kind than is taken here",
        "500": "The study is damaged; nothing was recorded",
        "503": "The study cannot be written now; nothing was recorded, try again",
        "507": "The disk is full; nothing was recorded, try again",
    }
    found = {str(status): answer("Done", result)}
    return found | {code: answer(why, "Error") for code, why in refusals.items()}


def _estimate_parameters() -> list[Node]:
    return [
        {**_query("measure"), "description": "Another measure; several with commas."},
        {
            **_query("level"),
            "schema": {
                "type": "number",
                "exclusiveMinimum": 0,
                "exclusiveMaximum": 1,
                "default": 0.95,
            },
        },
    ]


def _query(name: str, required: bool = False) -> Node:
    return {"name": name, "in": "query", "required": required, "schema": {"type": "string"}}


def _object(properties: Node, required: list[str] | None = None) -> Node:
    needed = {"required": required} if required else {}
    return {"type": "object", "properties": properties, **needed}


def _reference(name: str) -> Node:
    return {"$ref": f"#/components/schemas/{name}"}
