"""Ports for servers that take seconds to start: free, and still free when they do."""

import socket
from pathlib import Path

import pytest

from pubpriv.deployments import serving
from pubpriv.errors import Unavailable


def test_a_free_port_is_none_that_connections_are_given():
    """Of those, another process has it before a server that was told it has started."""
    given = Path("/proc/sys/net/ipv4/ip_local_port_range")
    first = int(given.read_text().split()[0]) if given.exists() else 32_768
    ports = {serving.free_port() for _ in range(20)}
    assert len(ports) > 10  # two who ask at once hardly get the same
    assert all(1024 < port < first for port in ports)


def test_a_taken_port_is_not_free(monkeypatch):
    """Where all that were tried are, that is said with what to do; once it is free again, it is found."""
    port = serving.free_port()
    with socket.create_server(("127.0.0.1", port)):
        monkeypatch.setattr(serving, "_PORTS", range(port, port + 1))
        with pytest.raises(Unavailable, match="name one with --port"):
            serving.free_port()
    assert serving.free_port() == port
