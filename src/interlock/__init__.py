"""Interlock: an agent loop as a control system. The model proposes; the application decides.

Every public name is loaded when it is first used, so that importing `interlock` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlock.checkpoints import Store as Store
    from interlock.checkpoints import open_store as open_store
    from interlock.graphs.loop import Loop as Loop
    from interlock.graphs.loop import create_loop as create_loop
    from interlock.graphs.running import Event as Event
    from interlock.graphs.running import acancel as acancel
    from interlock.graphs.running import aresume as aresume
    from interlock.graphs.running import astart as astart
    from interlock.graphs.running import cancel as cancel
    from interlock.graphs.running import inspect as inspect
    from interlock.graphs.running import resume as resume
    from interlock.graphs.running import start as start
    from interlock.nodes.model import ChatModel as ChatModel
    from interlock.nodes.tools import contract as contract
    from interlock.policies.budget import Budget as Budget
    from interlock.policies.contracts import ArgumentRule as ArgumentRule
    from interlock.policies.contracts import Contract as Contract
    from interlock.policies.errors import InterlockError as InterlockError
    from interlock.policies.outcomes import Outcome as Outcome
    from interlock.policies.outcomes import Reason as Reason
    from interlock.policies.questions import HumanDecision as HumanDecision
    from interlock.policies.rules import Action as Action
    from interlock.policies.rules import Policy as Policy
    from interlock.policies.runs import Run as Run
    from interlock.policies.tool_errors import Conflict as Conflict
    from interlock.policies.tool_errors import InvalidInput as InvalidInput
    from interlock.policies.tool_errors import NotFound as NotFound
    from interlock.policies.tool_errors import PermissionDenied as PermissionDenied
    from interlock.policies.tool_errors import Retryable as Retryable
    from interlock.policies.tool_errors import ToolFailure as ToolFailure
    from interlock.policies.verdicts import Allow as Allow
    from interlock.policies.verdicts import Deny as Deny
    from interlock.policies.verdicts import NeedsApproval as NeedsApproval

__version__ = "0.1.0"

_HOMES = {
    "Action": "interlock.policies.rules",
    "Allow": "interlock.policies.verdicts",
    "ArgumentRule": "interlock.policies.contracts",
    "Budget": "interlock.policies.budget",
    "ChatModel": "interlock.nodes.model",
    "Conflict": "interlock.policies.tool_errors",
    "Contract": "interlock.policies.contracts",
    "Deny": "interlock.policies.verdicts",
    "Event": "interlock.graphs.running",
    "HumanDecision": "interlock.policies.questions",
    "InterlockError": "interlock.policies.errors",
    "InvalidInput": "interlock.policies.tool_errors",
    "Loop": "interlock.graphs.loop",
    "NeedsApproval": "interlock.policies.verdicts",
    "NotFound": "interlock.policies.tool_errors",
    "Outcome": "interlock.policies.outcomes",
    "PermissionDenied": "interlock.policies.tool_errors",
    "Policy": "interlock.policies.rules",
    "Reason": "interlock.policies.outcomes",
    "Retryable": "interlock.policies.tool_errors",
    "Run": "interlock.policies.runs",
    "Store": "interlock.checkpoints",
    "ToolFailure": "interlock.policies.tool_errors",
    "acancel": "interlock.graphs.running",
    "aresume": "interlock.graphs.running",
    "astart": "interlock.graphs.running",
    "cancel": "interlock.graphs.running",
    "contract": "interlock.nodes.tools",
    "create_loop": "interlock.graphs.loop",
    "inspect": "interlock.graphs.running",
    "open_store": "interlock.checkpoints",
    "resume": "interlock.graphs.running",
    "start": "interlock.graphs.running",
}

__all__ = [
    "Action",
    "Allow",
    "ArgumentRule",
    "Budget",
    "ChatModel",
    "Conflict",
    "Contract",
    "Deny",
    "Event",
    "HumanDecision",
    "InterlockError",
    "InvalidInput",
    "Loop",
    "NeedsApproval",
    "NotFound",
    "Outcome",
    "PermissionDenied",
    "Policy",
    "Reason",
    "Retryable",
    "Run",
    "Store",
    "ToolFailure",
    "acancel",
    "aresume",
    "astart",
    "cancel",
    "contract",
    "create_loop",
    "inspect",
    "open_store",
    "resume",
    "start",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'interlock' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
