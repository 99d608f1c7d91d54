"""Whether medians and means are known as well as their study asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ROUNDING = 1.001


def asked_width(study: Mapping[str, Any]) -> float | None:
    """The half width of intervals that a study asks for, as a share; None where it asks for none."""
    section = study.get("repetitions")
    asked = section.get("confidence_width") if isinstance(section, dict) else None
    return float(asked) if asked else None


def is_wide(low_s: Any, high_s: Any, middle_s: Any, asked: float) -> Any:
    """Where intervals are wider than ``asked``; of arrays, or of columns."""
    return (high_s - low_s) / 2 > asked * _ROUNDING * middle_s
