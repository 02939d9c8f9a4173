# SPDX-License-Identifier: Apache-2.0
"""Test the configuration file: the installed file is complete and correct, and errors are reported in one line."""

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from reprise.cli.main import reprise
from reprise.config import Config, ConfigError, load
from reprise.web.app import root_path
from tests.places import ROOT

SHIPPED = ROOT / "etc/reprise.toml"
UNSET = (
    ("matcher", "threshold"),
    ("matcher", "credential"),
    ("matcher", "munge_socket"),
    ("matcher", "sack_socket"),
    ("matcher", "publish"),
    ("replica", "records"),
    ("database", "snapshot"),
    ("forwarding", "default"),
    ("council", "detector"),
    ("web", "proxy_secret_file"),
    ("notify", "smtp_password_file"),
    ("notify", "webhook_file"),
    ("notify", "webhook_token_file"),
)
"""Settings without a default, which the shipped file shows as comments."""
MAIL = '[notify]\nsmtp = "m.example:25"\nmail_from = "a@b.c"\nmail_to = ["a@b.c"]\n'


def message(tmp_path: Path, text: str | bytes) -> str:
    path = tmp_path / "reprise.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_the_shipped_file_states_every_default() -> None:
    shipped = tomllib.loads(SHIPPED.read_text())
    defaults = Config().model_dump(mode="json")
    for section, name in UNSET:
        defaults[section].pop(name)
    assert shipped == defaults


def test_the_shipped_file_shows_settings_that_are_unset_by_default() -> None:
    assert all(f"#{name} = " in SHIPPED.read_text() for _, name in UNSET)


def test_a_misspelt_setting_is_refused_with_a_suggestion(tmp_path: Path) -> None:
    assert "did you mean 'socket'" in message(tmp_path, '[matcher]\nsockt = "/run/x"\n')


def test_a_misspelt_table_is_refused_with_a_suggestion(tmp_path: Path) -> None:
    assert "did you mean 'matcher'" in message(tmp_path, "[macher]\n")


def test_an_error_about_an_unrecognizable_key_lists_the_known_keys(tmp_path: Path) -> None:
    assert "known here: path" in message(tmp_path, '[database]\nqqq = "x"\n')


def test_a_relative_path_is_refused(tmp_path: Path) -> None:
    assert "'run/x' is not an absolute path" in message(tmp_path, '[matcher]\nsocket = "run/x"\n')


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("[matcher]\nthreshold = 1.5\n", "matcher.threshold"),
        ('[matcher]\nmode = "maybe"\n', "matcher.mode"),
        ("[site]\nnodes = 0\n", "site.nodes"),
        ('[site]\ntimezone = "Mars/Olympus"\n', "Mars/Olympus"),
        ("[site\n", "not valid TOML"),
        (b"[site]\ncluster = '\xff'\n", "not UTF-8"),
        (f"[site]\nnodes = 1{'0' * 5000}\n", "correct it"),
        (f"[site]\nnodes = 1{'0' * 400}\n", "site.nodes"),
        (f"[matcher]\nretention_days = 1{'0' * 400}\n", "matcher.retention_days"),
        ("[site]\nnodes = " + "[" * 3000, "correct it"),
        ('[database]\npath = "/a\\u0000b"\n', "a path cannot contain a NUL"),
        ('[matcher]\nlisten = "10.0.0.5"\n', "'10.0.0.5' is not HOST:PORT"),
        ('[matcher]\nlisten = "[::1]:65536"\n', "is not HOST:PORT"),
        ("[access]\ndeny_users = [-1]\n", "access.deny_users"),
        ('[notify]\nsmtp = "m.example:25"\n', "`smtp` needs `mail_from` and `mail_to`"),
        (f'{MAIL}smtp_user = "u"\n', "set both, or none"),
        (f'{MAIL}smtp_user = "u"\nsmtp_password_file = "/p"\nsmtp_tls = "none"\n', "without encryption"),
        (f'{MAIL}smtp_user = "u\\nx"\n', "notify.smtp_user"),
        ('[notify]\nmail_from = "a@b.c\\nBcc: e@f.g"\n', "is not a mail address"),
        ('[notify]\nmail_to = ["a@b.c,e@f.g"]\n', "is not a mail address"),
        ('[notify]\nwebhook = "file:///etc/passwd"\n', "is not http(s)"),
        ('[notify]\nwebhook = "http://u:p@chat.example/x"\n', "without a user"),
        ('[notify]\nwebhook = "https://chat.example/x y"\n', "is not http(s)"),
        ('[notify]\nwebhook = "https://chat.example:x/y"\n', "notify.webhook"),
        ('[notify]\nwebhook = "https://chat.example/"\nwebhook_file = "/p"\n', "set one of them"),
        ('[notify]\ncommand = ["page-admins"]\n', "use its absolute path"),
        ('[notify]\nevents = ["reboot"]\n', "notify.events"),
        ('[web]\nproxy_user_header = "X_Forwarded_User"\n', "without underscores"),
        ('[web]\nproxy_user_header = "Authorization"\n', "is not a header for this"),
        ('[web]\nproxy_secret_header = "x-forwarded-user"\n', "change one of them"),
        ('[web]\nproxy_addresses = ["proxy.example"]\n', "web.proxy_addresses"),
        ('[web]\nproxy_domain = "a@b"\n', "web.proxy_domain"),
        ("[access]\ndeny_partitions = [1]\n", "access.deny_partitions"),
    ],
)
def test_a_bad_value_is_named(tmp_path: Path, text: str | bytes, names: str) -> None:
    assert names in message(tmp_path, text)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("", ""),
        ("https://hpc.example.org", ""),
        ("http://10.0.0.5:8080/", ""),
        ("https://hpc.example.org/reprise/", "/reprise"),
        ("https://[2001:db8::1]:8443/a/b.c/~d", "/a/b.c/~d"),
    ],
)
def test_an_address_of_the_pages_is_accepted(tmp_path: Path, url: str, path: str) -> None:
    (tmp_path / "reprise.toml").write_text(f'[web]\nurl = "{url}"\n')
    config = load(tmp_path / "reprise.toml")
    assert config.web.url == url.rstrip("/") and root_path(config) == path


@pytest.mark.parametrize(
    "url",
    [
        "hpc.example.org",
        "ftp://hpc.example.org",
        "http://[fe80/reprise",
        "http://fe80::1/reprise",
        "http://[fe80:::1]/",
        "http://[]/",
        "http://:80/",
        "http://a:0/",
        "http://a:65536/",
        "http://a@b/",
        "https://a//evil",
        "https://a/b//evil",
        "https://a//",
        "https://a/../b",
        "https://a/.",
        "https://a/b?c",
        "https://a/b#c",
        "https://a/b\\\\c",
    ],
)
def test_an_invalid_address_of_the_pages_is_refused(tmp_path: Path, url: str) -> None:
    assert "is not http(s)://HOST[:PORT][/PATH]" in message(tmp_path, f'[web]\nurl = "{url}"\n')


@pytest.mark.parametrize(
    "url",
    [
        "",
        "postgresql:///reprise?host=/var/run/postgresql",
        "postgresql://reprise@db.example.org:5432/reprise?sslmode=verify-full&passfile=/etc/reprise/pgpass",
        "postgresql://db1:5432,db2:5433/reprise?target_session_attrs=primary",
        "postgresql://[2001:db8::1]/?dbname=reprise",
    ],
)
def test_the_url_of_a_central_database_is_accepted(tmp_path: Path, url: str) -> None:
    (tmp_path / "reprise.toml").write_text(f'[database]\nurl = "{url}"\n')
    assert load(tmp_path / "reprise.toml").database.url == url


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("sqlite:///var/lib/reprise.db", "is not postgresql://"),
        ("postgres://h/reprise", "is not postgresql://"),
        ("postgresql://h", "is not postgresql://"),
        ("postgresql://h/a/b", "is not postgresql://"),
        ("postgresql://h/a?b", "is not postgresql://"),
        ("postgresql://h/a#b", "is not postgresql://"),
        ("postgresql://[::1/a", "is not postgresql://"),
        ("postgresql://u:hunter2@[::1/a", "is not postgresql://"),
        ("postgresql://h/a\\u0007", "is not postgresql://"),
        ("postgresql://u:hunter2@h/a", "put it into a password file"),
        ("postgresql://u:@h/a", "put it into a password file"),
        ("postgres://u:hunter2@h/a", "put it into a password file"),
        ("postgresql://h/a?password=hunter2", "put it into a password file"),
        ("postgresql://h/a?pass%77ord=hunter2", "put it into a password file"),
        ("postgresql://h/a?sslpassword=hunter2", "put it into a password file"),
    ],
)
def test_an_invalid_url_of_a_central_database_is_refused_without_showing_it(
    tmp_path: Path, url: str, said: str
) -> None:
    shown = message(tmp_path, f'[database]\nurl = "{url}"\n')
    assert said in shown and "database.url" in shown and "hunter2" not in shown


def test_a_missing_file_that_was_given_explicitly_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "none.toml")


def test_the_clusters_name_is_in_lower_case_as_slurm_has_it(tmp_path: Path) -> None:
    (tmp_path / "reprise.toml").write_text('[site]\ncluster = "Far"\n')
    assert load(tmp_path / "reprise.toml").site.cluster == "far"


@pytest.mark.parametrize("text", ["", "/run/m.sock", "unix:m.sock", "tcp:host", "tcp:host:0", "udp:host:1"])
def test_an_invalid_endpoint_is_refused(tmp_path: Path, text: str) -> None:
    assert "setting 'matcher.endpoints.0'" in message(tmp_path, f'[matcher]\nendpoints = ["{text}"]\n')


def test_a_check_of_the_file_can_be_printed_as_json(tmp_path: Path) -> None:
    path = tmp_path / "reprise.toml"
    path.write_text('[site]\ncluster = "test"\n')
    done = CliRunner().invoke(reprise, ["config", "check", "--json", str(path)])
    assert json.loads(done.stdout) == {"version": 1, "file": str(path)}
    path.write_text("[sight]\n")
    refused = CliRunner().invoke(reprise, ["config", "check", "--json", str(path)])
    assert refused.exit_code == 1 and refused.stdout == ""
