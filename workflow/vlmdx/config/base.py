"""What every config block shares: unknown keys are errors, every field has a description."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

SLUG = "[a-z0-9][a-z0-9-]*"
Slug = Annotated[str, StringConstraints(pattern=f"^{SLUG}$")]
Share = Annotated[float, Field(ge=0, le=1)]


class Block(BaseModel):
    """A block of the config file."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=False, hide_input_in_errors=True)
