"""Diagnosis A: does a model's belief hold when the image is degraded? Bench-C and RAS, arXiv 2511.19032."""

from vlmdx.reliability.measures import brier, ece, entropy, misalignment, ras
from vlmdx.reliability.ras_table import ResultTables, result_tables, write_csv
from vlmdx.reliability.tables import ReliabilityTables, reliability_tables

__all__ = [
    "ReliabilityTables",
    "ResultTables",
    "brier",
    "ece",
    "entropy",
    "misalignment",
    "ras",
    "reliability_tables",
    "result_tables",
    "write_csv",
]
