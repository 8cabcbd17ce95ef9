#!/bin/sh
# On the first start of the ledger's PostgreSQL: the roles of docs/operations.md, without rights. The service `ledger`
# makes the tables and gives them the rights that they need.
set -eu
for role in ledger_writer ledger_reader; do
    psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set role="$role" \
        --set password="$(cat "/run/secrets/$role")" <<'SQL'
CREATE ROLE :"role" LOGIN PASSWORD :'password';
SQL
done
