"""A ledger's password reaches no parameter, log, state or result that Prefect keeps."""

from urllib.parse import quote

import numpy as np
import pandas as pd
import pytest
from helpers.leaks import needles, search
from helpers.stores import PASSWORD

from pubpriv.estimators import MIXTURE
from pubpriv.estimators.jobs import Job
from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import Ledger
from pubpriv.privacy.ledger.urls import without_password


@pytest.fixture
def job(postgres, tmp_path):
    """A job on a ledger in PostgreSQL; its URL has the password in it."""
    url = postgres.new_url()
    with Ledger.open(url) as ledger:
        ledger.register("visits", budget=parse_budget("zcdp:1"))
    for name, n in (("private", 900), ("public", 12)):
        rows = np.random.default_rng(n).standard_normal((n, 2)) + 20.0 * (np.arange(n) % 2)[:, None]
        pd.DataFrame(rows, columns=["a", "b"]).to_parquet(tmp_path / f"{name}.parquet")
    tables = str(tmp_path / "private.parquet"), str(tmp_path / "public.parquet")
    return lambda shown: Job.of(MIXTURE, *tables, None, "zcdp:0.5", "visits", shown(url), "r1", n_components=2)


def test_a_password_in_a_parameter_is_refused(job):
    """The form does not take it, and its message does not show it."""
    from pubpriv.flows.parameters import parameters_of

    with pytest.raises(ValueError, match="PUBPRIV_LEDGER") as refused:
        parameters_of(job(str))
    assert PASSWORD not in str(refused.value)
    assert quote(PASSWORD, safe="") not in str(refused.value)


@pytest.mark.prefect
def test_a_run_leaves_no_password_with_prefect(job, prefect_server, capfd):
    """A whole run on PostgreSQL: database, logs, results and console hold the URL and not the password."""
    from pubpriv.flows.estimate import estimate_mixture
    from pubpriv.flows.parameters import parameters_of

    wanted = job(without_password)
    estimate = estimate_mixture(parameters_of(wanted))
    assert estimate.provenance["release_id"] == "r1"
    prefect_server.settle()
    console = "".join(capfd.readouterr())
    forms = [PASSWORD, quote(PASSWORD, safe="")]
    hits = search(prefect_server.folders, [console, repr(estimate)], needles([], [wanted.ledger, *forms]))
    assert {hit.canary for hit in hits} == {wanted.ledger}  # which is there, so the search would find the password too
