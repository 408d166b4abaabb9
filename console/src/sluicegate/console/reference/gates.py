"""Gates, from the planning and the checks that decide."""

from collections.abc import Iterator

from sluicegate.console.reference.markdown import page, table, words
from sluicegate.contracts.resources.base import Fraction
from sluicegate.contracts.resources.rollout import PlannedStage
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.stages import MIRRORED_STAGES, Check, Signal, Stage, Verdict
from sluicegate.rollout import gates, improvement, planning, shares, verdicts
from sluicegate.rollout.model import Capabilities

_SIGNALS = {
    Signal.SUCCESS_RATE: "Share of runs with an answer that conforms to the contract, and whose outcome was not reported as Failed.",
    Signal.P95_LATENCY: "Share of runs slower than the boundary: the workflow's `sla.maxLatencyMs`, else a quarter (at least 50 ms) above the p95 of stable's "
    "first 59 or more runs. A margin of 0.05 is five points more slow runs. With `controlShare` above 0 compared with a second copy of stable.",
    Signal.FALLBACK_RATE_MAX: "Share of runs in which a component fell back; asked of each component, and the worst counts.",
    Signal.CONTRACT_VIOLATIONS: "Share of runs with a broken contract, of the workflow or a component. Besides, three units of the candidate "
    "with a kind of violation that stable never showed fail it.",
    Signal.DISAGREEMENT: "Share of mirrored answers that differ from the user's in facts and have no better reward, compared with a second copy "
    "of stable (the noise floor). Only in Canary and Shadow, and with `controlShare` above 0.",
    Signal.REWARD: "Mean reward. Only where the workflow declares `reward`, or outcomes bring one.",
    Signal.SHAPLEY_VARIANCE: "Population variance of the components' contributions to the reward, in pairs in which both versions were ablated alike: within "
    "`delta` of stable's, and no contribution moved by `deltaPhi`. Only in Canary and Shadow, with `ablationShare` above 0 and a `reward`. See [contributions](../explanation/contributions.md).",
    Signal.EXTERNAL: "What a gate with a `source` measures: counters that are tested, or a value beside a limit ([guide](../guides/external-evidence.md)). "
    "Not written: `source` stands instead of `signal`.",
    Signal.DRIFT: "What components give where their output contracts bound it: fields with an `enum`, booleans, numbers with `minimum` and `maximum`, and the names of tools in "
    "`tool_calls`. Asked of each such output that both revisions have and `lineage.redact` does not hide, and the worst counts: did the share of any value (of numbers: above any decile of "
    "stable) move, in either direction? Not in Full; where runs are mirrored not of `Live` components.",
}
_VERDICTS = {
    Verdict.PASS: "Shown to be not worse by the margin.",
    Verdict.FAIL: "Shown to be worse. A required gate then aborts, or holds with `onFail: Hold`.",
    Verdict.WAIT: "Not decided yet.",
    Verdict.INCONCLUSIVE: "Not decided at the stage's deadline: a person is asked (override, retry, abort).",
    Verdict.ERROR: "The gate could not be evaluated.",
}


def gates_page() -> str:
    """Signals, defaults of each stage, verdicts, reasons of findings."""
    stages = planning.plan_stages(_example())
    return page(
        "Gates",
        "A gate asks two questions of one signal, in every look, with tests whose error rates hold however often one looks: is the candidate "
        "*worse* than stable (error rate: `errorBudget.abort` split over all required gates, and over components), and is it *not worse by the "
        "margin* (error rate: `errorBudget.promote`)? Missing data never passes. How it works: [evidence](../explanation/evidence.md).",
        "## Signals",
        table(("signal", "what is compared"), _signals()),
        "## Defaults of the stages",
        "`sluicegate lint -f FILE` and `sluicegate rollout plan NAME` show the plan of a workflow. The gate `reward` and ablation are there only when the workflow declares `reward`. A `gates` list replaces the defaults.",
        table(
            (
                "stage",
                "share",
                "minRuns",
                "minDurationSeconds",
                "maxDurationSeconds",
                "controlShare",
                "ablationShare",
            ),
            (_stage(stage) for stage in stages),
        ),
        table(("stage", "gate", "signal", "margin"), _defaults(stages)),
        "In Full the candidate answers everybody and is compared with stable's rates in the stage before.",
        "## Verdicts",
        "The worst of the required gates counts, in this order: " + words(verdicts.PRECEDENCE) + ".",
        table(("verdict", "meaning"), ((f"`{verdict}`", _VERDICTS[verdict]) for verdict in Verdict)),
        "## The check of the routing",
        f"`{shares.NAME}` (`{Check.ROUTING}`) is in every stage whose units are observed, whatever its gates are: do the arms receive their declared shares "
        f"(error rate: {shares.ALPHA}, beside `errorBudget`)? It is no gate: it cannot be configured, never counts for a `Pass` of the stage and never aborts. "
        f"`Inconclusive` with the reason `{shares.MISMATCH}` holds the rollout until a person overrides with a reason, retries or aborts. "
        "What it can see: [routing sanity](../explanation/evidence.md).",
        "## The check of an improvement",
        f"`{improvement.NAME}` (`{Check.IMPROVEMENT}`) is in Controlled wherever outcomes come for runs that an evaluator has judged as well: is what the evaluator "
        f"calls better also better for the business (error rate: {improvement.ALPHA}, beside `errorBudget`)? It cannot be configured and never aborts. While a shown "
        f"improvement is neither confirmed nor refuted the stage waits for it; `{improvement.UNCONFIRMED}` holds the rollout. "
        "What it promises: [decay and hacking](../explanation/decay.md).",
        "## Reasons of findings",
        table(("reason", "meaning"), ((f"`{reason}`", meaning) for reason, meaning in gates.REASONS.items())),
    )


def _example() -> WorkflowSpec:
    """A workflow that says nothing of its rollout, with a reward so that all default gates are there."""
    component = {
        "name": "agent",
        "version": "v1",
        "endpoint": {"url": "http://localhost"},
        "sideEffects": "None",
    }
    return WorkflowSpec.model_validate(
        {"version": "1", "components": [component], "reward": "steps.agent.reward"}
    )


def _signals() -> Iterator[tuple[str, str]]:
    can = Capabilities().signals
    for signal in Signal:
        yield f"`{signal}`", _SIGNALS[signal] + ("" if signal in can else " Refused by this version.")


def _stage(stage: PlannedStage) -> tuple[str, ...]:
    mirrored = "mirrored" if stage.name in MIRRORED_STAGES else "answered"
    return (
        f"`{stage.name}`",
        f"{_fraction(stage.share)} {mirrored}",
        str(stage.min_runs),
        str(stage.min_duration_seconds),
        str(stage.max_duration_seconds),
        _fraction(stage.control_share),
        _fraction(stage.ablation_share),
    )


def _fraction(share: Fraction) -> str:
    return f"{share.numerator}/{share.denominator}" if share.numerator else "0"


def _defaults(stages: tuple[PlannedStage, ...]) -> Iterator[tuple[str, ...]]:
    for stage in stages:
        for gate in stage.gates:
            yield f"`{Stage(stage.name)}`", f"`{gate.name}`", f"`{gate.signal}`", gate.margin or ""
