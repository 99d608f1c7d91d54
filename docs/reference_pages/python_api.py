"""The page of the Python API, from the signatures and docstrings of its names."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

from markdown import prose

import offbeat

SOURCE = "the docstrings in src/offbeat/api"

HEAD = """# The Python API

```python
import offbeat
```

loads nothing but what is used later. [How to use it](../howto/python.md) shows the whole way, from a study
to tuning files. Times are in seconds, sizes in bytes; frames are polars frames. In a notebook, each object
shows its tables. The package is typed.

`offbeat.BadInput` is raised for input that cannot be used, before anything is launched; `offbeat.RunFailed`
if something was tried and not done. Their messages are those of the commands, and name the commands'
options; the arguments here have the same names. After a `KeyboardInterrupt`, the same call resumes. All
functions can be called outside of the main thread.
"""

CLASSES = ("Study", "Results", "Selection", "TuningFiles", "Verification", "TunedProgram", "Trace")
LONGEST = 100
"""Characters of a call in one line."""

FUNCTIONS = ("tune", "simulate", "read_study", "read_cases")


def page() -> str:
    """The whole page."""
    functions = [_entry("##", f"offbeat.{name}", getattr(offbeat, name)) for name in FUNCTIONS]
    return "\n".join([HEAD, *map(_class, CLASSES), *functions])


def _class(name: str) -> str:
    kind = getattr(offbeat, name)
    entries = [_entry("###", f"{name}.{member}", value) for member, value in _members(kind)]
    return "\n".join([f"## offbeat.{name}\n\n{prose(kind.__doc__)}\n", *entries])


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class that offbeat defines, in the order of the source.

    Those of the structures from which it derives count, if they have a docstring.
    """
    members: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("offbeat."):
            members |= {name: value for name, value in vars(base).items() if not name.startswith("_")}
    for name, value in members.items():
        function = _function(value)
        if function is not None and function.__doc__:
            yield name, value


def _function(value: Any) -> Callable[..., Any] | None:
    """The function behind a method, a class method or a property; None for anything else."""
    if isinstance(value, property):
        return value.fget
    value = getattr(value, "func", getattr(value, "__func__", value))
    return value if inspect.isfunction(value) else None


def _entry(mark: str, title: str, value: Any) -> str:
    function = _function(value)
    assert function is not None
    signature = "" if _is_attribute(value) else _signature(title, function)
    return f"{mark} {title}\n\n{signature}{prose(function.__doc__)}\n"


def _is_attribute(value: Any) -> bool:
    return isinstance(value, property) or hasattr(value, "func")


def _signature(title: str, function: Callable[..., Any]) -> str:
    """The call in a block of code, an argument per line if there are many."""
    signature = inspect.signature(function)
    parameters = [one for name, one in signature.parameters.items() if name not in ("self", "cls")]
    arguments = [str(one) for one in parameters]
    first_keyword = next((i for i, one in enumerate(parameters) if one.kind is one.KEYWORD_ONLY), None)
    if first_keyword is not None:
        arguments.insert(first_keyword, "*")
    result = signature.return_annotation
    call, _, _ = title.rpartition(".") if result == "Self" else ("", "", "")
    end = f") -> {call or result}"
    name = title.removeprefix("offbeat.")
    text = f"{name}({', '.join(arguments)}{end}"
    if len(text) > LONGEST:
        text = "\n".join([f"{name}(", *(f"    {argument}," for argument in arguments), end])
    return f"```python\n{_plain(text)}\n```\n\n"


def _plain(text: str) -> str:
    """Annotations as they are written, without quotes around them."""
    return re.sub(r": '([^']+)'", r": \1", re.sub(r"-> '([^']+)'", r"-> \1", text))
