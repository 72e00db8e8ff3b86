"""Write requirements.lock and vlmdx.yaml from what is installed in the running environment (`make lock`)."""

import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
# torch pins its CUDA packages itself, for the one platform that has them.
LEFT_OUT = ("nvidia-", "cuda-", "triton", "pip", "setuptools", "wheel", "vlmdx")


def pins() -> list[str]:
    """name==version of every installed distribution that belongs in the lock, sorted."""
    found = {(d.name.lower().replace("_", "-"), d.version) for d in metadata.distributions()}
    return [f"{name}=={version}" for name, version in sorted(found) if not name.startswith(LEFT_OUT)]


def conda_yaml(lines: list[str]) -> str:
    """The same pins as a conda environment, for `snakemake --sdm conda`."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    head = f"channels:\n  - conda-forge\ndependencies:\n  - python ={python}\n  - pip\n  - pip:\n"
    return head + "".join(f"      - {line}\n" for line in lines)


if __name__ == "__main__":
    (HERE / "requirements.lock").write_text("\n".join(pins()) + "\n")
    (HERE / "vlmdx.yaml").write_text(conda_yaml(pins()))
