"""Signed checkpoints, so that verified records need not be read again every night.

A checkpoint states how far a ledger was verified. It is signed with a key that writers of the ledger must not have. It
is trusted only on request: a full verification reads every record, whatever a checkpoint says, and also checks that the
chain still has the record at which the checkpoint ended. A chain that was rewritten from its beginning does not have
it.
"""

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pubpriv.errors import InvalidInput, LedgerViolation, Unavailable
from pubpriv.privacy.ledger.summary import Checkpoint
from pubpriv.privacy.ledger.texts import canonical

_FORMAT, _VERSION = "pubpriv-checkpoint", 1
_KEY_BYTES = 32


def read_key(path: Path) -> bytes:
    """Read the key of an installation's checkpoints; if there is none, make one that only its owner may read.

    Raises:
        InvalidInput: the key is too short, or cannot be read or made.
    """
    refused: str | None = None
    try:
        if not path.exists():
            with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
                file.write(secrets.token_hex(_KEY_BYTES))
        key = path.read_bytes().strip()
    except OSError as error:
        key, refused = b"", error.strerror
    if refused is not None or len(key) < _KEY_BYTES:
        raise InvalidInput(
            f"the key of checkpoints {path} cannot be used ({refused or 'it is too short'}): name a file that holds "
            f"{_KEY_BYTES} random bytes or more, or one that is not there yet"
        )
    return key


def save(path: Path, key: bytes, checkpoints: Mapping[str, Checkpoint]) -> None:
    """Write a signed file that says how far each dataset was verified; it is written completely or not at all.

    Raises:
        Unavailable: it cannot be written.
    """
    content = {
        "format": _FORMAT,
        "version": _VERSION,
        "datasets": {dataset: asdict(each) for dataset, each in checkpoints.items()},
    }
    beside, refused = path.with_name(f".{path.name}.{os.getpid()}"), None
    try:
        with os.fdopen(os.open(beside, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(canonical(content | {"signature": _signature(key, content)}) + "\n")
        beside.replace(path)
    except OSError as error:
        refused = error.strerror
    if refused is not None:
        raise Unavailable(f"the checkpoint {path} cannot be written: {refused}")


def load(path: Path, key: bytes) -> dict[str, Checkpoint]:
    """Read how far each dataset was verified; {} if there is no checkpoint yet.

    Raises:
        LedgerViolation: the signature is wrong: somebody else wrote or changed it.
        InvalidInput: it cannot be read.
    """
    refused: str | None = None
    content: Any = None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        refused = error.strerror
    except ValueError:
        pass
    if refused is not None:
        raise InvalidInput(f"the checkpoint {path} cannot be read: {refused}")
    stated = content.pop("signature", None) if isinstance(content, dict) else None
    if not isinstance(stated, str) or not hmac.compare_digest(stated.encode(), _signature(key, content).encode()):
        raise LedgerViolation(
            f"the checkpoint {path} was not signed with this key, or was changed since: nothing that it says is "
            "trusted. Find out who wrote it, move it away, and verify the ledger in full"
        )
    if (content.get("format"), content.get("version")) != (_FORMAT, _VERSION):
        raise InvalidInput(f"{path} is no checkpoint of this version of pubpriv: move it away and verify in full")
    return {dataset: Checkpoint(**each) for dataset, each in content["datasets"].items()}


def _signature(key: bytes, content: object) -> str:
    return hmac.new(key, canonical(content).encode(), hashlib.sha256).hexdigest()
