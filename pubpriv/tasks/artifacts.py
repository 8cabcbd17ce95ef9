"""Artifacts in addition to the model table: budget, picture, refusal, and the location of the report page.

They are made from released numbers, public rows and the ledger's figures, so all of them are public. Pictures are SVG
inside the page's text (a data URI), so the UI shows them without a file server.
"""

import base64
import hashlib
import os
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from uuid import UUID

from prefect.artifacts import create_markdown_artifact, create_table_artifact

from pubpriv.common.urls import shown_url
from pubpriv.data.tables import PublicTable
from pubpriv.released.estimate import Estimate
from pubpriv.released.report import History, picture
from pubpriv.released.report.charts import burn_down
from pubpriv.released.report.drawing import picture_text
from pubpriv.tasks.events import BudgetOutlook

_URL_VARIABLE = "PUBPRIV_OUTPUT_URL"
"""Variable with the URL at which `PUBPRIV_OUTPUT` is served, if it is: links to report pages begin with it."""


@dataclass(frozen=True)
class Subject:
    """The subject of an artifact, by which it is found: a dataset and one of its series, or releases without a series.

    Attributes:
        dataset: name in the ledger, or `simulation`.
        series: series of the deployment; None: the run has none.
    """

    dataset: str
    series: str | None = None

    def key(self, what: str) -> str:
        """Return the key of an artifact in Prefect's form: lowercase letters, digits and dashes.

        Two dashes separate names, and a hash follows if names had to be changed, so no two subjects share a key.
        """
        names = [self.dataset, *([] if self.series is None else [self.series]), what]
        plain = [_slug(name) for name in names]
        if plain == names:
            return "--".join(names)
        exact = hashlib.sha256("/".join(names).encode()).hexdigest()[:_HASH]
        return f"{'--'.join(name or 'unnamed' for name in plain)}---{exact}"

    def show_budget(self, history: History, outlook: BudgetOutlook, release_id: str) -> tuple[UUID, UUID]:
        """Show the remaining budget of a dataset: a picture with a sentence, and a table of the newest runs.

        Returns:
            Identities of the page and of the table.
        """
        name = history.dataset
        page = create_markdown_artifact(
            key=self.key("budget"),
            description=f"Budget of {name} after release {release_id}",
            markdown=f"## Budget of {name}\n\n{outlook.in_words()}\n\n"
            f"{_embedded(picture_text(burn_down(history, release_id)), 'What is left after each release')}\n",
        )
        table = create_table_artifact(
            key=self.key("runs"),
            description=f"Runs of {name} and what each spent, in {history.currency}, newest first",
            table=_runs(history),
        )
        return _identity(page), _identity(table)

    def show_picture(self, estimate: Estimate, public: PublicTable | None) -> UUID:
        """Show a release as ellipses (or densities) over the public points."""
        name, release_id = self.dataset, estimate.provenance["release_id"]
        return _identity(
            create_markdown_artifact(
                key=self.key("picture"),
                description=f"Picture of {name}, release {release_id or 'none'}",
                markdown=f"## {name}, release {release_id or 'none'}\n\n"
                f"{_embedded(picture(estimate, public), 'Released components over public points')}\n",
            )
        )

    def show_refusal(self, outlook: BudgetOutlook, release_id: str, refusal: str) -> UUID:
        """Show why a run was refused, and what to do."""
        name = outlook.balance.dataset
        return _identity(
            create_markdown_artifact(
                key=self.key("refused"),
                description=f"Release {release_id} of {name} was refused: no budget",
                markdown=f"## Release {release_id} of {name} was refused\n\nNothing was read and nothing was spent.\n\n"
                f"{_plain(refusal)}\n\n{outlook.in_words()}\n\n"
                "What to do: ask for less, close runs that are done (`pubpriv budget recover`), or raise the cap "
                "(`pubpriv budget set --raise`); then switch the deployment on again if it was paused.\n",
            )
        )

    def show_report(self, release_id: str, page: str, root: str) -> UUID:
        """Show the path of a release's report page, or a link to it if `PUBPRIV_OUTPUT_URL` is set.

        Args:
            release_id: release id.
            page: path of the HTML file.
            root: the output folder.
        """
        served = shown_url(os.environ.get(_URL_VARIABLE, "")).rstrip("/")
        dataset, where = self.dataset, f"Report page: `{page}`"
        if served:
            where = f"[Report page of {_plain(dataset)}, release {_plain(release_id)}]({served}/{_below(page, root)})"
        return _identity(
            create_markdown_artifact(
                key=self.key("report"),
                description=f"Report page of {dataset}, release {release_id}",
                markdown=f"{where}\n\nModel, table and page are in the same folder.\n",
            )
        )


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


_HASH = 12
"""Hexadecimal digits of a name's hash."""


def shown(value: Any) -> Any:
    """Round a cell of a table for people: floats to nine digits, other values unchanged."""
    return float(f"{value:.9g}") if isinstance(value, float) else value


def _below(page: str, root: str) -> str:
    return quote(os.path.relpath(page, root).replace(os.sep, "/"))


def _runs(history: History) -> list[dict[str, Any]]:
    """List the newest runs, newest first, with the budget that was left after each, counting only charges."""
    left, rows = history.cap - history.spent_earlier, []
    for run in history.runs:
        left -= run.spent
        rows.append(
            {
                "release": run.release_id,
                "day": run.day,
                "allotment": run.allotment,
                "spent": shown(run.spent),
                "left after it": shown(max(0.0, left)),
                "state": "open" if run.open else "closed",
            }
        )
    return rows[::-1]


def _embedded(svg: str, text: str) -> str:
    """Embed a picture in Markdown, on a white background, because the UI is often dark."""
    svg = svg.replace("<svg ", '<svg style="background:#ffffff" ', 1)
    return f"![{text}](data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()})"


def _plain(text: str) -> str:
    """Escape text for Markdown."""
    return re.sub(r"([\\`*_{}\[\]()<>#!|~])", r"\\\1", text)


def _identity(artifact: Any) -> UUID:
    return UUID(str(artifact))
