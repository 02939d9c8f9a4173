# SPDX-License-Identifier: Apache-2.0
"""Test the translation of statements from SQLite's dialect to PostgreSQL's, without a server."""

from __future__ import annotations

import pytest

from reprise.database import job_search
from reprise.database.dialect import statement


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM t WHERE a = ? AND b = :b2", "SELECT * FROM t WHERE a = %s AND b = %(b2)s"),
        ("SELECT a % 2, '100 %', ':a ?' || :a", "SELECT a %% 2, '100 %%', ':a ?' || %(a)s"),
        ("SELECT a::text, '12:30', 'INDEXED BY x'", "SELECT a::text, '12:30', 'INDEXED BY x'"),
        ("FROM decision AS d INDEXED BY decision_by_block\nWHERE", "FROM decision AS d \nWHERE"),
    ],
)  # fmt: skip
def test_parameters_and_advice_to_sqlite_are_replaced(sql: str, expected: str) -> None:
    assert statement(sql) == expected


def test_no_statement_of_a_search_keeps_a_word_that_only_sqlite_knows() -> None:
    for wanted in (job_search.Wanted(), job_search.Wanted(application="x", component="y", limit=3)):
        sql = statement(job_search.decided_sql(wanted))
        assert not {"INDEXED", "rowid", "?"} & set(sql.split()) and "AS INTEGER" not in sql
