"""Databases, roles and commands that tests need beside the bridge's own database."""

from __future__ import annotations

import contextlib
import pathlib
import re
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from bridge import Bridge

HERE = pathlib.Path(__file__).parent


def url_of(bridge: Bridge) -> str:
    return bridge.greeting["database_url"]


def conninfo(
    url: str, *, search_path: str = "", role: str = "", database: str = "", settings: Mapping[str, Any] | None = None
) -> str:
    """A connection string with a search_path, a role and other settings in it, as one gives it to LangGraph."""
    chosen = {"search_path": search_path, "role": role, **(settings or {})}
    options = [f"-c {name}={value}" for name, value in chosen.items() if value]
    more: dict[str, Any] = {"options": " ".join(options)} if options else {}
    if database:
        more["dbname"] = database
    return make_conninfo(url, **more)


@contextlib.contextmanager
def empty_database(bridge: Bridge) -> Iterator[str]:
    """The connection string of a new database, dropped afterwards."""
    name = f"interop_{uuid.uuid4().hex}"
    with psycopg.connect(url_of(bridge), autocommit=True) as admin:
        admin.execute(sql.SQL("create database {} encoding 'UTF8' template template0").format(sql.Identifier(name)))
        try:
            yield conninfo(url_of(bridge), database=name)
        finally:
            admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def documented(beginning: str, role: str) -> str:
    """The SQL of docs/interop.md that begins so, for a role."""
    text = (HERE.parents[1] / "docs" / "interop.md").read_text()
    [found] = [block for block in re.findall(r"```sql\n(.*?)```", text, re.DOTALL) if block.startswith(beginning)]
    return found.replace("app_role", role)


@contextlib.contextmanager
def runtime_role(bridge: Bridge, url: str = "") -> Iterator[str]:
    """A role that may use the tables of a database, as docs/interop.md has it, and make or change nothing."""
    name = f"interop_{uuid.uuid4().hex}"
    role = sql.Identifier(name)
    with psycopg.connect(url or url_of(bridge), autocommit=True) as admin:
        admin.execute(sql.SQL("create role {}").format(role))
        admin.execute(documented("grant usage on schema langgraph to", name))
        try:
            yield name
        finally:
            admin.execute(sql.SQL("drop owned by {}").format(role))
            admin.execute(sql.SQL("drop role {}").format(role))


def owned_by(url: str, role: str) -> int:
    """How many tables, views and the like a role has made."""
    with psycopg.connect(url) as connection:
        return connection.execute("select count(*) from pg_class where relowner = %s::regrole", [role]).fetchone()[0]


class CommandError(Exception):
    """A command ended with a status other than 0."""


def command(bridge_program: str, name: str, url: str, *arguments: str) -> str:
    """What a command of this project, built beside the bridge, prints on a database."""
    program = pathlib.Path(bridge_program).parent / name
    # Not as an argument, which everybody can read who lists processes; the commands read DATABASE_URL.
    environment = {"DATABASE_URL": pgx_url(url), "PATH": "/usr/bin:/bin", "HOME": str(HERE)}
    ended = subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise CommandError(f"{name} {' '.join(arguments)} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def pgx_url(url: str) -> str:
    """The same connection in the form that both libpq and pgx read."""
    return make_conninfo(**{key: value for key, value in conninfo_to_dict(url).items() if value is not None})
