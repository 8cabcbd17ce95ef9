"""Update the notifying automations on the server to match the files; those of other installations stay."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from pubpriv.deployments._notices import Subject, Target, notices
from pubpriv.deployments._outcomes import CHANGED, CREATED, LEFT, REMOVED, UNCHANGED, Outcome
from pubpriv.deployments.render import Rendered
from pubpriv.errors import InvalidInput
from pubpriv.flows.automations import content
from pubpriv.flows.tags import NOBODY, OF, TAG

_OF = f"{TAG}-notify-"
"""Prefix of the tag that names the dataset or the audit of a notifying automation."""


def targets(client: Any, deployments: Iterable[Rendered]) -> dict[str, Target]:
    """Find the blocks that files name, before anything is changed.

    Args:
        client: client of the server.
        deployments: deployments of the files.

    Raises:
        InvalidInput: the server has no such block, or it does not notify.
    """
    names = sorted({each.block for deployment in deployments for each in deployment.notify})
    return {name: _target(client, name) for name in names}


def _target(client: Any, name: str) -> Target:
    from prefect.exceptions import ObjectNotFound

    kind, _, block = name.partition("/")
    try:
        found = client.read_block_document_by_name(block, kind, include_secrets=False)
    except ObjectNotFound:
        found = None
    if found is None:
        raise InvalidInput(
            f"notify: this server has no block {name}: make it on the page Blocks of its UI, or correct the name. "
            "`prefect block ls` lists those that are there"
        )
    if kind != "webhook" and "notify" not in found.block_schema.capabilities:
        raise InvalidInput(
            f"notify: the block {name} sends no messages: name one of a type that notifies, or a webhook"
        )
    return Target(name, found.id)


def ensure_notices(
    client: Any,
    deployments: Collection[Rendered],
    found: dict[str, Target],
    owner: str,
    whole: bool,
    prune: bool,
    dry_run: bool,
) -> list[Outcome]:
    """Make, change and delete automations so that the server sends the notices that the files request.

    Notices that a file no longer requests are deleted; those of datasets that no file names, only with `prune`.

    Args:
        client: client of the server.
        deployments: deployments of the files.
        found: result of `targets`.
        owner: the tag of the installation.
        whole: the files are complete; otherwise they only decide about their own datasets.
        prune: delete those about datasets and audits that no file names.
        dry_run: change nothing.
    """
    wanted = {each.name: each for each in _wanted(deployments, found, owner)}
    named = {f"{_OF}{each.what}" for each in deployments}
    known = {each.name: each for each in _known(client) if owner in each.tags or _taken_over(each, named)}
    outcomes = [_brought(client, each, known.get(name), dry_run) for name, each in sorted(wanted.items())]
    for name in sorted(known.keys() - wanted.keys()):
        elsewhere = named.isdisjoint(known[name].tags)
        if elsewhere and not whole:
            continue
        if elsewhere and not prune:
            outcomes.append(Outcome(f"notice {name!r}", LEFT, "it goes on; `pubpriv deploy --prune` deletes it"))
            continue
        if not dry_run:
            client.delete_automation(known[name].id)
        outcomes.append(Outcome(f"notice {name!r}", REMOVED))
    return outcomes


def _wanted(deployments: Iterable[Rendered], found: dict[str, Target], owner: str) -> Iterator[Any]:
    groups: dict[tuple[str, bool], list[Rendered]] = {}
    for each in deployments:
        groups.setdefault((each.what, each.dataset is not None), []).append(each)
    for (what, is_dataset), group in groups.items():
        subject = Subject(what, is_dataset, tuple(each.name for each in group))
        for notice in group[0].notify:
            yield from notices(subject, notice.on, found[notice.block], {TAG, owner, f"{_OF}{what}"})


def _taken_over(automation: Any, named: Collection[str]) -> bool:
    """Check whether an automation was made without an installation name, for something that the files describe."""
    return f"{OF}{NOBODY}" in automation.tags and not {*named}.isdisjoint(automation.tags)


def _known(client: Any) -> list[Any]:
    """List the notifying automations of all installations."""
    from prefect.events.filters import AutomationFilter, AutomationFilterTags

    mine = AutomationFilter(tags=AutomationFilterTags(all_=[TAG]))
    found: list[Any] = []
    while page := client.read_automations(automations=mine, limit=100, offset=len(found)):
        found += page
    return found


def _brought(client: Any, wanted: Any, known: Any, dry_run: bool) -> Outcome:
    what = f"notice {wanted.name!r}"
    if known is None:
        if not dry_run:
            client.create_automation(wanted)
        return Outcome(what, CREATED)
    if content(known) == content(wanted):
        return Outcome(what, UNCHANGED)
    if not dry_run:
        client.update_automation(known.id, wanted.model_copy(update={"enabled": known.enabled}))
    return Outcome(what, CHANGED)
