"""Parquet contracts between the stages, and the only functions that write and read them."""

from vlmdx.schema.io import ContractError, atomic, read_provenance, read_table, write_table

__all__ = ["ContractError", "atomic", "read_provenance", "read_table", "write_table"]
