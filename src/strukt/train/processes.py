"""The processes that train one model, started by a launcher or by Lightning."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from strukt.errors import SettingError


@dataclass(frozen=True)
class Processes:
    """The processes that train one model, seen from one of them.

    Attributes:
        on_machine: Number of processes on each machine.
        machines: Number of machines.
        rank: Index of this process among all; process 0 writes the model and reports.
        launcher: `torchrun` or `srun` if one of them started the processes; empty if Lightning starts them.
    """

    on_machine: int
    machines: int = 1
    rank: int = 0
    launcher: str = ""

    @property
    def count(self) -> int:
        """Number of processes on all machines."""
        return self.on_machine * self.machines

    def trainer_options(self) -> dict[str, Any]:
        """Return the options of Lightning's `Trainer` for these processes, as keyword arguments.

        Raises:
            ImportError: If Lightning is not installed.
        """
        from lightning.fabric.plugins.environments.lightning import LightningEnvironment
        from lightning.fabric.plugins.environments.slurm import SLURMEnvironment
        from lightning.fabric.plugins.environments.torchelastic import TorchElasticEnvironment
        from lightning.pytorch.strategies import DDPStrategy

        if self.launcher == "torchrun":
            environment: Any = TorchElasticEnvironment()
        elif self.launcher == "srun":
            environment = SLURMEnvironment(auto_requeue=False)  # jobs resume from our own checkpoints
        else:
            environment = LightningEnvironment()  # ignores the variables of a scheduler
        # Spawned, because a fork copies the locks of threads, but not the threads that would release them.
        together = DDPStrategy() if self.launcher else DDPStrategy(start_method="spawn")
        return {
            "devices": self.on_machine,
            "num_nodes": self.machines,
            "strategy": together if self.count > 1 else "auto",
            "plugins": [environment],
        }


def training_processes(devices: int) -> Processes:
    """Return the processes that a launcher started, or else one for each of `devices` devices of this machine.

    A launcher is recognised by its environment variables.

    Args:
        devices: Number of devices: the option `--trainer.devices`.

    Raises:
        SettingError: If a launcher has started the processes and `devices` is not 1, or if `srun` does not state
            the number of tasks on each machine, the same for all machines.

    Examples:
        >>> training_processes(devices=2)
        Processes(on_machine=2, machines=1, rank=0, launcher='')
    """
    launched = _of_torchrun() or _of_srun()
    if launched is None:
        return Processes(devices)
    if devices != 1:
        raise SettingError(
            f"--trainer.devices is {devices}, but {launched.launcher} has started {launched.count} processes "
            "already, one for each device; omit the option"
        )
    return launched


def _of_torchrun() -> Processes | None:
    """Return the processes that torchrun has started; None if it has started none."""
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        return None
    on_machine, count, rank = (int(os.environ[name]) for name in ("LOCAL_WORLD_SIZE", "WORLD_SIZE", "RANK"))
    return Processes(on_machine, count // on_machine, rank, "torchrun")


def _of_srun() -> Processes | None:
    """Return the processes that srun has started; None for a single one, such as a batch script or a shell."""
    if int(os.environ.get("SLURM_STEP_NUM_TASKS", "1")) == 1:
        return None
    count = int(os.environ["SLURM_NTASKS"])
    on_machine = int(os.environ.get("SLURM_NTASKS_PER_NODE", "0"))
    if not on_machine or count % on_machine:
        raise SettingError(
            f"srun has started {count} tasks, but does not state an equal number for each machine; "
            "give that number with --ntasks-per-node"
        )
    return Processes(on_machine, count // on_machine, int(os.environ["SLURM_PROCID"]), "srun")
