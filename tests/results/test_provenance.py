import json

import offbeat
from offbeat.measurement.results.layout import SCHEMA_VERSION
from offbeat.measurement.results.provenance import provenance


def test_provenance_has_library_machine_and_time():
    facts = provenance({"library": "Open MPI 5.0.6"})
    assert facts["schema_version"] == SCHEMA_VERSION
    assert facts["offbeat_version"] == offbeat.__version__
    assert facts["library"] == "Open MPI 5.0.6"
    assert facts["topology"]["usable_threads"] >= 1
    assert all(facts[name] for name in ("host", "kernel", "python", "time", "memory_bytes"))
    assert json.loads(json.dumps(facts)) == facts


def test_provenance_takes_nothing_else_from_the_environment(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    monkeypatch.setenv("SLURM_JWT", "hunter2")
    monkeypatch.setenv("API_TOKEN", "hunter2")
    monkeypatch.setenv("LOADEDMODULES", "gcc/12:openmpi/5.0.6")
    facts = provenance()
    assert facts["scheduler"] == {"SLURM_JOB_ID": "4711"}
    assert facts["modules"] == ["gcc/12", "openmpi/5.0.6"]
    assert "hunter2" not in json.dumps(facts)


def test_provenance_reads_processor_and_governor(tmp_path):
    files = {
        "proc/cpuinfo": "processor : 0\nmodel name\t: Fast CPU 3000\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
        "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
        "sys/devices/system/cpu/cpu0/topology/physical_package_id": "0\n",
        "sys/devices/system/cpu/cpu1/topology/physical_package_id": "1\n",
        "sys/devices/system/cpu/smt/active": "1\n",
        "sys/devices/system/node/node0/x": "",
        "sys/fs/cgroup/cpu.max": "150000 100000\n",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    facts = provenance(root=tmp_path)
    assert facts["cpu"] == "Fast CPU 3000"
    assert facts["frequency"]["governors"] == ["performance", "powersave"]
    assert facts["topology"]["sockets"] == 2
    assert facts["topology"]["numa_nodes"] == 1
    assert facts["topology"]["hyperthreading"] == "1"
    assert facts["topology"]["container_cpus"] == 1.5


def test_unknown_facts_about_the_machine_are_empty(tmp_path):
    facts = provenance(root=tmp_path)
    assert facts["frequency"]["governors"] == []
    assert facts["topology"]["sockets"] is None
