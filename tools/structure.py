"""The rooms of the project and which rooms each one uses, read from imports and includes; pictures of both.

    python tools/structure.py           writes docs/images/structure-*.svg
    python tools/structure.py --check   exit status 1 where a picture does not show today's imports

A room is a folder of ``src/offbeat``, ``native`` or ``simulator``. A picture leaves out an arrow where a
longer path of arrows leads to the same room (the transitive reduction of the graph).
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PARTS = {
    "front-end": REPOSITORY / "src" / "offbeat",
    "driver": REPOSITORY / "native",
    "simulator": REPOSITORY / "simulator",
}
"""Name of a part of the project → the folder whose folders are its rooms."""

Graph = dict[str, set[str]]
"""Room → the rooms that it uses."""


def folders(place: Path) -> set[str]:
    """The rooms in a folder."""
    return {entry.name for entry in place.iterdir() if entry.is_dir() and entry.name != "__pycache__"}


def python_imports(path: Path) -> set[str]:
    """The rooms, and the modules outside of rooms, that a Python file imports (__init__: the package)."""
    package = PARTS["front-end"]
    imported = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "offbeat":
            names = [node.module] if "." in node.module else [f"offbeat.{name.name}" for name in node.names]
        elif isinstance(node, ast.Import):
            names = [name.name for name in node.names if name.name.split(".")[0] == "offbeat"]
        else:
            continue
        imported |= {name.split(".")[1] if "." in name else "__init__" for name in names}
    known = folders(package) | {module.stem for module in package.glob("*.py")}
    return {name if name in known else "__init__" for name in imported}  # offbeat.__version__


def c_includes(path: Path) -> set[str]:
    """The rooms whose headers a C or C++ file includes; headers without a folder are the room's own."""
    text = path.read_text(encoding="utf-8")
    public = {"include"} if re.search(r"#include <offbeat/", text) else set()
    return public | set(re.findall(r'#include "(\w+)/', text))


def used_rooms(part: str) -> Graph:
    """Which rooms each room of a part uses, from its files; tests beside C files are left out."""
    place = PARTS[part]
    rooms = folders(place)
    graph: Graph = {}
    for room in sorted(rooms):
        if part == "front-end":
            used = [python_imports(path) for path in (place / room).rglob("*.py")]
        else:
            sources = [path for path in (place / room).rglob("*.[ch]*") if not path.stem.endswith("_test")]
            used = [c_includes(path) for path in sources]
        graph[room] = set().union(*used) & rooms - {room}
    return graph


def reduced(graph: Graph) -> Graph:
    """The transitive reduction: without arrows that a longer path replaces.

    Raises :class:`ValueError` for a graph with a cycle.
    """

    def reachable(room: str, path: tuple[str, ...] = ()) -> set[str]:
        if room in path:
            raise ValueError(f"rooms use each other in a cycle: {' → '.join((*path, room))}")
        return graph[room].union(*(reachable(used, (*path, room)) for used in graph[room]))

    return {room: used - set().union(*(reachable(other) for other in used)) for room, used in graph.items()}


def levels(graph: Graph) -> dict[str, int]:
    """The length of the longest path from each room down to one that uses no other."""
    heights: dict[str, int] = {}

    def level(room: str) -> int:
        if room not in heights:
            heights[room] = max((level(used) + 1 for used in graph[room]), default=0)
        return heights[room]

    return {room: level(room) for room in graph}


Point = tuple[str, str, int]
"""Where an arrow crosses a level: the room that uses, the room that is used, the level. A room itself is
(room, room, level)."""


def routes(graph: Graph) -> list[list[Point]]:
    """Each arrow as the points that it passes, one a level, from the upper room to the lower one."""
    height = levels(graph)
    return [
        [(room, room, height[room])]
        + [(room, used, level) for level in range(height[room] - 1, height[used], -1)]
        + [(used, used, height[used])]
        for room in sorted(graph)
        for used in sorted(graph[room])
    ]


def ordered_rows(graph: Graph) -> list[list[Point]]:
    """The points of each level from left to right, each near its neighbours (Sugiyama's method)."""
    height = levels(graph)
    rows: list[list[Point]] = [[] for _ in range(max(height.values()) + 1)]
    for room in sorted(graph):
        rows[height[room]].append((room, room, height[room]))
    neighbours: dict[Point, list[Point]] = {point: [] for row in rows for point in row}
    for route in routes(graph):
        for point in route[1:-1]:
            rows[point[2]].append(point)
        for one, other in pairwise(route):
            neighbours.setdefault(one, []).append(other)
            neighbours.setdefault(other, []).append(one)
    for sweep in range(40):
        above = -1 if sweep % 2 else 1
        for row in rows[::-above]:
            _order(row, rows, neighbours, above)
    return rows


def _order(
    row: list[Point], rows: list[list[Point]], neighbours: dict[Point, list[Point]], above: int
) -> None:
    """Order the points of one level by the mean place of their neighbours on the level above (-1: below)."""
    place = {point: index - len(other) / 2 for other in rows for index, point in enumerate(other)}

    def mean(point: Point) -> tuple[float, Point]:
        near = [place[other] for other in neighbours[point] if other[2] == point[2] + above]
        return (sum(near) / len(near) if near else place[point]), point

    row.sort(key=mean)


def positions(graph: Graph) -> dict[Point, tuple[float, float]]:
    """Where each point is drawn: rooms of a level side by side, users above what they use."""
    rows = ordered_rows(graph)
    widths = {
        point: max(1.0, 0.095 * len(point[0]) + 0.1) if point[0] == point[1] else 0.35
        for row in rows
        for point in row
    }
    placed = {}
    for level, row in enumerate(rows):
        left = -sum(widths[point] for point in row) / 2
        for point in row:
            placed[point] = (left + widths[point] / 2, float(level))
            left += widths[point]
    return placed


def draw(graph: Graph, path: Path) -> None:
    """Write the picture of a graph as SVG, with its arrows as text in the file's description."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "structure"})
    from matplotlib import pyplot
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path as Curve

    arrows = reduced(graph)
    placed = positions(arrows)
    xs, ys = zip(*placed.values(), strict=True)
    figure, axes = pyplot.subplots(figsize=(1.35 * (max(xs) - min(xs) + 1.2), 0.85 * (max(ys) + 1)))
    for route in routes(arrows):
        points = [placed[point] for point in route]
        points[0] = (points[0][0], points[0][1] - 0.2)
        points[-1] = (points[-1][0], points[-1][1] + 0.2)
        bends = [corner for one, other in pairwise(points) for corner in _bend(one, other)]
        codes = [Curve.MOVETO] + [Curve.CURVE4] * len(bends)
        curve = Curve([points[0], *bends], codes)
        axes.add_patch(
            FancyArrowPatch(path=curve, arrowstyle="-|>", mutation_scale=9, color="#56708a", linewidth=0.9)
        )
    for (room, used, _), (x, y) in placed.items():
        if room == used:
            box = {"boxstyle": "round,pad=0.35", "facecolor": "#eaf2fa", "edgecolor": "#22486e"}
            axes.text(x, y, room, ha="center", va="center", fontsize=11, bbox=box)
    axes.set_xlim(min(xs) - 0.6, max(xs) + 0.6)
    axes.set_ylim(-0.4, max(ys) + 0.4)
    axes.axis("off")
    figure.savefig(
        path, bbox_inches="tight", metadata={"Date": None, "Creator": None, "Description": description(graph)}
    )
    pyplot.close(figure)


def _bend(one: tuple[float, float], other: tuple[float, float]) -> list[tuple[float, float]]:
    """The corners of a Bézier curve that leaves one point downwards and reaches the other from above."""
    middle = (one[1] + other[1]) / 2
    return [(one[0], middle), (other[0], middle), other]


def description(graph: Graph) -> str:
    """The arrows of a picture as text."""
    arrows = reduced(graph)
    return "; ".join(
        f"{room}: {' '.join(sorted(used))}".rstrip(": ") for room, used in sorted(arrows.items())
    )


def picture(part: str) -> Path:
    """The file that holds a part's picture."""
    return REPOSITORY / "docs" / "images" / f"structure-{part}.svg"


def outdated() -> Iterator[str]:
    """The parts whose picture is missing or does not show today's imports."""
    for part in PARTS:
        path = picture(part)
        if not path.is_file() or description(used_rooms(part)) not in path.read_text(encoding="utf-8"):
            yield part


def main() -> int:
    """Write the pictures that are outdated, or name them."""
    if sys.argv[1:] == ["--check"]:
        wrong = list(outdated())
        for part in wrong:
            print(f"{picture(part)} does not show today's imports; run python tools/structure.py")
        return 1 if wrong else 0
    for part in outdated():
        draw(used_rooms(part), picture(part))
    return 0


if __name__ == "__main__":
    sys.exit(main())
