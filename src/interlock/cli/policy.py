"""`interlock policy`: what a policy file means for the tools, and whether it gives the expected verdicts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import click

if TYPE_CHECKING:
    from interlock.nodes.tools import BoundTool
    from interlock.policies.explaining import Explained
    from interlock.policies.policycases import CaseResult
    from interlock.policies.rules import Policy

__all__ = ["policy"]

_tools = click.option(
    "--tools", "tools_at", required=True, metavar="MODULE:NAME", help="The list of tools, by import path."
)
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.group()
def policy() -> None:
    """Review a policy file before a loop runs under it."""


@policy.command()
@click.argument("file")
@_tools
@_json
def check(file: str, tools_at: str, as_json: bool) -> None:
    """Print what each tool would get under the policy FILE, and why.

    Ends with 2 and one line for each problem when the file has any.
    """
    from interlock.policies.explaining import explain
    from interlock.policies.policychecks import problems

    made, tools = _policy(file), _load_tools(tools_at)
    contracts = {name: tool.contract for name, tool in tools.items()}
    wrong = problems(made, contracts, {name: tool.schema for name, tool in tools.items()})
    explained = explain(made, contracts)
    if as_json:
        shown = [one.dump() for one in explained]
        document = {"policy": made.name, "version": made.version, "tools": shown, "problems": wrong}
        click.echo(json.dumps(document, indent=2))
    elif not wrong:
        click.echo("\n".join(_lines(one) for one in explained))
    if wrong:
        _refuse(*(f"{file}: {line}" for line in wrong))


@policy.command("test")
@click.argument("file")
@click.argument("cases")
@_tools
@_json
def test_(file: str, cases: str, tools_at: str, as_json: bool) -> None:
    """Judge the calls in CASES by the policy FILE, and compare the verdicts with the expected ones.

    No tool is called. Ends with 1 when a case fails.
    """
    from interlock.policies.errors import BadPolicy
    from interlock.policies.policycases import parse_cases, run_cases

    made, tools = _policy(file), _load_tools(tools_at)
    try:
        expected = parse_cases(_read(cases), cases)
    except BadPolicy as error:
        _refuse(*error.problems)
    contracts = {name: tool.contract for name, tool in tools.items()}
    results = run_cases(made, contracts, expected, lambda name, arguments: tools[name].validate(arguments))
    failed = sum(not result.passed for result in results)
    if as_json:
        shown = [result.dump() for result in results]
        click.echo(json.dumps({"passed": len(results) - failed, "failed": failed, "cases": shown}, indent=2))
    else:
        click.echo("\n".join([*map(_case_line, results), f"{len(results) - failed} passed, {failed} failed"]))
    if failed:
        click.get_current_context().exit(1)


def _policy(file: str) -> Policy:
    from interlock.policies.errors import BadPolicy
    from interlock.policies.policyfile import parse_policy

    try:
        return parse_policy(_read(file), file)
    except BadPolicy as error:
        _refuse(*error.problems)


def _read(file: str) -> str:
    try:
        with open(file, encoding="utf-8") as opened:
            return opened.read()
    except OSError as error:
        _refuse(f"{file}: cannot be read: {error.strerror or error}")
    except UnicodeDecodeError:
        _refuse(f"{file}: this is not text in UTF-8")


def _load_tools(at: str) -> Mapping[str, BoundTool]:
    """The tools at `module:NAME`, with their contracts. Modules in the current folder are found too."""
    import os
    import sys

    from interlock.nodes.tools import bind_tools
    from interlock.policies.errors import BadLoop

    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    found = _imported(at)
    if not isinstance(found, list | tuple):
        _refuse(f"--tools {at}: this is a {type(found).__name__}, not a list of tools")
    try:
        return bind_tools(list(found), {})
    except BadLoop as error:
        _refuse(f"--tools {at}: {error}")


def _imported(at: str) -> Any:
    import importlib

    module, colon, name = at.partition(":")
    if not (module and colon and name):
        _refuse(f"--tools {at}: write it as package.module:NAME")
    try:
        return getattr(importlib.import_module(module), name)
    except Exception as error:  # whatever the user's module raises; no graph runs in here
        _refuse(f"--tools {at}: cannot be imported: {type(error).__name__}: {error}")


def _refuse(*lines: str) -> NoReturn:
    from interlock.policies.text import visible

    for line in lines:
        click.echo(visible(" ".join(line.splitlines())), err=True)
    raise click.exceptions.Exit(2)


def _lines(one: Explained) -> str:
    from interlock.policies.text import visible

    verdict = one.verdict.dump()
    who = f", by {' or '.join(verdict['approvers'])}" if verdict.get("approvers") else ""
    until = f", within {verdict['expires_s']:g} s" if verdict.get("expires_s") else ""
    lines = [f"{one.tool} ({one.effect}): {one.verdict.kind}{who}{until}: {one.verdict.reason}"]
    lines[0] += f" [{one.verdict.rule}]"
    lines += [f"    {when} [{rule}]" for rule, when in one.stricter.items()]
    lines += [f"    note: {note}" for note in one.notes]
    return visible("\n".join(" ".join(line.split("\n")) for line in lines))


def _case_line(result: CaseResult) -> str:
    from interlock.policies.text import visible

    case, verdict = result.case, result.verdict
    words = f"case {result.number}, {case.name or case.tool}"
    got = f"{verdict.kind} [{verdict.rule}]"
    if result.passed:
        return visible(f"pass  {words}: {got}".replace("\n", " "))
    wanted = f"{case.expect} [{case.rule}]" if case.rule else case.expect
    return visible(f"FAIL  {words}: expected {wanted}, got {got}: {verdict.reason}".replace("\n", " "))
