"""The typed configuration: classes, validation, and the settings each job reads."""

from vlmdx.config.load import ConfigError, load
from vlmdx.config.root import Config

__all__ = ["Config", "ConfigError", "load"]
