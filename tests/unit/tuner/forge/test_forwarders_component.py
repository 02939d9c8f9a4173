# SPDX-License-Identifier: Apache-2.0
"""Test the component forwarders: what trials get, and which record a campaign writes. Programs are stubs."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from reprise.config import Config
from reprise.database.entities import Scope
from reprise.database.facade import Database
from reprise.matcher.arbiter.record_curve import curve_in
from reprise.tuner.campaign import session
from reprise.tuner.definition import component_registry
from reprise.tuner.definition.campaign_definition import Application, check
from reprise.tuner.errors import ObjectiveError, TunerError
from reprise.tuner.forge.forwarders_component import LEAST_BYTES, ForwardersComponent, build
from reprise.tuner.model.component import TrialOutput
from tests.places import ROOT
from tests.unit.tuner_site import Site

ADDRESSES = ["10.0.0.1:564", "10.0.0.2:564", "[2001:db8::1]:564", "/run/f.sock"]
PATTERN = {
    "forwarders": 0,
    "path": "/scratch/p",
    "number_of_files": "shared",
    "total_size": 2**20,
    "request_size": 65536,
}
# Prints the bandwidth of a file system that is fastest with two forwarders: 100 MB/s directly, then 90, 300 and 250. As
# in the real client, a map counts only with the library.
FORGE = r"""#!/bin/bash
n=0; [ -z "$LD_PRELOAD" ] || n=$(($(wc -l < "$REPRISE_FORWARD_MAP") - 1))
case $n in 0) b=100 ;; 1) b=90 ;; 2) b=300 ;; *) b=250 ;; esac
b=$b.$(($(date +%N | cut -c1-3 | sed 's/^0*//;s/^$/0/') % 9 + 1))
printf '{"clients": 4, "write_bytes": 4000, "write_s": 0.1, "write_mb_s": %s, ' "$b"
printf '"read_bytes": 0, "read_s": 0.0, "read_mb_s": null, "mb_s": %s, "stopped": false}\n' "$b"
"""


@pytest.fixture
def site(tmp_path: Path) -> Site:
    found = Site(tmp_path)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libreprise_forward.so").touch()
    (tmp_path / "reprise-forge").write_text(FORGE)
    (tmp_path / "reprise-forge").chmod(0o755)
    (tmp_path / "pattern.json").write_text(json.dumps(PATTERN))
    shutil.copy(ROOT / "etc/components/forwarders.yaml", found.config.tuner.components)
    found.settings["tuner"] |= {"libexec": str(tmp_path), "preload_directory": str(tmp_path / "lib")}
    forwarding = {"forwarders": ADDRESSES, "prefixes": ["/home", "/scratch"], "auth": "none", "maps": "/shared/maps"}
    found.config = Config.model_validate({**found.settings, "forwarding": forwarding})
    script = "#!/bin/bash\n#SBATCH -J heat -N 4 --ntasks-per-node=2\nsrun ./heat\n"
    (tmp_path / "app.sh").write_text(script)
    return found


def of_pattern(site: Site, **changes: Any) -> dict[str, Any]:
    return {"pattern": str(site.directory / "pattern.json"), **changes}


def of_application(**changes: Any) -> dict[str, Any]:
    return {"io_bytes": 500_000_000, **changes}


def made(site: Site, settings: dict[str, Any], **definition: Any) -> ForwardersComponent:
    application = Application(script=site.directory / "app.sh", user="alice")
    read = component_registry.read("forwarders", site.config, application, settings)
    return build({**read, **definition}, settings, site.config)


def test_numbers_are_those_that_the_pool_and_the_nodes_allow(site: Site) -> None:
    """8 exceeds the pool of 4 forwarders."""
    (problem,) = made(site, of_pattern(site)).problems()
    assert problem.default == {"forwarders": 0}
    assert [point["forwarders"] for point in problem.space.points] == [1, 2, 4]
    (other,) = made(site, of_pattern(site, nodes=6, forwarders=[4, 3, 2])).problems()
    assert [point["forwarders"] for point in other.space.points] == [2, 3]


def test_the_default_has_no_library_and_a_trial_its_own_map(site: Site) -> None:
    component = made(site, of_pattern(site))
    (problem,) = component.problems()
    direct = component.plan(problem.key, problem.default)
    program = str(site.directory / "reprise-forge")
    assert direct.argv[0] == program and not direct.environment and not direct.files and not direct.preload
    assert (direct.nodes, direct.tasks_per_node) == (4, 2)
    through = component.plan(problem.key, {"forwarders": 2})
    assert through.argv == ["env", f"LD_PRELOAD={site.directory}/lib/libreprise_forward.so", *direct.argv]
    assert through.environment == {
        "REPRISE_FORWARD_MAP": "{directory}/forwarders",
        "REPRISE_FORWARD_PREFIXES": "/home:/scratch",
        "REPRISE_FORWARD_AUTH": "none",
    }
    assert through.files == {"forwarders": "reprise-forwarders 1\n10.0.0.1:564\n10.0.0.2:564\n"}


def test_the_application_itself_runs_through_forwarders(site: Site) -> None:
    component = made(site, of_application())
    (problem,) = component.problems()
    direct = component.plan(problem.key, problem.default)
    assert direct.script == (site.directory / "app.sh").read_text()
    assert not direct.environment and not direct.files and not direct.preload
    through = component.plan(problem.key, {"forwarders": 4})
    assert through.script == direct.script
    assert list(through.preload) == [f"{site.directory}/lib/libreprise_forward.so"]
    assert through.files["forwarders"].splitlines()[1:] == ADDRESSES
    assert set(through.environment) == {"REPRISE_FORWARD_MAP", "REPRISE_FORWARD_PREFIXES", "REPRISE_FORWARD_AUTH"}
    sample = component.read(problem.key, TrialOutput(0, "", "", 2.0))
    assert (sample.value, sample.unit, component.bandwidth(sample.value)) == (2.0, "s", 250.0)


def test_a_patterns_output_without_bandwidth_is_no_sample(site: Site) -> None:
    component = made(site, of_pattern(site))
    with pytest.raises(ObjectiveError, match="printed no result"):
        component.read("app.sh", TrialOutput(0, "", "", 2.0))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"io_bytes": 1}, "either pattern or io_bytes"),
        ({"pattern": None}, "either pattern or io_bytes"),
        ({"forwarders": [3, 8]}, "none of 3, 8 divides 4 nodes"),
        ({"forwarders": [2, 2]}, "twice"),
        ({"forwarders": [0]}, "forwarders"),
        ({"forwarder": [1]}, "did you mean 'forwarders'"),
    ],
)
def test_settings_that_measure_nothing_are_refused_in_one_line(site: Site, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(TunerError) as caught:
        made(site, of_pattern(site, **changes))
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("prefixes", [["/home"], ["/scratch/pp"]])
def test_a_pattern_outside_of_the_exported_directories_is_refused(site: Site, prefixes: list[str]) -> None:
    forwarding = {"forwarders": ADDRESSES, "prefixes": prefixes}
    site.config = Config.model_validate({**site.settings, "forwarding": forwarding})
    with pytest.raises(TunerError, match=r"path /scratch/p is not below a directory in forwarding\.prefixes"):
        made(site, of_pattern(site))


@pytest.mark.parametrize("keys", [{"direct_io": 1}, {"request_size": 65535}])
def test_patterns_that_the_library_does_not_forward_are_refused(site: Site, keys: dict[str, Any]) -> None:
    (site.directory / "pattern.json").write_text(json.dumps(PATTERN | keys))
    with pytest.raises(TunerError, match=r"^[^\n]*never forwarded[^\n]*$"):
        made(site, of_pattern(site))
    source = (ROOT / "accelerators/forward/client/settings.c").read_text()
    assert re.search(rf'"REPRISE_FORWARD_MIN_BYTES", 1, \w+, {LEAST_BYTES}, 1,', source)


def test_a_site_without_forwarders_library_or_sizes_is_told_so(site: Site) -> None:
    with pytest.raises(TunerError, match="the arbiter finds curves only under the name forwarders"):
        made(site, of_pattern(site), name="others")
    (site.directory / "pattern.json").write_text("{")
    with pytest.raises(TunerError, match=r"pattern\.json: is not valid JSON"):
        made(site, of_pattern(site))
    (site.directory / "pattern.json").unlink()
    with pytest.raises(TunerError, match="give the path of the pattern to replay"):
        made(site, of_pattern(site))
    (site.directory / "app.sh").write_text("#!/bin/bash\n#SBATCH -N 4\nsrun ./heat\n")
    (site.directory / "pattern.json").write_text(json.dumps(PATTERN))
    with pytest.raises(TunerError, match="does not set its number of tasks"):
        made(site, of_pattern(site))
    (site.directory / "app.sh").write_text("#!/bin/bash\n#SBATCH -n 8\nsrun ./heat\n")
    with pytest.raises(TunerError, match="does not set its number of nodes"):
        made(site, of_application())
    (site.directory / "app.sh").write_text("#!/bin/bash\n#SBATCH -N 4\nexport REPRISE_FORWARD_MAP=/m\n./heat\n")
    with pytest.raises(TunerError, match="sets REPRISE_FORWARD_MAP itself"):
        made(site, of_application())
    (site.directory / "lib/libreprise_forward.so").unlink()
    with pytest.raises(TunerError, match="no such library"):
        made(site, of_application())
    site.config = Config.model_validate(site.settings)
    (site.directory / "lib/libreprise_forward.so").touch()
    (site.directory / "app.sh").write_text("#!/bin/bash\n#SBATCH -N 4\n./heat\n")
    with pytest.raises(TunerError, match=r"forwarding\.forwarders is empty"):
        made(site, of_application())
    site.config = Config.model_validate({**site.settings, "forwarding": {"forwarders": ADDRESSES}})
    with pytest.raises(TunerError, match=r"forwarding\.prefixes is empty"):
        made(site, of_application())


def campaign(site: Site, settings: dict[str, Any]) -> dict[str, Any]:
    page = (ROOT / "docs/how-to/measure-curves.md").read_text()
    text = page.partition("```yaml\n")[2].partition("```")[0]
    found: dict[str, Any] = yaml.safe_load("\n".join(line.removeprefix("   ") for line in text.splitlines()))
    found["application"] = {"script": str(site.directory / "app.sh"), "user": "alice"}
    found["search"]["budget"], found["noise"]["settings"]["evaluations"] = 9, 3
    return {
        **found,
        "settings": settings,
        "executor": {"kind": "local"},
        "repetitions": {"default_runs": 3, "final_pairs": 3},
    }


def run(site: Site, settings: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    with Database.open(site.config.database.path) as database:
        begun = session.begin(database, check(campaign(site, settings), "test"), site.config, 1_000_000.0)
        ids = session.run(database, begun, site.config, site.quiet())
        return [database.record(one) for one in ids], list(database.trials(begun.id))


def test_a_campaign_keeps_the_whole_curve_in_its_record(site: Site) -> None:
    (record,), trials = run(site, of_pattern(site))
    counts = {number: sum(one.parametrization["forwarders"] == number for one in trials) for number in (0, 1, 2, 4)}
    assert counts == {0: 6, 1: 3, 2: 6, 4: 3}
    assert record.component == "forwarders" and record.scope is Scope.APPLICATION
    curve = curve_in(record.parametrization)
    assert curve is not None
    assert {number: curve[number].samples for number in curve} == counts
    assert {number: round(curve[number].mean, -1) for number in curve} == {0: 100, 1: 90, 2: 300, 4: 250}
    assert record.parametrization["parameters"] == {"forwarders": 2}
    assert record.environment == {"REPRISE_PRELOAD": "forward"}, "the rest follows from the site's configuration"
    assert record.context == {"cluster": "testing", "nodes": 4, "tasks_per_node": 2}
    assert record.gain_low > 0.5 and "pattern" in record.parametrization["gain_of"]
    assert record.parametrization["io_patterns"] == ["write/shared/contiguous"]
    assert list(record.conflicts) == ["REPRISE_FORWARD_*"]


def test_a_campaign_without_a_gain_writes_no_record(site: Site) -> None:
    forge = FORGE.replace("b=300", "b=98").replace("b=250", "b=90")
    (site.directory / "reprise-forge").write_text(forge)
    assert run(site, of_pattern(site))[0] == []


def test_a_number_that_fails_is_not_in_the_curve(site: Site) -> None:
    (site.directory / "reprise-forge").write_text(FORGE.replace("*) b=250 ;;", "*) exit 1 ;;"))
    (record,), _ = run(site, of_pattern(site))
    curve = curve_in(record.parametrization)
    assert curve is not None and list(curve) == [0, 1, 2]
