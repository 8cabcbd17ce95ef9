"""The pages and their addresses; each answers from files, the ledger and the commands that were started here.

Functions are synchronous, so that the framework runs each in a thread, where reading a ledger holds up nobody.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from pubpriv.errors import PubPrivError
from pubpriv.estimators import ESTIMATORS, estimator_named
from pubpriv.web.catalogue import Entry
from pubpriv.web.forms import IN_SPITE, fields_of
from pubpriv.web.guard import ENTRANCE, Application, Guard, Keys
from pubpriv.web.runs import Run, Runs
from pubpriv.web.said import progress_of

_LONGEST_FORM = 100_000
"""Most bytes of a form that is sent."""

_REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
"""What a report may do: be looked at."""


class _NoSuchPage(PubPrivError):
    """An address of nothing, for example of a run of a server that has ended."""


@dataclass(frozen=True)
class Pages:
    """All pages of a server.

    Attributes:
        entries: datasets by name.
        runs: commands that were started here.
        keys: of the server.
    """

    entries: dict[str, Entry]
    runs: Runs
    keys: Keys

    def application(self) -> Application:
        """Return what answers requests, behind its guard."""
        static = StaticFiles(packages=[("pubpriv.web", "static")])
        routes = [
            Route(ENTRANCE, self.enter),
            Route("/", self._shown(self.datasets)),
            Route("/datasets/{dataset}", self._shown(self.dataset)),
            Route("/datasets/{dataset}/plan/{estimator}", self._shown(self.form)),
            Route("/datasets/{dataset}/plan/{estimator}", self._sent(self.plan), methods=["POST"]),
            Route("/datasets/{dataset}/releases/{release}", self._shown(self.report)),
            Route("/datasets/{dataset}/releases/{release}/model", self._shown(self.model)),
            Route("/runs/{run}", self._shown(self.run)),
            Route("/runs/{run}/progress", self._shown(self.progress)),
            Route("/runs/{run}/release", self._sent(self.release), methods=["POST"]),
            Route("/runs/{run}/stop", self._sent(self.stop), methods=["POST"]),
            Route("/runs/{run}/resume", self._sent(self.resume), methods=["POST"]),
            Mount("/static", static),
        ]
        return Guard(Starlette(routes=routes), self.keys)

    def enter(self, request: Request) -> Response:
        """Let a browser in that has the link. The page goes on by itself, so that the cookie is sent from here."""
        given = request.query_params.get("token", "")
        if not secrets.compare_digest(given.encode(), self.keys.token.encode()):
            return self._page("refused.html", 403, why="this is not the link that `pubpriv open` printed last")
        answer = self._page("enter.html")
        answer.headers["referrer-policy"] = "no-referrer"
        answer.set_cookie(self.keys.cookie, self.keys.session, httponly=True, samesite="strict")
        return answer

    def datasets(self, request: Request) -> Response:
        """List datasets with what is left of their budgets."""
        del request
        return self._page("datasets.html", rows=[self._facts(entry) for entry in self.entries.values()])

    def dataset(self, request: Request) -> Response:
        """Show a dataset: its budget, its releases, and what may be planned."""
        facts = self._facts(self._entry(request))
        at_work = [run for run in self.runs.by_key.values() if run.entry is facts["entry"]]
        return self._page("dataset.html", **facts, estimators=ESTIMATORS, at_work=at_work)

    def form(self, request: Request) -> Response:
        """Ask what a release should be; with `of`, begin with what was filled in for a run."""
        before = self.runs.by_key.get(request.query_params.get("of", ""))
        return self._form(request, {} if before is None else dict(before.values), None)

    def plan(self, request: Request, values: dict[str, str]) -> Response:
        """Start a plan, or show the form again with what is wrong."""
        entry, estimator = self._entry(request), estimator_named(request.path_params["estimator"])
        try:
            run = self.runs.begin(entry, estimator, "plan", values)
        except PubPrivError as error:
            return self._form(request, values, str(error))
        return _to(f"/runs/{run.key}")

    def run(self, request: Request) -> Response:
        """Show a command: what it does, or what came of it."""
        run = self._run(request)
        seen = progress_of(run)
        template = "plan.html" if run.command == "plan" and seen.plan is not None else "run.html"
        released = run.release_id if seen.made and run.release_id in run.entry.models() else None
        return self._page(template, run=run, seen=seen, released=released, in_spite=IN_SPITE)

    def progress(self, request: Request) -> Response:
        """Tell the page of a command what is new."""
        seen = progress_of(self._run(request))
        return JSONResponse({"done": seen.done, "steps": len(seen.steps), "doing": seen.doing})

    def release(self, request: Request, values: dict[str, str]) -> Response:
        """Make the release that was planned."""
        plan = self._run(request)
        filled = {**plan.values, IN_SPITE: values.get(IN_SPITE, "")}
        return _to(f"/runs/{self.runs.begin(plan.entry, plan.estimator, 'fit', filled).key}")

    def stop(self, request: Request, values: dict[str, str]) -> Response:
        """End a command."""
        del values
        run = self._run(request)
        self.runs.stop(run)
        return _to(f"/runs/{run.key}")

    def resume(self, request: Request, values: dict[str, str]) -> Response:
        """Go on with a release, at no cost beyond what it had not asked yet."""
        run = self._run(request)
        filled = {**run.values, IN_SPITE: values.get(IN_SPITE, "") or run.values.get(IN_SPITE, "")}
        return _to(f"/runs/{self.runs.begin(run.entry, run.estimator, run.command, filled, run.release_id).key}")

    def report(self, request: Request) -> Response:
        """Show the page of a release."""
        page = self._released(request).with_suffix(".html")
        if not page.is_file():
            raise _NoSuchPage(f"{page.name} is not there: `pubpriv report` writes it from the model")
        return FileResponse(page, headers={"content-security-policy": _REPORT_POLICY})

    def model(self, request: Request) -> Response:
        """Hand out the model file of a release."""
        file = self._released(request)
        return FileResponse(file, filename=file.name, media_type="application/json")

    @cached_property
    def _templates(self) -> Environment:
        loader = PackageLoader("pubpriv.web")
        return Environment(
            loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )

    def _page(self, template: str, status: int = 200, **shown: Any) -> HTMLResponse:
        return HTMLResponse(self._templates.get_template(template).render(**shown), status)

    def _form(self, request: Request, values: dict[str, str], wrong: str | None) -> Response:
        entry, estimator = self._entry(request), estimator_named(request.path_params["estimator"])
        shown = fields_of(entry, estimator)
        status = 200 if wrong is None else 400
        return self._page(
            "form.html", status, entry=entry, estimator=estimator, fields=shown, values=values, wrong=wrong
        )

    def _facts(self, entry: Entry) -> dict[str, Any]:
        """Return what the ledger and the folder of releases say of a dataset, or why the ledger says nothing."""
        history, why = None, ""
        try:
            history = entry.history()
        except PubPrivError as error:
            why = str(error)
        return {"entry": entry, "history": history, "why": why, "models": entry.models()}

    def _entry(self, request: Request) -> Entry:
        entry = self.entries.get(request.path_params["dataset"])
        if entry is None:
            raise _NoSuchPage("there is no such dataset here")
        return entry

    def _run(self, request: Request) -> Run:
        run = self.runs.by_key.get(request.path_params["run"])
        if run is None:
            raise _NoSuchPage("there is no such run here: it may be of a server that has ended")
        return run

    def _released(self, request: Request) -> Path:
        file = self._entry(request).models().get(request.path_params["release"])
        if file is None:
            raise _NoSuchPage("there is no such release here")
        return file

    def _refused(self, error: PubPrivError) -> Response:
        return self._page("refused.html", 404 if isinstance(error, _NoSuchPage) else 400, why=str(error))

    def _shown(self, view: Callable[[Request], Response]) -> Callable[[Request], Response]:
        """Return a view whose errors are pages."""

        def shown(request: Request) -> Response:
            try:
                return view(request)
            except PubPrivError as error:
                return self._refused(error)

        return shown

    def _sent(self, view: Callable[[Request, dict[str, str]], Response]) -> Callable[[Request], Any]:
        """Return a view of a form's fields, which is read here, since reading waits for the browser."""

        async def sent(request: Request) -> Response:
            body = b""
            async for piece in request.stream():
                body += piece
                if len(body) > _LONGEST_FORM:
                    return self._page("refused.html", 413, why="this form is too long")
            values = dict(parse_qsl(body.decode("utf-8", "replace")))
            return await run_in_threadpool(self._shown(lambda asked: view(asked, values)), request)

        return sent


def _to(path: str) -> Response:
    return RedirectResponse(path, 303)
