"""URLs in messages: no form of a secret, and enough to see which URL is meant."""

import pytest

from pubpriv.common.urls import has_credentials, shown_url

SHOWN = {
    "postgresql://ann@h:5432/ledger": "postgresql://ann@h:5432/ledger",
    "postgresql://h/ledger": "postgresql://h/ledger",
    "postgresql://ann:s3cret@h:5432/ledger": "postgresql://ann@h:5432/ledger",
    "postgresql://:s3cret@h/ledger": "postgresql://@h/ledger",
    "postgresql://ann:a@s3cret@h/ledger": "postgresql://ann@h/ledger",
    "postgresql://ann:a@b/c:s3cret@h/ledger?x=1": "postgresql://ann@h/ledger?x=***",
    "postgresql://ann:a?b=s3cret@h/ledger": "postgresql://ann@h/ledger",
    "postgresql://ann%3as3cret@h/ledger": "postgresql://ann@h/ledger",
    "postgresql://ann:s3cret": "postgresql://ann",
    "postgresql://ann:s3cret/ledger": "postgresql://ann",
    "postgresql://ann:80s3cret/ledger": "postgresql://ann",
    "postgresql://h:5432/ledger": "postgresql://h:5432/ledger",
    "postgresql://h:5432": "postgresql://h:5432",
    "postgresql://ann:new\ns3cret@h/ledger": "postgresql://ann@h/ledger",
    "mysql://h/d?password=s3cret&x=y": "mysql://h/d?password=***",
    "mysql://h/d?password=a@s3cret": "mysql://h/d?password=***",
    "mysql://h/d?x=1&password=s3cret": "mysql://h/d?x=***",
    "https://h/x.csv?signature=a%s3cret": "https://h/x.csv?signature=***",
    "https://ann:s3cret@h:4200/api": "https://ann@h:4200/api",
    "host=h user=ann password=s3cret": "host=***",
    "ann:s3cret@h/ledger": "ann@h/ledger",
    "sqlite:///folder/ledger.db": "sqlite:///folder/ledger.db",
    "folder/ledger.db": "folder/ledger.db",
    "C:\\folder\\ledger.db": "C:\\folder\\ledger.db",
    "": "",
}


@pytest.mark.parametrize("url", SHOWN)
def test_what_may_be_secret_is_not_shown(url):
    """Everything from the first colon behind the scheme to the last at sign, and values of settings."""
    assert shown_url(url) == SHOWN[url]
    assert "s3cret" not in shown_url(url)


@pytest.mark.parametrize(
    ("url", "carries"),
    [
        ("s3://key:word@bucket/x.parquet", True),
        ("s3://key:wo/rd@bucket/x.parquet", True),
        ("s3:/key:wo/rd@bucket/x.parquet", True),
        ("s3://key%3Aword@bucket/x.parquet", True),
        ("sftp://ann:80@host/x.parquet", True),
        ("s3://bucket/10:30/a@b.parquet", False),
        ("http://host:8080/a@b.csv", False),
        ("abfs://container@account/x.parquet", False),
        ("folder/a:b@c.parquet", False),
    ],
)
def test_credentials_are_told_from_paths(url, carries):
    """Also those that are not encoded; an at sign in a path is no sign of them."""
    assert has_credentials(url) == carries
