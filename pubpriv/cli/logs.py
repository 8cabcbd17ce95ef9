"""What a run logs for whoever keeps logs: few events, each with the same public facts every time.

| event | facts beside `dataset` and `release_id` |
|---|---|
| `run_started` | `estimate` (mean, gaussian or mixture), `budget` of the run |
| `step_started` | `step`, `title`: for people, with a number where the step repeats |
| `charge` | `step`, `label`, `question`, `cost`; only what was paid now: a replayed answer costs nothing |
| `step_finished` | `step`, `seconds` (null for steps that look at private rows), `charges` |
| `run_finished` | `converged`, `spent`, `charges`, `warnings` |

Beside them the command line logs `note` (`message`) and, when it fails, `failed` (`error`, `message`, `exit_code`).

Durations of private steps may depend on rows (`docs/privacy.md`), so they are not logged, and no line has a time of its
own: whoever collects the lines stamps them, and keeps the stamps from outsiders.
"""

import json
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from pubpriv.curator import Curator
from pubpriv.estimators.steps import Place, Runner, Step

LOGGER = logging.getLogger("pubpriv")
LOGGER.addHandler(logging.NullHandler())

_RUN = ("dataset", "release_id")
EVENTS: Mapping[str, tuple[str, ...]] = {
    "run_started": (*_RUN, "estimate", "budget"),
    "step_started": (*_RUN, "step", "title"),
    "charge": (*_RUN, "step", "label", "question", "cost"),
    "step_finished": (*_RUN, "step", "seconds", "charges"),
    "run_finished": (*_RUN, "converged", "spent", "charges", "warnings"),
}


def log_event(event: str, **facts: Any) -> None:
    """Log an event with its facts, no more and no fewer.

    Raises:
        TypeError: an event or a fact that is not in the vocabulary.
    """
    if set(facts) != set(EVENTS.get(event, ())) or event not in EVENTS:
        raise TypeError(f"{event} takes {', '.join(EVENTS.get(event, ()))}, not with {', '.join(facts)}")
    LOGGER.info(event, extra={"facts": {name: facts[name] for name in EVENTS[event]}})


class JsonLines(logging.Formatter):
    """One JSON object a line: level, event, and its facts in their order."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        facts = getattr(record, "facts", {})
        return json.dumps({"level": record.levelname.lower(), "event": record.getMessage(), **facts})


def follower(dataset: str, release_id: str) -> Callable[[Runner], Runner]:
    """Give what `steps.watcher` is set to, to log every step of a run with its charges.

    Args:
        dataset: of the run.
        release_id: of the run.
    """

    def around(runner: Runner) -> Runner:
        def followed(step: Step[..., Any], place: Place, /, *args: Any, **kwargs: Any) -> Any:
            run = {"dataset": dataset, "release_id": release_id, "step": step.name}
            curator = next((value for value in (*args, *kwargs.values()) if isinstance(value, Curator)), None)
            log_event("step_started", **run, title=step.at(place))
            paid = set() if curator is None else {line.label for line in curator.statement().charges}
            start = time.monotonic()
            result = runner(step, place, *args, **kwargs)
            seconds = None if step.private else round(time.monotonic() - start, 3)
            new = [] if curator is None else [c for c in curator.statement().charges if c.label not in paid]
            for line in new:
                log_event("charge", **run, label=line.label, question=line.question, cost=line.cost)
            log_event("step_finished", **run, seconds=seconds, charges=len(new))
            return result

        return followed

    return around
