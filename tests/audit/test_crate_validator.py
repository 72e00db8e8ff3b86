"""The crate against the profiles of its own validator (roc-validator), without a network.

The validator brings its profiles along but asks the network for one thing: RO-Crate's JSON-LD context. The library
`rocrate` ships that context in a later version, 1.3, which names the terms of Bioschemas (ComputationalWorkflow) by
another address; with that put back it is stored in the validator's cache under the address that the crate names.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.audit.conftest import vlmdx

pytest.importorskip("rocrate_validator", reason="needs the validator: pip install roc-validator")
CONTEXT = "https://w3id.org/ro/crate/1.1/context"
PROFILES = ("process-run-crate", "workflow-run-crate", "provenance-run-crate", "workflow-ro-crate")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache of the validator that holds the context."""
    import requests
    import requests_cache
    import rocrate

    path = tmp_path_factory.mktemp("validator") / "cache"
    request = requests.Request("GET", CONTEXT).prepare()
    content = (Path(rocrate.__file__).parent / "data/ro-crate.jsonld").read_bytes()
    content = content.replace(b"https://bioschemas.org/terms/", b"https://bioschemas.org/")
    found = requests_cache.CachedResponse(
        url=CONTEXT, status_code=200, content=content, headers={"Content-Type": "application/ld+json"}
    )
    with requests_cache.CachedSession(str(path), backend="sqlite") as session:
        session.cache.responses[session.cache.create_key(request)] = found
    return path


@pytest.fixture(scope="module")
def crate(whole, tmp_path_factory):
    folder = tmp_path_factory.mktemp("crate") / "crate"
    done = vlmdx(whole, "crate", folder)
    assert done.returncode == 0, done.stdout
    return folder


def validate(crate, profile, cache, out):
    program = [sys.executable, "-c", "from rocrate_validator.cli import cli; cli()", "-y", "validate"]
    options = ["--offline", "--cache-path", cache, "-p", profile, "--output-format", "json", "-o", out]
    done = subprocess.run([*program, *options, crate], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert out.is_file(), done.stdout
    return json.loads(out.read_text())


@pytest.mark.parametrize("profile", PROFILES)
def test_the_crate_keeps_all_that_a_profile_requires(crate, cache, tmp_path, profile):
    found = validate(crate, profile, cache, tmp_path / "found.json")
    assert found["passed"] and not found["issues"] and not found["skipped_checks"]


def test_a_crate_without_its_run_fails(crate, cache, tmp_path):
    metadata = crate / "ro-crate-metadata.json"
    whole = metadata.read_text()
    broken = json.loads(whole)
    broken["@graph"] = [entity for entity in broken["@graph"] if entity["@id"] != "#run"]
    try:
        metadata.write_text(json.dumps(broken))
        assert not validate(crate, "workflow-run-crate", cache, tmp_path / "found.json")["passed"]
    finally:
        metadata.write_text(whole)
