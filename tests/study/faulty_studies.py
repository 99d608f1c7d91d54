"""Studies with one mistake each: text, the key that the sentence names, and words of the sentence.

The line that the sentence must name ends in ``#!``.
"""

from __future__ import annotations

CELLS = """[[collective]]
names = ["reduce", "alltoall"]
sizes = ["8 B", "1 KiB"]
"""
PLACES = """[processes]
p = [4, 8]
"""
EIGHT = """[processes]
p = [8]
"""
NODES = """[processes]
nodes = [2, 4]
ppn = [2]
"""

FORM = [
    ('nam = "x" #!', "nam", "did you mean 'name'? Known: collective, partitioned, processes, name"),
    (
        "p = [4] #!",
        "p",
        "'p' is not a key of the file's beginning; it belongs to [[collective]] or [processes]",
    ),
    ("seed = -1 #!", "seed", "-1 is too small; it must be 0 or more"),
    ("seed = 1.5 #!", "seed", "1.5 is a decimal number, but this must be a whole number"),
    ("seed = true #!", "seed", "true is true or false, but this must be a whole number"),
    ("name = 3 #!", "name", "3 is a whole number, but this must be text in quotation marks"),
    ('name = "" #!', "name", "write printable text"),
    ('engine = "simm" #!', "engine", "'simm' is not known here; did you mean 'sim'? Known: mpi, sim, smpi"),
    ("seed = 1979-05-27 #!", "seed", "is a date or time, but this must be a whole number"),
]

COLLECTIVES = [
    (
        'names = ["reducee"] #!\nsizes = [8]',
        "names",
        "'reducee' is not a collective; did you mean 'reduce'? Known: all",
    ),
    ('names = [\n"reduce",\n"bcats", #!\n]\nsizes = [8]', "names", "did you mean 'bcast'"),
    ('names = "reduce" #!\nsizes = [8]', "names", 'this is a list; write ["reduce"]'),
    ('names = ["partitioned_send"] #!\nsizes = [8]', "names", "scan, exscan, barrier"),
    ("names = [] #!\nsizes = [8]", "names", "the list is empty"),
    ("names = [3] #!\nsizes = [8]", "names", "must be text in quotation marks"),
    ('names = ["scan", "scan"] #!\nsizes = [8]', "names", "'scan' is listed twice; remove one"),
    ('names = ["scan"]\nsizes = [8]\nsize = [16] #!', "size", "did you mean 'sizes'"),
    ('names = ["scan"]\nsizes = [8]\nfactors = [1] #!', "factors", "it belongs to [skew]"),
    (
        'names = ["scan"]\nsizes = [8]\np = [4,\n 5] #!',
        "p",
        "the study has no p = 5 but 4, 8; add 5 to [processes]",
    ),
    ('names = ["scan"]\nsizes = [8]\nskews = [86401] #!', "skews", "is more than a day"),
    ('names = ["scan"]\nsizes = [8]\nfiles = ["missing.txt"] #!', "files", "missing.txt"),
    ('names = ["scan"]\nsizes = 8 #!', "sizes", "this is a list; write [8]"),
    ('names = ["scan"]\nsizes = [8,\n 0, #!\n 16]', "sizes", "a size of 0 bytes sends nothing"),
    ('names = ["scan"]\nsizes = [8,\n -8] #!', "sizes", "-8 is negative"),
    (
        'names = ["scan"]\nsizes = ["9 B"] #!',
        "sizes",
        "9 B is not a multiple of the 8 bytes of a double; write 8 B",
    ),
    ('names = ["scan"]\nsizes = [8.0] #!', "sizes", "whole bytes, or text such as '64 KiB'"),
    ('names = ["scan"]\nsizes = [nan] #!', "sizes", "whole bytes, or text such as '64 KiB'"),
    (
        'names = ["scan"]\nsizes = ["8 KB"] #!',
        "sizes",
        "did you mean 'kB' (1000 bytes) or 'KiB' (1024 bytes)",
    ),
    ('names = ["scan"]\nsizes = ["8 s"] #!', "sizes", "'s' is not a unit of size"),
    ('names = ["scan"]\nsizes = ["1 KiB",\n 1024] #!', "sizes", "1 KiB is listed twice"),
    ('names = ["scan"]\nsizes = [] #!', "sizes", "there are no message sizes"),
    ('names = ["barrier"]\nsizes = [8] #!', "sizes", "a barrier has no message size; leave sizes out"),
    ('names = ["scan"]\nsizes = ["1 TiB"] #!', "sizes", "more than an MPI call can state (2147483647)"),
    ('names = ["alltoallv"]\nsizes = ["4 GiB"] #!', "sizes", "the p × count of alltoallv is 4294967296"),
    ('names = ["scan"]\nsizes = [8]\nalgorithms = [] #!', "algorithms", "the list is empty"),
    (
        'names = ["scan"]\nsizes = [8]\nalgorithms = ["all", "linear"] #!',
        "algorithms",
        "'all' includes every other",
    ),
    ('names = ["scan"]\nsizes = [8]\nalgorithms = ["a", "a"] #!', "algorithms", "'a' is listed twice"),
    ('names = ["scan"]\nsizes = [8]\nalgorithms = [" "] #!', "algorithms", "name is empty"),
    (
        'names = ["scan"]\nsizes = [8]\nop = "summ" #!',
        "op",
        "'summ' is not an operation; did you mean 'sum'?",
    ),
    ('names = ["scan"]\nsizes = [8]\nop = "band" #!', "op", "MPI has no 'band' for the datatype 'double'"),
    ('names = ["scan"]\nsizes = [8]\ndatatype = "doubel" #!', "datatype", "did you mean 'double'?"),
    (
        'names = ["bcast"]\nsizes = [8]\nroot = 4 #!',
        "root",
        "root 4 is no rank of p = 4; write a rank from 0 to 3",
    ),
    ('names = ["bcast"]\nsizes = [8]\nroot = -1 #!', "root", "-1 is too small"),
]

PROCESSES = [
    ("[processes] #!", "processes", "it says neither p nor nodes and ppn"),
    ("[processes]\np = 4 #!", "processes.p", "4 is a whole number, but this is a list; write [4]"),
    ("[processes]\np = [4, 0] #!", "processes.p", "0 is too small; it must be 1 or more"),
    ("[processes]\np = [1] #!", "processes.p", "p must be 2 or more"),
    ("[processes]\np = [-4] #!", "processes.p", "-4 is too small"),
    ("[processes]\np = [4,\n4] #!", "processes.p", "4 is listed twice"),
    ("[processes]\np = [100000000] #!", "processes.p", "100000000 is too large"),
    (
        "[processes]\np = [100000] #!",
        "processes.p",
        "p = 100000 processes need 293 GiB or more on one machine",
    ),
    ("[processes]\nnodes = [2]\nppn = [100000] #!", "processes.ppn", "100000 processes a node need 293 GiB"),
    ("[processes]\np = [4] #!\nnodes = [2]\nppn = [2]", "processes.p", "keep either p, or nodes with ppn"),
    ("[processes]\nnodes = [2] #!", "processes.nodes", "nodes is given without ppn"),
    ("[processes]\nppn = [2] #!", "processes.ppn", "ppn is given without nodes"),
    ("[processes]\nnodes = [1] #!\nppn = [1]", "processes.nodes", "p must be 2 or more"),
    ("[processes]\nnodes = [100000] #!\nppn = [1000]", "processes.nodes", "p must be 16777216 or less"),
    ("[processes]\np = [4]\nnode = [1] #!", "processes.node", "did you mean 'nodes'?"),
]

SECTIONS = [
    (
        '[patterns]\nshapes = ["ascendin"] #!',
        "patterns.shapes",
        "'ascendin' is not a shape; did you mean 'ascending'?",
    ),
    ('[patterns]\nshapes = ["bell", "bell"] #!', "patterns.shapes", "'bell' is listed twice"),
    ("[patterns]\nshapes = [] #!", "patterns.shapes", "there is no pattern"),
    ('[patterns]\nshapes = ["node_delayed"] #!', "patterns.shapes", "give nodes and ppn instead of p"),
    (
        "[patterns]\nscale_files = 1 #!",
        "patterns.scale_files",
        "1 is a whole number, but this must be true or false",
    ),
    ('[patterns]\nfiles = ["gone.txt"] #!', "patterns.files", "cannot read the pattern file"),
    ('[patterns]\nfiles = ["four.txt"] #!', "patterns.files", "has 4 delays, but p = 8 processes need 8"),
    ('[patterns]\nfiles = ["text.txt"] #!', "patterns.files", "text.txt:2: 'late' is not a number"),
    ('[patterns]\nfiles = ["negative.txt"] #!', "patterns.files", "negative.txt:2: the delay -1 is negative"),
    ('[patterns]\nfiles = ["nan.txt"] #!', "patterns.files", "nan.txt:1: nan is not a delay"),
    ('[patterns]\nfiles = ["empty.txt"] #!', "patterns.files", "holds no delays"),
    ('[patterns]\nfiles = ["."] #!', "patterns.files", "cannot read the pattern file"),
    ('[patterns]\nreplays = ["gone.replay"] #!', "patterns.replays", "cannot read the replay file"),
    (
        '[patterns]\nreplays = ["four.replay"] #!',
        "patterns.replays",
        "its calls are of 4 processes, but p = 8",
    ),
    ('[patterns]\nreplays = ["ok.txt"] #!', "patterns.replays", "belongs under 'files'; 'replays' takes"),
    ('[patterns]\nreplays = ["made.txt"] #!', "patterns.replays", "belongs under 'files'; 'replays' takes"),
    ('[patterns]\nfiles = ["eight.replay"] #!', "patterns.files", "belongs under 'replays'; 'files' takes"),
    ('[patterns]\nfiles = ["four.replay"] #!', "patterns.files", "belongs under 'replays'; 'files' takes"),
    (
        '[patterns]\nfiles = ["ok.txt"]\nreplays = ["other/ok.replay"] #!',
        "patterns.replays",
        "'other/ok.replay' and 'ok.txt' would both be called 'ok' in tables",
    ),
    ('[patterns]\nreplays = ["bell.replay"] #!', "patterns.replays", "which is a shape; rename the file"),
    ("[patterns]\nreplays = 1 #!", "patterns.replays", "list"),
    ('[patterns]\nfiles = ["bell.txt"] #!', "patterns.files", "which is a shape; rename the file"),
    (
        '[patterns]\nfiles = ["ok.txt",\n"ok.txt"] #!',
        "patterns.files",
        "'ok.txt' is listed twice; remove one",
    ),
    ('[patterns]\nfiles = ["a\\u0000b"] #!', "patterns.files", "holds the character NUL"),
    (
        '[patterns]\nfiles = ["ok.txt",\n"other/ok.txt"] #!',
        "patterns.files",
        "would both be called 'ok' in tables",
    ),
    ('[patterns]\nfiles = ["level.txt"] #!\nscale_files = true', "patterns.files", "this cannot be scaled"),
    ('[skew]\npolicy = "middle" #!', "skew.policy", "'middle' is not a skew policy"),
    ('[skew]\npolicy = "fixed" #!', "skew.policy", 'the policy fixed needs times; add times = ["100 us"]'),
    ('[skew]\npolicy = "fixed"\ntimes = [] #!', "skew.times", "the policy fixed needs times"),
    (
        '[skew]\npolicy = "fixed"\nfactors = [1] #!\ntimes = [1]',
        "skew.factors",
        "the policy fixed takes no factors",
    ),
    ('[skew]\ntimes = ["1 ms"] #!', "skew.times", "the policy mean takes no times"),
    ('[skew]\npolicy = "own"\ntimes = ["1 ms"] #!', "skew.times", "the policy own takes no times"),
    ("[skew]\nfactors = [] #!", "skew.factors", "the policy mean needs factors"),
    ("[skew]\nfactors = [0.5, 0] #!", "skew.factors", "0.0 is too small; it must be more than 0"),
    ("[skew]\nfactors = [-1] #!", "skew.factors", "-1.0 is too small"),
    ("[skew]\nfactors = [nan] #!", "skew.factors", "nan is not a finite number"),
    ("[skew]\nfactors = [inf] #!", "skew.factors", "inf is not a finite number"),
    ("[skew]\nfactors = [1, 1.0] #!", "skew.factors", "1.0 is listed twice"),
    ('[skew]\nfactors = ["1"] #!', "skew.factors", "is text, but this must be a number"),
    ('[skew]\npolicy = "fixed"\ntimes = ["100 us", 1e-4] #!', "skew.times", "100 µs is listed twice"),
    (
        '[skew]\npolicy = "fixed"\ntimes = ["5 parsecs"] #!',
        "skew.times",
        "'parsecs' is not a unit of time. Known: ns",
    ),
    ('[skew]\npolicy = "fixed"\ntimes = ["0 s"] #!', "skew.times", "it must be more than 0"),
    ('[skew]\npolicy = "fixed"\ntimes = ["100 h"] #!', "skew.times", "is more than a day"),
    ('[skew]\npolicy = "fixed"\ntimes = [nan] #!', "skew.times", "nan is not a finite time"),
    ("[repetitions]\nminimum = 200 #!", "repetitions.minimum", "minimum 200 is more than maximum 100"),
    ("[repetitions]\nminimum = 0 #!", "repetitions.minimum", "0 is too small"),
    (
        "[repetitions]\nconfidence_width = 5 #!",
        "repetitions.confidence_width",
        "5.0 is too large; it must be less than 1",
    ),
    (
        "[repetitions]\nconfidence = 90 #!",
        "repetitions.confidence",
        "90.0 is too large; it must be 0.999 or less",
    ),
    ("[repetitions]\nconfidence_width = 0 #!", "repetitions.confidence_width", "it must be more than 0"),
    ('[repetitions]\ntime_cap = "2 sec" #!', "repetitions.time_cap", "'sec' is not a unit of time"),
    ("[repetitions]\ntime_cap = -1 #!", "repetitions.time_cap", "-1 is negative"),
    ("[repetitions]\nhang_after = 0 #!", "repetitions.hang_after", "it must be more than 0"),
    ('[mpi]\nlauncher = "aprun" #!', "mpi.launcher", "'aprun' is not known here"),
    ('[mpi]\nhostfile = "gone" #!', "mpi.hostfile", "there is no file"),
    ('[mpi]\nprefix = "" #!', "mpi.prefix", "the prefix is empty"),
    (
        '[mpi]\noptions = ["--map-by node"] #!',
        "mpi.options",
        'must be several arguments of the launcher; write "--map-by", "node"',
    ),
    ('[mpi]\nenvironment = {A = "\\u0000"} #!', "mpi.environment.A", "holds the character NUL"),
    ("[mpi]\nenvironment = {A = 1} #!", "mpi.environment.A", 'write it in quotation marks: A = "1"'),
    (
        '[mpi.environment]\nA = "1"\n"b-c" = "1" #!',
        "mpi.environment.b-c",
        "not a name of an environment variable",
    ),
    ("[mpi]\nenvironment = 3 #!", "mpi.environment", "must be a table of texts"),
    ("[mpi]\nisolate = 1 #!", "mpi.isolate", "this must be true or false"),
    ('[start]\ntolerance = "audo" #!', "start.tolerance", "neither 'auto' nor a number with a unit"),
    ("[start]\ntolerance = 0 #!", "start.tolerance", "it must be more than 0"),
    ('[start]\ntolerance = "5 parsecs" #!', "start.tolerance", "'parsecs' is not a unit of time"),
    ("[start]\ntolerence = 1 #!", "start.tolerence", "did you mean 'tolerance'?"),
    ("[strat] #!", "strat", "did you mean 'start'?"),
]

CASES = (
    [(f"{fault}\n{CELLS}{PLACES}", key, words) for fault, key, words in FORM]
    + [
        (f"[[collective]]\n{fault}\n{PLACES}", f"collective[0].{key}", words)
        for fault, key, words in COLLECTIVES
    ]
    + [(f"{CELLS}{fault}\n", key, words) for fault, key, words in PROCESSES]
    + [(f"{CELLS}{EIGHT}{fault}\n", key, words) for fault, key, words in SECTIONS]
)
