"""Training in processes that torchrun or srun have begun."""

import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys

import pytest
from tests import children, tiny_corpora

from strukt.errors import SettingError, StruktError
from strukt.train import checkpoints, saved_model, training
from strukt.train.fit import fit
from strukt.train.processes import Processes, training_processes

TRAIN, DEV = tiny_corpora.trees(30), tiny_corpora.trees(10, seed=1)
EPOCHS = 20


def config(folder, devices=1):
    made = tiny_corpora.dependency_config(
        train=tiny_corpora.write(TRAIN, folder / "train.conllu"),
        dev=tiny_corpora.write(DEV, folder / "dev.conllu"),
    )
    made.trainer.devices, made.trainer.threads = devices, 1
    made.trainer.epochs = made.trainer.patience = EPOCHS
    return made


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def weights(folder):
    return (folder / "weights.safetensors").read_bytes()


def task_of_srun(rank, port, folder, resume=False):
    """What a task of `srun` finds in its environment, two machines having one each."""
    variables = {"NTASKS": 2, "NTASKS_PER_NODE": 1, "STEP_NUM_TASKS": 2, "PROCID": rank, "LOCALID": 0}
    variables |= {"NODEID": rank, "JOB_ID": 1, "JOB_NAME": "train", "NODELIST": "localhost"}
    os.environ.update({f"SLURM_{name}": str(value) for name, value in variables.items()})
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    scores = fit("dependency", config(folder), folder / "srun", resume=resume)
    assert bool(scores) == (rank == 0)


def resumed_task(rank, port, folder):
    task_of_srun(rank, port, folder, resume=True)


def machine_of_torchrun(rank, port, folder):
    """The command that a user gives on each of two machines."""
    launch = f"--nnodes 2 --node-rank {rank} --nproc-per-node 1 --master-addr 127.0.0.1 --master-port {port}"
    order = f"-m strukt train dependency --config {folder / 'config.json'} -o {folder / 'torchrun'}"
    command = [sys.executable, "-m", "torch.distributed.run", *launch.split(), *order.split()]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def spawned(tmp_path_factory):
    """A model of two processes that strukt itself has begun, in a job of SLURM whose variables speak of one."""
    folder = tmp_path_factory.mktemp("spawned")
    slurm = {"NTASKS": "1", "JOB_NAME": "train", "JOB_ID": "1", "PROCID": "0", "LOCALID": "0", "NODEID": "0"}
    with pytest.MonkeyPatch.context() as job:
        for name, value in (slurm | {"NODELIST": "localhost"}).items():
            job.setenv(f"SLURM_{name}", value)
        fit("dependency", config(folder, devices=2), folder / "m")
    return folder / "m"


@pytest.mark.slow  # two processes more, which import everything
def test_two_processes_train_one_model(spawned):
    metrics = json.loads((spawned / "metrics.json").read_text())
    assert metrics["dev"]["LAS"] > metrics["history"][0]["LAS"] + 40
    one = tiny_corpora.dependency_config()
    assert metrics["history"][0]["step"] < len(TRAIN) * 9 / one.trainer.tokens  # each took half of the batches
    assert saved_model.load(spawned).evaluate(DEV)["LAS"] == metrics["dev"]["LAS"]


@pytest.mark.slow  # it starts six processes
def test_two_processes_share_no_memory(tmp_path):
    order = config(tmp_path, devices=2)
    order.trainer.epochs = 4
    fit("dependency", order, tmp_path / "whole")
    order.trainer.max_minutes = 1e-9
    fit("dependency", order, tmp_path / "resumed")
    order.trainer.max_minutes = 0
    fit("dependency", order, tmp_path / "resumed", resume=True)
    assert weights(tmp_path / "whole") == weights(tmp_path / "resumed")


@pytest.mark.slow  # two launchers, and a process of each, which import everything
def test_torchrun_on_two_machines_trains_the_model_of_two_processes(tmp_path, spawned):
    (tmp_path / "config.json").write_text(json.dumps(dataclasses.asdict(config(tmp_path))))
    port = free_port()
    launched = [machine_of_torchrun(rank, port, tmp_path) for rank in range(2)]
    shown = [machine.communicate(timeout=600) for machine in launched]
    assert [machine.returncode for machine in launched] == [0, 0], shown
    assert weights(tmp_path / "torchrun") == weights(spawned)
    (first, progress), (second, _) = shown
    assert "LAS" in first
    assert second == ""  # of the other machine
    assert progress.count("epoch") == EPOCHS


@pytest.mark.slow  # two processes more, which import everything
def test_srun_with_several_tasks_trains_the_model_of_two_processes(tmp_path, spawned):
    port = free_port()
    tasks = [children.CONTEXT.Process(target=task_of_srun, args=(rank, port, tmp_path)) for rank in range(2)]
    for task in tasks:
        task.start()
    for task in tasks:
        task.join(600)
    assert [task.exitcode for task in tasks] == [0, 0]
    assert weights(tmp_path / "srun") == weights(spawned)


def terminated_task(rank, port, folder):
    """A task of `srun` of which the second one receives SIGTERM in its fifth step."""
    seed_step = training.seed_step

    def seed(seed, step, rank):
        if (step, rank) == (4, 1):
            signal.raise_signal(signal.SIGTERM)
        seed_step(seed, step, rank)

    training.seed_step = seed
    task_of_srun(rank, port, folder)


@pytest.mark.slow  # two processes more, which import everything
def test_a_signal_to_one_process_ends_all_of_them_with_a_checkpoint(tmp_path, spawned):
    def run(target):
        port = free_port()
        tasks = [children.CONTEXT.Process(target=target, args=(rank, port, tmp_path)) for rank in range(2)]
        for task in tasks:
            task.start()
        for task in tasks:
            task.join(600)
        return [task.exitcode for task in tasks]

    assert run(terminated_task) == [-signal.SIGTERM] * 2
    assert checkpoints.newest(tmp_path / "srun" / "training" / "checkpoints").progress.step >= 5
    assert run(resumed_task) == [0, 0]
    assert weights(tmp_path / "srun") == weights(spawned)


def as_of_torchrun(monkeypatch, rank):
    """Four processes, two on each machine."""
    variables = {"TORCHELASTIC_RUN_ID": 1, "LOCAL_WORLD_SIZE": 2, "WORLD_SIZE": 4, "RANK": rank}
    for name, value in variables.items():
        monkeypatch.setenv(name, str(value))


def test_the_number_of_processes_must_stay_the_same(tmp_path, monkeypatch):
    order = config(tmp_path)
    order.trainer.max_minutes = 1e-9
    fit("dependency", order, tmp_path / "m")
    as_of_torchrun(monkeypatch, rank=0)
    with pytest.raises(StruktError, match="cannot resume: processes was 1 and is now 4"):
        fit("dependency", order, tmp_path / "m", resume=True)


def test_devices_are_not_asked_for_beside_a_launcher(monkeypatch):
    as_of_torchrun(monkeypatch, rank=3)
    assert training_processes(1) == Processes(on_machine=2, machines=2, rank=3, launcher="torchrun")
    with pytest.raises(SettingError, match="torchrun has started 4 processes already"):
        training_processes(4)


@pytest.mark.parametrize("on_machine", [None, "3"])
def test_srun_must_say_how_many_tasks_each_machine_has(monkeypatch, on_machine):
    for name in ("NTASKS", "STEP_NUM_TASKS"):
        monkeypatch.setenv(f"SLURM_{name}", "4")
    if on_machine:
        monkeypatch.setenv("SLURM_NTASKS_PER_NODE", on_machine)
    with pytest.raises(SettingError, match=r"srun has started 4 tasks.*--ntasks-per-node"):
        training_processes(1)


def test_the_script_of_a_job_is_one_process(monkeypatch):
    for name, value in {"NTASKS": "4", "NTASKS_PER_NODE": "4", "PROCID": "0"}.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    assert training_processes(4) == Processes(on_machine=4)
