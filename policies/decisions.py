"""Contradictions inside one decision. Only real ones: a decision that is merely thin is not rejected."""

from __future__ import annotations

from interlock.policies.proposals import Ask, CannotComplete, Decision, Delegate, FinalAnswer

__all__ = ["inconsistencies"]

_NOTHING = frozenset({"", "-", "none", "nothing", "n/a", "null"})


def inconsistencies(decision: Decision) -> str | None:
    """Why the decision contradicts itself, in words that the model can act on; None when it does not."""
    match decision.proposal:
        case FinalAnswer(answer=answer):
            return _answer_problem(answer, still_missing(decision))
        case Ask(question=question) if not question.strip():
            return "ask needs a question"
        case CannotComplete(reason=reason) if not reason.strip():
            return "cannot_complete needs a reason"
        case Delegate(goal=goal) if not goal.strip():
            return "delegate needs a goal"
        case _:
            return None


def still_missing(decision: Decision) -> list[str]:
    """What the decision says is missing, without the words that models use for nothing."""
    return [item for item in decision.missing_info if item.strip().rstrip(".").lower() not in _NOTHING]


def _answer_problem(answer: object, missing: list[str]) -> str | None:
    if answer is None or (isinstance(answer, str) and not answer.strip()):
        return "final_answer is empty; give the answer, or use cannot_complete with the reason"
    if missing:
        return (
            f"final_answer was chosen while missing_info still names: {'; '.join(missing)}. "
            "Get what is missing first, or leave missing_info empty if it is not needed"
        )
    return None
