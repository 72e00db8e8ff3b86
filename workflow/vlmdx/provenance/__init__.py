"""What made an artifact: the digest that decides whether a job runs again, and the records that tell of it."""

from vlmdx.provenance.code import code_digest
from vlmdx.provenance.digest import digest_of, digest_parts, fingerprint, rule_digest
from vlmdx.provenance.footer import footer
from vlmdx.provenance.job import run_job, share_package_path

__all__ = [
    "code_digest",
    "digest_of",
    "digest_parts",
    "fingerprint",
    "footer",
    "rule_digest",
    "run_job",
    "share_package_path",
]
