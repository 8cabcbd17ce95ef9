"""Processes of tests, forked from one that has the libraries: each would else import them anew, which is most of it.

There is one such server in a process of pytest's, and it preloads what the last to ask said: whoever wants children
takes them from here.
"""

import multiprocessing

_LIBRARIES = (
    "alembic.command mpmath opendp.domains opendp.measurements pandas psycopg pyarrow.parquet pytest "
    "scipy.cluster.hierarchy scipy.spatial.distance sklearn.mixture "
    "sqlalchemy.dialects.postgresql.psycopg sqlalchemy.dialects.sqlite"
)
_OWN = "pubpriv.estimators.jobs pubpriv.estimators.mixture.driver pubpriv.privacy.ledger.store"

# the server has no threads; what its children patch dies with them
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload([*_OWN.split(), *_LIBRARIES.split()])
