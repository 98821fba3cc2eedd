"""The OpenAPI document of what is under /api, from its table and its types."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from haystat import __version__
from haystat.web import body, models
from haystat.web.auth import CSRF_HEADER
from haystat.web.operations import JSON, OPERATIONS, Operation

Node = dict[str, Any]

PATH = "/api/openapi.json"
REFUSALS = {
    "400": "The request is not what this document says; the error says what is wrong",
    "401": "The token is missing or wrong",
    "403": "The request comes from another site, or is for managers",
    "404": "No such study, item or file",
    "409": "The item has another answer, or the study is there already",
    "413": "Too large",
    "415": "Of another kind than is taken here",
    "422": "The request is well formed, but not for this study or file",
    "429": "Too many wrong tokens",
    "500": "The study is damaged; nothing was recorded",
    "503": "The study cannot be written now; nothing was recorded, send it again",
    "507": "The disk is full; nothing was recorded, send it again later",
}


async def openapi(request: Request) -> Response:
    """The document, for programs."""
    return body.reply(document())


@cache
def document() -> Node:
    """The whole document."""
    types = [models.Error]
    types += [
        t for one in OPERATIONS.values() for t in (one.body, one.types["return"]) if _is_model(t)
    ]
    _, schemas = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    paths: Node = {}
    for one in OPERATIONS.values():
        paths.setdefault(one.path, {})[one.method.lower()] = _described(one)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "haystat",
            "version": __version__,
            "description": "Ask which items to label, tell the labels, read the estimate. "
            f"Send `Authorization: Bearer TOKEN`, or a cookie and the header {CSRF_HEADER}.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas,
        },
        "security": [{"token": []}],
    }


def _described(one: Operation) -> Node:
    done = {"description": "Done", "content": _content(one.types["return"], one.gives)}
    found: Node = {
        "summary": (one.handler.__doc__ or "") + (" For managers." if one.managers else ""),
        "parameters": [] if one.address is None else _parameters(one.address),
        "responses": {str(one.status): done}
        | {
            code: {"description": why, "content": _content(models.Error)}
            for code, why in REFUSALS.items()
        },
    }
    if one.about:
        found["description"] = one.about
    if one.method == "POST":
        found["requestBody"] = {"required": True, "content": _content(one.body, one.sends)}
    return found


def _content(type_: Any, kind: str = JSON) -> Node:
    described: Node = {"type": "object" if kind == JSON else "string"}
    if _is_model(type_):
        described = {"$ref": f"#/components/schemas/{type_.__name__}"}
    return {kind: {"schema": described}}


def _parameters(query: type[msgspec.Struct]) -> list[Node]:
    """The fields of a query; lists have commas between their parts."""
    properties = msgspec.json.schema(query)["$defs"][query.__name__]["properties"]
    return [
        {
            "name": field.encode_name,
            "in": "query",
            "required": field.required,
            "explode": False,
            "schema": properties[field.encode_name],
        }
        for field in msgspec.structs.fields(query)
    ]


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
