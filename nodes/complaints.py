"""What an error of a model's server or client says: a protocol is refused, the model is down, or its own
output could not be read."""

from __future__ import annotations

import re
from typing import Any, Literal

from interlock.policies.replies import ProtocolName

__all__ = ["about_output", "is_gone", "is_quota", "refuses", "retry_after", "status_of", "words"]

READ_AT_MOST = 4_000
"""Characters of an error that are looked at: some quote the whole request."""
_REFUSING = frozenset({400, 404, 405, 415, 422, 500, 501})
_GONE = frozenset({401, 402, 403, 404})
"""No key, no money, no permission, no such model: another model may still answer."""
_PARAMETERS: dict[ProtocolName, re.Pattern[str]] = {
    "tools": re.compile(r"tools|tool_choice|functions|function_call|parallel_tool_calls"),
    "json_schema": re.compile(r"(?:response_format|text\.format)\b.*"),
}
_SUBJECTS: dict[ProtocolName, re.Pattern[str]] = {
    "tools": re.compile(
        r"\b(?:tools?|tool[ _-]?(?:choice|use|calls?|calling)|functions?[ _-]?call\w*)\b", re.I
    ),
    "json_schema": re.compile(
        r"\b(?:response[ _-]?format|json[ _-]?schema|structured[ _-]?outputs?)\b", re.I
    ),
}
_REFUSED = re.compile(
    r"not (?:\w+ )?support|unsupported|unrecogni[sz]ed|unknown (?:parameter|argument|field|name)"
    r"|not (?:permitted|allowed|available|enabled|implemented)|unavailable|requires -|no endpoints"
    r"|extra inputs",
    re.I,
)
_OWN_SCHEMA = re.compile(r"invalid schema for response_format", re.I)
_NOT_THE_PROTOCOL = re.compile(r"invalid schema for function|role '?tool'?|tool_call_id", re.I)
"""A tool's own schema or a message is at fault; another protocol would hide that."""
_QUOTA = re.compile(r"insufficient[_ ](?:quota|balance)|exceeded your current quota|billing_hard_limit", re.I)
_SPOILT = re.compile(
    r"tool_use_failed|json_validate_failed|does not match the expected"
    r"|failed to (?:parse|generate json|call a func)",
    re.I,
)


def status_of(error: BaseException | None) -> int | None:
    """The HTTP status of an error; None for one without."""
    response: Any = getattr(error, "response", None)
    for status in (getattr(error, "status_code", None), getattr(response, "status_code", None)):
        if isinstance(status, int) and not isinstance(status, bool):
            return status
    return None


def refuses(error: BaseException, protocol: ProtocolName) -> bool:
    """True when the server says that it does not take what this protocol sends. Not on any bad request."""
    if protocol not in _SUBJECTS or status_of(error) not in _REFUSING:
        return False
    text = _text(error)
    if _NOT_THE_PROTOCOL.search(text) or _SPOILT.search(text):
        return False
    if _PARAMETERS[protocol].fullmatch(str(_field(error, "param") or "")):
        return True
    if protocol == "json_schema" and _OWN_SCHEMA.search(text):
        return True
    return bool(_SUBJECTS[protocol].search(text) and _REFUSED.search(text))


def is_quota(error: BaseException) -> bool:
    """True when no waiting helps because the account is used up. A server that names a wait means a rate."""
    status = status_of(error)
    if status == 402 or "insufficient_quota" in (_field(error, "code"), _field(error, "type")):
        return True
    return status == 429 and bool(_QUOTA.search(_text(error))) and retry_after(error) is None


def is_gone(error: BaseException) -> bool:
    """True when this model cannot be had at all, however often it is asked."""
    return is_quota(error) or status_of(error) in _GONE


def about_output(error: BaseException) -> tuple[Literal["cut", "unread", "refused"], str] | None:
    """What an error says of the model's own output, and the output as far as the error has it; None for other
    errors. Some clients and servers raise where others return what the model wrote."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if "LengthFinishReasonError" in names:
        return "cut", _written(error)
    if names & {"ContentFilterFinishReasonError", "ModelRefusalError"}:
        return "refused", str(error)
    if names & {"OutputParserException", "ValidationError"}:
        return "unread", str(getattr(error, "llm_output", None) or error)
    if status_of(error) in (400, 422, 500) and _SPOILT.search(_text(error)):
        return "unread", str(_field(error, "failed_generation") or error)
    return None


def retry_after(error: BaseException | None) -> str | None:
    """The header by which a server asks for a wait, as it was sent; None without one."""
    return header_of(error, "retry-after")


def header_of(error: BaseException | None, name: str) -> str | None:
    """A header of the response that an error came with."""
    response: Any = getattr(error, "response", None)
    headers: Any = getattr(response, "headers", None) or {}
    return str(headers.get(name) or "").strip() or None


def words(error: BaseException) -> str:
    """What an error says, with the body of the response where the client leaves it out; may be empty."""
    text, body = str(error).strip(), getattr(error, "body", None)
    inner: Any = body.get("error", body) if isinstance(body, dict) else None
    known = isinstance(inner, dict) and str(inner.get("message") or body) in text
    return text if inner is None or known else f"{text}: {inner}"


def _text(error: BaseException) -> str:
    return words(error)[:READ_AT_MOST]


def _field(error: BaseException, name: str) -> Any:
    """A field of the error's body, wherever the client has put it."""
    body: Any = getattr(error, "body", None)
    inner: Any = body.get("error", body) if isinstance(body, dict) else None
    found = inner.get(name) if isinstance(inner, dict) else None
    return found if found is not None else getattr(error, name, None)


def _written(error: BaseException) -> str:
    completion: Any = getattr(error, "completion", None)
    choices: Any = getattr(completion, "choices", None) or [None]
    return str(getattr(getattr(choices[0], "message", None), "content", None) or "")
