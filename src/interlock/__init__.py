"""Interlock: an agent loop as a control system. The model proposes; the application decides.

Every public name is loaded when it is first used, so that importing `interlock` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlock.checkpoints import Store as Store
    from interlock.checkpoints import open_store as open_store
    from interlock.graphs.cancelling import acancel as acancel
    from interlock.graphs.cancelling import cancel as cancel
    from interlock.graphs.inspecting import inspect as inspect
    from interlock.graphs.loop import Loop as Loop
    from interlock.graphs.loop import create_loop as create_loop
    from interlock.graphs.running import Event as Event
    from interlock.graphs.running import aresume as aresume
    from interlock.graphs.running import astart as astart
    from interlock.graphs.running import resume as resume
    from interlock.graphs.running import start as start
    from interlock.nodes.model import ChatModel as ChatModel
    from interlock.nodes.tools import contract as contract
    from interlock.policies.budget import Budget as Budget
    from interlock.policies.budget import Grant as Grant
    from interlock.policies.budget import Limit as Limit
    from interlock.policies.budget import Usage as Usage
    from interlock.policies.checks import Check as Check
    from interlock.policies.contracts import ArgumentRule as ArgumentRule
    from interlock.policies.contracts import Contract as Contract
    from interlock.policies.contracts import Poll as Poll
    from interlock.policies.errors import AlreadyDecided as AlreadyDecided
    from interlock.policies.errors import BadDecision as BadDecision
    from interlock.policies.errors import BadGrant as BadGrant
    from interlock.policies.errors import BadLoop as BadLoop
    from interlock.policies.errors import BadPolicy as BadPolicy
    from interlock.policies.errors import InterlockError as InterlockError
    from interlock.policies.errors import LoopBroken as LoopBroken
    from interlock.policies.errors import LoopChanged as LoopChanged
    from interlock.policies.errors import NothingToDecide as NothingToDecide
    from interlock.policies.errors import RunBusy as RunBusy
    from interlock.policies.errors import RunExists as RunExists
    from interlock.policies.errors import RunFinished as RunFinished
    from interlock.policies.errors import StoreError as StoreError
    from interlock.policies.errors import UnknownApproval as UnknownApproval
    from interlock.policies.errors import UnknownRun as UnknownRun
    from interlock.policies.facts import Fact as Fact
    from interlock.policies.outcomes import Change as Change
    from interlock.policies.outcomes import Outcome as Outcome
    from interlock.policies.outcomes import Reason as Reason
    from interlock.policies.policyfile import parse_policy as parse_policy
    from interlock.policies.prices import Price as Price
    from interlock.policies.questions import HumanDecision as HumanDecision
    from interlock.policies.rules import Action as Action
    from interlock.policies.rules import Policy as Policy
    from interlock.policies.rules import Rule as Rule
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
    from interlock.policies.verifiers import Claim as Claim
    from interlock.policies.verifiers import CommandCheck as CommandCheck
    from interlock.policies.verifiers import EffectDone as EffectDone
    from interlock.policies.verifiers import Fresh as Fresh
    from interlock.policies.verifiers import ToolCheck as ToolCheck

__version__ = "0.1.0"

_HOMES = {
    "Action": "interlock.policies.rules",
    "Allow": "interlock.policies.verdicts",
    "AlreadyDecided": "interlock.policies.errors",
    "ArgumentRule": "interlock.policies.contracts",
    "BadDecision": "interlock.policies.errors",
    "BadGrant": "interlock.policies.errors",
    "BadLoop": "interlock.policies.errors",
    "BadPolicy": "interlock.policies.errors",
    "Budget": "interlock.policies.budget",
    "Change": "interlock.policies.outcomes",
    "ChatModel": "interlock.nodes.model",
    "Check": "interlock.policies.checks",
    "Claim": "interlock.policies.verifiers",
    "CommandCheck": "interlock.policies.verifiers",
    "Conflict": "interlock.policies.tool_errors",
    "Contract": "interlock.policies.contracts",
    "Deny": "interlock.policies.verdicts",
    "EffectDone": "interlock.policies.verifiers",
    "Event": "interlock.graphs.running",
    "Fact": "interlock.policies.facts",
    "Grant": "interlock.policies.budget",
    "Fresh": "interlock.policies.verifiers",
    "HumanDecision": "interlock.policies.questions",
    "InterlockError": "interlock.policies.errors",
    "InvalidInput": "interlock.policies.tool_errors",
    "Limit": "interlock.policies.budget",
    "Loop": "interlock.graphs.loop",
    "LoopBroken": "interlock.policies.errors",
    "LoopChanged": "interlock.policies.errors",
    "NeedsApproval": "interlock.policies.verdicts",
    "NotFound": "interlock.policies.tool_errors",
    "NothingToDecide": "interlock.policies.errors",
    "Outcome": "interlock.policies.outcomes",
    "PermissionDenied": "interlock.policies.tool_errors",
    "Policy": "interlock.policies.rules",
    "Poll": "interlock.policies.contracts",
    "Price": "interlock.policies.prices",
    "Reason": "interlock.policies.outcomes",
    "Retryable": "interlock.policies.tool_errors",
    "Rule": "interlock.policies.rules",
    "Run": "interlock.policies.runs",
    "RunBusy": "interlock.policies.errors",
    "RunExists": "interlock.policies.errors",
    "RunFinished": "interlock.policies.errors",
    "Store": "interlock.checkpoints",
    "StoreError": "interlock.policies.errors",
    "ToolCheck": "interlock.policies.verifiers",
    "ToolFailure": "interlock.policies.tool_errors",
    "UnknownApproval": "interlock.policies.errors",
    "UnknownRun": "interlock.policies.errors",
    "Usage": "interlock.policies.budget",
    "acancel": "interlock.graphs.cancelling",
    "aresume": "interlock.graphs.running",
    "astart": "interlock.graphs.running",
    "cancel": "interlock.graphs.cancelling",
    "contract": "interlock.nodes.tools",
    "create_loop": "interlock.graphs.loop",
    "inspect": "interlock.graphs.inspecting",
    "open_store": "interlock.checkpoints",
    "parse_policy": "interlock.policies.policyfile",
    "resume": "interlock.graphs.running",
    "start": "interlock.graphs.running",
}

__all__ = [
    "Action",
    "Allow",
    "AlreadyDecided",
    "ArgumentRule",
    "BadDecision",
    "BadGrant",
    "BadLoop",
    "BadPolicy",
    "Budget",
    "Change",
    "ChatModel",
    "Check",
    "Claim",
    "CommandCheck",
    "Conflict",
    "Contract",
    "Deny",
    "EffectDone",
    "Event",
    "Fact",
    "Fresh",
    "Grant",
    "HumanDecision",
    "InterlockError",
    "InvalidInput",
    "Limit",
    "Loop",
    "LoopBroken",
    "LoopChanged",
    "NeedsApproval",
    "NotFound",
    "NothingToDecide",
    "Outcome",
    "PermissionDenied",
    "Policy",
    "Poll",
    "Price",
    "Reason",
    "Retryable",
    "Rule",
    "Run",
    "RunBusy",
    "RunExists",
    "RunFinished",
    "Store",
    "StoreError",
    "ToolCheck",
    "ToolFailure",
    "UnknownApproval",
    "UnknownRun",
    "Usage",
    "acancel",
    "aresume",
    "astart",
    "cancel",
    "contract",
    "create_loop",
    "inspect",
    "open_store",
    "parse_policy",
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
