"""Platform files: refusals with their line, the placement of ranks, and the built-in platforms."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from offbeat.base.errors import BadInput
from offbeat.model.platform import bundled_platforms, fat_tree, machine, template
from offbeat.model.platform.template import schema_text

PUBLISHED = Path(__file__).parents[2] / "docs" / "reference" / "platform.schema.json"

SMALL = """nodes = 4
cores = 2
[link]
bandwidth = "10 Gbit/s"
latency = "1 us"
[inside]
bandwidth = "1 GB/s"
latency = "500 ns"
"""

TREE = SMALL.replace("nodes", 'topology = "fat_tree"\nnodes', 1)
FLY = SMALL.replace("nodes", 'topology = "dragonfly"\nnodes', 1)

FAULTS = [
    ("nodes = 4 #!\ncores = 2\n[link]\nbandwidth = 1\n[insde]", None, "'insde' is not a key of the file's"),
    ("cores = 2\n[inside]\nbandwidth = 1\nlatency = 1", "nodes", "this key is missing: number of nodes"),
    ("nodes = 4\ncores = 2", "inside", "this key is missing; add a section [inside]"),
    (SMALL.replace('"10 Gbit/s"', "0 #!"), "link.bandwidth", "a bandwidth of 0 moves nothing"),
    (SMALL.replace('"1 GB/s"', '"0 Gbit/s" #!'), "inside.bandwidth", "a bandwidth of 0 moves nothing"),
    (SMALL.replace('"1 GB/s"', '"1 Gb/s" #!'), "inside.bandwidth", "did you mean 'GB/s'?"),
    (SMALL.replace('"1 GB/s"', '"-1 GB/s" #!'), "inside.bandwidth", "is negative"),
    (SMALL.replace("cores = 2", "cores = 0 #!"), "cores", "0 is too small; it must be 1 or more"),
    (
        SMALL.replace("cores = 2", f"cores = {'9' * 400} #!"),
        "cores",
        "is too large; it must be 2147483647 or less",
    ),
    (
        TREE + f"[fat_tree]\nnodes_per_leaf = 2\ntaper = {'9' * 400} #!",
        "fat_tree.taper",
        "must be less than 1.8e308",
    ),
    (SMALL.replace("nodes", 'topology = "torus" #!\nnodes', 1), "topology", "'torus' is not known here"),
    (SMALL.replace("nodes", 'name = " " #!\nnodes', 1), "name", "write printable text"),
    (SMALL.replace("nodes", "reverse_share = 1 #!\nnodes", 1), "reverse_share", "it must be less than 1"),
    (
        SMALL + "[fat_tree] #!\nspines = 1",
        "fat_tree",
        "leave the section out, or write topology = 'fat_tree'",
    ),
    (SMALL + "[dragonfly] #!\ngroups = 1", "dragonfly", "the topology is 'single_switch'"),
    (TREE + "[fat_tree] #!\nspines = 2", "fat_tree.nodes_per_leaf", "a leaf switch needs nodes"),
    (TREE + "[fat_tree]\nnodes_per_leaf = 9 #!\nspines = 2", "fat_tree.nodes_per_leaf", "there are 4 in all"),
    (TREE + "[fat_tree] #!\nnodes_per_leaf = 2", "fat_tree.spines", "neither spines nor taper is given"),
    (
        TREE + "[fat_tree]\nnodes_per_leaf = 2\nspines = 2 #!\ntaper = 1",
        "fat_tree.spines",
        "both spines and taper are given",
    ),
    (
        TREE + "[fat_tree]\nnodes_per_leaf = 4\ntaper = 3 #!",
        "fat_tree.taper",
        "4 nodes with a taper of 3 leave 1.333 cables up",
    ),
    (
        TREE + "[fat_tree]\nnodes_per_leaf = 3\ntaper = 1\ncables = 2 #!",
        "fat_tree.cables",
        "3 cables up are not 2 to each of some spines",
    ),
    (
        TREE + "[fat_tree]\nnodes_per_leaf = 2\nspines = 1\nleaves_per_pod = 2 #!",
        "fat_tree.leaves_per_pod",
        "leaves_per_pod is given without cores_per_spine",
    ),
    (FLY + "[dragonfly] #!\ngroups = 2\nrouters = 2", "dragonfly.nodes_per_router", "say how many"),
    (
        FLY.replace("nodes = 4", "nodes = 4 #!")
        + "[dragonfly]\ngroups = 2\nrouters = 2\nnodes_per_router = 2",
        "nodes",
        "nodes = 4, but 2 groups × 2 routers × 2 nodes are 8; make them the same",
    ),
    (SMALL + '[ranks] #!\nmapping = "list"', "ranks.nodes", "write a node for each rank"),
    (SMALL + "[ranks]\nnodes = [0, 1] #!", "ranks.nodes", "leave it out, or write mapping = 'list'"),
    (
        SMALL + '[ranks]\nmapping = "list"\nnodes = [0,\n 4, #!\n 1]',
        "ranks.nodes",
        "rank 1 is on node 4, but the nodes are 0 to 3",
    ),
    (
        SMALL + '[ranks]\nmapping = "list"\nnodes = [0, 1, 0, 0] #!',
        "ranks.nodes",
        "node 0 has 2 cores, and rank 3 is one too many",
    ),
    (SMALL + '[ranks]\nmapping = "by core" #!', "ranks.mapping", "Known: block, cyclic, list"),
    (SMALL + "[messages]\nfrom_sizes = [0, 8, 8] #!", "messages.from_sizes", "8 B follows 8 B"),
    (
        SMALL + "[messages]\nfrom_sizes = [0, 8]\nlatency_factors = [1] #!\nbandwidth_factors = [1, 1]",
        "messages.latency_factors",
        "1 factors for 2 sizes in from_sizes",
    ),
    (
        SMALL + "[messages]\nfrom_sizes = [0]\nlatency_factors = [0] #!\nbandwidth_factors = [1]",
        "messages.latency_factors",
        "it must be 1e-06 or more",
    ),
    (
        SMALL + "[messages]\nfrom_sizes = [0]\nlatency_factors = [1]\nbandwidth_factors = [1e-310] #!",
        "messages.bandwidth_factors",
        "it must be 1e-06 or more",
    ),
    (SMALL.replace('"1 GB/s"', "5e-324 #!"), "inside.bandwidth", "write 1 or more"),
    (SMALL.replace('"1 GB/s"', "1e300 #!"), "inside.bandwidth", "it must be 1e+18 or less"),
    (SMALL.replace('"500 ns"', "1e300 #!"), "inside.latency", "it must be 86400.0 or less"),
    (SMALL.replace("nodes", "flop_rate = 1e-310 #!\nnodes", 1), "flop_rate", "write 1 or more"),
]


@pytest.mark.parametrize(
    ("text", "key", "message"), FAULTS, ids=[f"{key}: {message}" for _, key, message in FAULTS]
)
def test_a_wrong_platform_is_refused_with_file_line_and_key(text: str, key: str | None, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        machine.loads(text, "cluster.toml")
    (line,) = [number for number, row in enumerate(text.splitlines(), 1) if "#!" in row] or [1]
    telling = [sentence for sentence in str(refused.value).splitlines() if message in sentence]
    assert telling, str(refused.value)
    if key:
        assert telling[0].startswith(f"cluster.toml:{line}: {key}: ")


def test_all_faults_are_reported_at_once() -> None:
    text = SMALL.replace('"1 GB/s"', "0").replace("cores = 2", "cores = -1") + "[messages]\nheader = -1\n"
    with pytest.raises(BadInput) as refused:
        machine.loads(text, "x.toml")
    assert len(str(refused.value).splitlines()) == 3


@pytest.mark.parametrize("name", bundled_platforms.PRESETS.names())
def test_a_built_in_platform_is_valid_and_has_a_source(name: str) -> None:
    platform = machine.load(name)
    assert platform.name == name
    assert len(platform.file.source) > 20
    assert platform.topology().nodes == platform.file.nodes
    assert platform.network(platform.file.cores + 1).p == platform.file.cores + 1


def test_the_papers_cluster_is_the_papers() -> None:
    paper = machine.load("paper")
    assert (paper.file.nodes, paper.file.cores, paper.total_cores) == (32, 32, 1024)
    assert paper.file.link.bandwidth == paper.file.inside.bandwidth == 1.25e9
    assert paper.topology().routes(0, 31)[0] == 2e-6 and paper.file.inside.latency == 1e-6
    assert list(paper.node_of_rank(1024)) == [rank // 32 for rank in range(1024)]


def test_an_unknown_platform_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(BadInput, match=r"'papr' is not a platform; did you mean 'paper'\? Known: paper, "):
        machine.load("papr")
    with pytest.raises(BadInput, match=r"^nowhere/x\.toml: there is no such file"):
        machine.load("nowhere/x.toml")


def test_a_file_precedes_a_built_in_platform_of_the_same_name(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("paper").write_text(SMALL, encoding="utf-8")
    assert machine.load("paper").total_cores == 8


@pytest.mark.parametrize(
    ("text", "sentence"), [("", "the platform is empty"), ("nodes = = 1", "this is not TOML")]
)
def test_other_files_than_platforms_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=f"^x.toml:1: {sentence}"):
        machine.loads(text, "x.toml")


def platform(mapping: str = "block", more: str = "") -> machine.Platform:
    return machine.loads(f'{SMALL}[ranks]\nmapping = "{mapping}"\n{more}', "cluster.toml")


def test_block_fills_a_node_before_the_next() -> None:
    assert list(platform().node_of_rank(7)) == [0, 0, 1, 1, 2, 2, 3]


def test_cyclic_places_ranks_in_turn() -> None:
    assert list(platform("cyclic").node_of_rank(7)) == [0, 1, 2, 3, 0, 1, 2]


def test_nodes_and_ppn_use_the_first_nodes_only() -> None:
    assert list(platform().node_of_rank(4, nodes=4, ppn=1)) == [0, 1, 2, 3]
    assert list(platform().node_of_rank(4, nodes=2, ppn=2)) == [0, 0, 1, 1]
    assert list(platform("cyclic").node_of_rank(4, nodes=2, ppn=2)) == [0, 1, 0, 1]


def test_a_list_gives_the_node_of_each_rank() -> None:
    listed = platform("list", "nodes = [3, 1, 1, 0]")
    assert list(listed.node_of_rank(4)) == [3, 1, 1, 0]
    assert list(listed.node_of_rank(2)) == [3, 1]


@pytest.mark.parametrize(
    ("section", "arguments", "sentence"),
    [
        (platform(), {"p": 9}, r"^cluster.toml:2: cores: 9 ranks, but 4 nodes × 2 cores are 8; take fewer"),
        (platform("cyclic"), {"p": 9}, "9 ranks, but 4 nodes × 2 cores are 8"),
        (platform(), {"p": 6, "nodes": 2, "ppn": 3}, "6 ranks, 3 of them on one node"),
        (platform(), {"p": 5, "nodes": 5, "ppn": 1}, "5 nodes are requested, but the platform has 4"),
        (platform(), {"p": 5, "nodes": 2, "ppn": 2}, "2 nodes × 2 ranks are 4, not p = 5"),
        (platform(), {"p": 0}, "0 ranks cannot be placed"),
        (platform("list", "nodes = [3, 1]"), {"p": 5}, "of 5 ranks ranks 2 to 4 have no node"),
        (platform("list", "nodes = [3, 1]"), {"p": 3}, "of 3 ranks rank 2 has no node"),
        (platform("list", "nodes = [3, 1]"), {"p": 2, "nodes": 2, "ppn": 1}, "so nodes and ppn cannot"),
    ],
)
def test_ranks_without_a_node_are_refused(section, arguments: dict[str, int], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        section.network(**arguments)


def test_more_ranks_than_cores_are_allowed_where_the_file_says_so() -> None:
    assert list(platform("block", "oversubscribe = true").node_of_rank(12)) == [
        rank // 3 for rank in range(12)
    ]
    assert max(platform("cyclic", "oversubscribe = true").node_of_rank(12)) == 3


@pytest.mark.parametrize("nodes", [[0, 1, 4], [0, -1, 1], [0, 1]])
def test_a_list_that_does_not_fit_is_refused(nodes: list[int]) -> None:
    with pytest.raises(BadInput, match=r"is placed on node|nodes are listed"):
        platform().network(3, node_of_rank=nodes)


@given(
    p=st.integers(1, 64),
    nodes=st.integers(1, 16),
    cores=st.integers(1, 8),
    mapping=st.sampled_from(["block", "cyclic"]),
)
def test_a_mapping_places_every_rank_within_the_cores_or_refuses(
    p: int, nodes: int, cores: int, mapping: str
) -> None:
    text = SMALL.replace("nodes = 4", f"nodes = {nodes}").replace("cores = 2", f"cores = {cores}")
    platform = machine.loads(f'{text}[ranks]\nmapping = "{mapping}"\n', "x.toml")
    if p > nodes * cores:
        with pytest.raises(BadInput):
            platform.node_of_rank(p)
        return
    placed = platform.node_of_rank(p)
    assert placed.shape == (p,) and placed.dtype == np.int32
    assert np.bincount(placed, minlength=nodes).max() <= cores
    assert len(np.bincount(placed)) <= nodes


@pytest.mark.parametrize(
    ("words", "switches", "taper"),
    [
        ("nodes_per_leaf = 16\ntaper = 2", [4, 8], [2]),
        ("nodes_per_leaf = 16\nspines = 4\ncables = 4", [4, 4], [1]),
        ("nodes_per_leaf = 10\nspines = 5", [7, 5], [2]),
        ('nodes_per_leaf = 16\nspines = 4\nbandwidth = "40 Gbit/s"', [4, 4], [1]),
        ("nodes_per_leaf = 8\nspines = 4\nleaves_per_pod = 4\ncores_per_spine = 2", [8, 8, 8], [2, 2]),
    ],
)
def test_a_fat_tree_has_the_switches_and_the_taper_that_were_stated(
    words: str, switches: list[int], taper: list[float]
) -> None:
    text = TREE.replace("nodes = 4", "nodes = 64")
    file = machine.loads(f"{text}[fat_tree]\n{words}\n", "x.toml").file
    assert [level.switches for level in fat_tree.levels(file)] == switches
    assert fat_tree.tapers(file) == pytest.approx(taper)


def test_bandwidths_of_each_kind_reach_the_links() -> None:
    text = (
        FLY.replace("nodes = 4", "nodes = 8") + "[dragonfly]\ngroups = 2\nrouters = 2\nnodes_per_router = 2\n"
    )
    platform = machine.loads(
        f'{text}local_bandwidth = "2 GB/s"\nglobal_bandwidth = "3 GB/s"\n'
        'local_latency = "2 us"\nglobal_latency = 0\n',
        "x.toml",
    ).topology()
    latency_s, hops = platform.routes(0, 7)
    assert {platform.bandwidths[link] for link, _ in hops} <= {1.25e9, 2e9, 3e9}
    assert platform.routes(0, 2)[0] == pytest.approx(4e-6)
    assert latency_s in (pytest.approx(2e-6), pytest.approx(4e-6), pytest.approx(6e-6))


def test_the_template_is_sound_and_every_commented_key_can_be_switched_on() -> None:
    text = template.template()
    platform = machine.loads(text, "platform.toml")
    assert platform.file.nodes == 32
    for section in ("fat_tree", "dragonfly"):
        head, _, rest = text.partition(f"#[{section}]")
        keys, _, others = rest.partition("\n\n")
        switched = keys.replace("\n#", "\n").replace("\n ", "\n# ").replace("\ntaper", "\n#taper")
        whole = f"{head}[{section}]{switched}\n\n{others}".replace('single_switch"', f'{section}"', 1)
        assert machine.loads(whole, "platform.toml").file.topology == section
    head, _, section = text.partition("#[[partitioned]]")
    whole = head + "[[partitioned]]" + section.replace("\n#", "\n").replace("\n ", "\n# ")
    assert machine.loads(whole, "platform.toml").file.partitioned[0].eager_below == 8192


def test_the_published_schema_is_current_and_takes_what_the_loader_takes() -> None:
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text()
    validator = jsonschema.Draft202012Validator(json.loads(schema_text()))
    for name in bundled_platforms.PRESETS.names():
        assert validator.is_valid(tomllib.loads(machine.load(name).text)), name
    assert validator.is_valid(tomllib.loads(template.template()))
    wrong = tomlkit.parse(SMALL)
    wrong["link"]["bandwidth"] = "10 Gbps"
    assert not validator.is_valid(wrong.unwrap())
