"""The page of the study file."""

from __future__ import annotations

from toml_file import code_list, page_of

from offbeat.base.units import SIZE_UNITS, TIME_UNITS
from offbeat.model.study.study_file import FORM

SOURCE = "src/offbeat/model/study/schema.py"

HEAD = """# The study file

A study file is TOML. `offbeat init` writes one with an explanation of every key. If a file has an unknown
key, a wrong type or an impossible value, `offbeat run` rejects it before anything is launched, and the
message names the line. Editors that support JSON Schema can use [study.schema.json](study.schema.json)
(`offbeat schema` prints it).

Sizes are whole numbers of bytes or text with a unit: {sizes}. Times are seconds or text with a unit: {times}.
"""


def page() -> str:
    """The whole page."""
    return page_of(HEAD.format(sizes=code_list(SIZE_UNITS), times=code_list(TIME_UNITS)), FORM)
