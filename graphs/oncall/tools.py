"""What the on-call loop can do: three lookups, and one rollback that a person has to approve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from langchain_core.tools import InjectedToolArg

from interlock.graphs.oncall.patches import read_patch, setting_change
from interlock.graphs.oncall.world import HERE, World
from interlock.nodes.tools import contract
from interlock.policies.tool_errors import InvalidInput

__all__ = ["oncall_tools"]

SETTING = "retry budget"


def oncall_tools(path: Path) -> list[Callable[..., Any]]:
    """The tools over the database at `path`, each with its contract."""
    world = World(path)

    @contract(
        effect="read",
        provides={"incident": "incidents[0].id", "cause": "incidents[0].traced_to"},
        normalizer={
            "summary": "{count} found. {best}",
            "entities": "incidents[].{id: id, began: started_at, traced_to: traced_to, title: title}",
        },
    )
    def search_incidents(query: str, since: str | None = None) -> dict[str, Any]:
        """Search incidents by words; the best match is first, the newest before older ones.

        Args:
            query: words that the incident should hold, for example "checkout".
            since: only incidents that began at this time or later, ISO 8601.
        """
        return _search(world, query, since)

    @contract(
        effect="read",
        untrusted=False,
        provides={
            "service": "service",
            "deploy": "deploy_id",
            "retry_budget_old_s": "setting.old_s",
            "retry_budget_new_s": "setting.new_s",
            "files_changed": "length(files_changed)",
        },
        normalizer={
            "summary": "Deploy {deploy_id} of {service} by a {author_role}: {change} "
            "({version}, {status}, deployed {deployed_at})",
            "entities": "files_changed",
        },
    )
    def search_deploy(deploy_id: str) -> dict[str, Any]:
        """Look up one deploy: service, version, who and when, and what its patch changed.

        Args:
            deploy_id: number of the deploy, for example "4471".
        """
        return _describe(world.deploy(deploy_id))

    @contract(effect="read", untrusted=False, volatile=["p99_ms"])
    def service_health(service: str) -> dict[str, Any]:
        """Error rate and latency of a service as monitoring sees it now, with its live deploy.

        Args:
            service: name of the service, for example "payments-api".
        """
        return world.health(service)

    @contract(
        effect="high_risk",
        idempotent=True,
        untrusted=False,
        targets=["deploy_id"],
        timeout_s=30.0,
        provides={"rolled_back": "deploy_id", "live_version": "live_version"},
    )
    def rollback(
        deploy_id: str, reason: str, idempotency_key: Annotated[str, InjectedToolArg]
    ) -> dict[str, Any]:
        """Roll one deploy back: its predecessor goes live again.

        Args:
            deploy_id: number of the deploy, for example "4471".
            reason: why, in one sentence; it is kept with the rollback.
        """
        return world.roll_back(deploy_id, reason, idempotency_key)

    return [search_incidents, search_deploy, service_health, rollback]


def _search(world: World, query: str, since: str | None) -> dict[str, Any]:
    words = query.casefold().split()
    if not words:
        raise InvalidInput("query needs at least one word")
    rows = [(_hits(row, words), row) for row in world.incidents(_time(since))]
    found = [row for hits, row in sorted(rows, key=lambda pair: -pair[0]) if hits]
    return {"count": len(found), "best": _in_words(found[0]) if found else "", "incidents": found}


def _in_words(incident: dict[str, Any]) -> str:
    return (
        "Best match: {id} ({severity}, since {started_at}), seen on {seen_on}, traced to {traced_to}: "
        "{title}. {notes}"
    ).format_map(incident)


def _hits(row: dict[str, Any], words: list[str]) -> int:
    text = " ".join(str(value) for value in row.values()).casefold()
    return sum(word in text for word in words)


def _time(since: str | None) -> str:
    """The time as the database writes it. Raises InvalidInput."""
    if since is None:
        return ""
    try:
        moment = datetime.fromisoformat(since)
    except ValueError:
        raise InvalidInput(f"since is {since!r}, which is not a time in ISO 8601") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _describe(row: dict[str, Any]) -> dict[str, Any]:
    patch, deploy_id, summary = row.pop("patch"), row.pop("id"), row.pop("summary")
    files = read_patch((HERE / patch).read_text(encoding="utf-8")) if patch else []
    setting = setting_change(files, SETTING)
    known = {"deploy_id": deploy_id, **row, "files_changed": [one.path for one in files]}
    if setting is None:
        return {**known, "change": summary, "setting": None}
    change = f"{setting.name} {setting.old_s:g} s → {setting.new_s:g} s in {setting.files} files. {summary}"
    return {**known, "change": change, "setting": asdict(setting)}
