"""What goes wrong on the way: every call of every service is counted and may fail here."""

from __future__ import annotations

import json
import re
import socket
from typing import Any
from xml.sax.saxutils import escape

from flask import request
from moto.core.responses import BaseResponse
from tools.aws_server.world import WORLD, Cut, Fault, Hold, Nonsense, Refuse, Without

Raw = tuple[int, dict[str, str], str]
_HELD_SECONDS = 10.0
_call_action = BaseResponse.call_action


def graft() -> None:
    BaseResponse.call_action = _watched  # type: ignore[method-assign]


def _watched(response: Any) -> Any:
    fault = WORLD.called(response._get_action())
    refusal = before(fault, response.boto3_service_name)
    if refusal is not None:
        return refusal
    return after(fault, _call_action(response))


def before(fault: Fault | None, service: str) -> Raw | None:
    """What is answered instead of doing anything, None if it is to be done."""
    match fault:
        case Refuse(code, message, status):
            return _refusal(service, code, message, status)
        case Nonsense(status):
            return status, {"Content-Type": "text/html"}, "<html>The server met a <problem"
        case Cut(done=False):
            _cut()
            return 200, {}, ""
        case Hold(release):
            release.wait(_HELD_SECONDS)
    return None


def after(fault: Fault | None, answer: Any) -> Any:
    """What is answered when it was done."""
    match fault:
        case Cut():
            _cut()
        case Without(element):
            status, headers, body = answer
            text = body.decode() if isinstance(body, bytes) else body
            return status, headers, re.sub(rf"<{element}>.*?</{element}>", "", text, flags=re.DOTALL)
    return answer


def _cut() -> None:
    request.environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)


def _refusal(service: str, code: str, message: str, status: int) -> Raw:
    told = f"<Code>{escape(code)}</Code><Message>{escape(message)}</Message>"
    if service == "ec2":
        body = f"<Response><Errors><Error>{told}</Error></Errors><RequestID>r</RequestID></Response>"
        return status, {"Content-Type": "text/xml"}, body
    if service in ("iam", "sts"):
        return status, {"Content-Type": "text/xml"}, f"<ErrorResponse><Error>{told}</Error></ErrorResponse>"
    headers = {"Content-Type": "application/x-amz-json-1.1", "x-amzn-errortype": code}
    return status, headers, json.dumps({"__type": code, "message": message})
