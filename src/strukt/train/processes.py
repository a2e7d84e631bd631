"""The processes that train one model: those that a launcher has begun, or those that Lightning begins."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from strukt.errors import SettingError


@dataclass(frozen=True)
class Processes:
    """Which processes train one model, of which this is one.

    Attributes:
        on_machine: How many there are on each machine.
        machines: Number of machines.
        rank: Number of this process among all; the first writes the model, and reports.
        launcher: `torchrun` or `srun`, which have begun them; empty if Lightning is to.
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
        """What the `Trainer` of Lightning is told of them."""
        from lightning.fabric.plugins.environments.lightning import LightningEnvironment
        from lightning.fabric.plugins.environments.slurm import SLURMEnvironment
        from lightning.fabric.plugins.environments.torchelastic import TorchElasticEnvironment
        from lightning.pytorch.strategies import DDPStrategy

        if self.launcher == "torchrun":
            environment: Any = TorchElasticEnvironment()
        elif self.launcher == "srun":
            environment = SLURMEnvironment(auto_requeue=False)  # our checkpoints go on where a job was ended
        else:
            environment = LightningEnvironment()  # whatever variables of a scheduler make Lightning expect
        # Spawned, because a fork copies the locks of threads that it does not copy.
        together = DDPStrategy() if self.launcher else DDPStrategy(start_method="spawn")
        return {
            "devices": self.on_machine,
            "num_nodes": self.machines,
            "strategy": together if self.count > 1 else "auto",
            "plugins": [environment],
        }


def training_processes(devices: int) -> Processes:
    """Return the processes that a launcher started, by its variables, or one for each device of this machine.

    Args:
        devices: The option `--trainer.devices`.

    Raises:
        SettingError: If a launcher has begun processes and devices are asked for, or `srun` was not told how many
            tasks each machine has.

    Examples:
        >>> training_processes(devices=2)
        Processes(on_machine=2, machines=1, rank=0, launcher='')
    """
    found = _of_torchrun() or _of_srun()
    if found is None:
        return Processes(devices)
    if devices != 1:
        raise SettingError(
            f"--trainer.devices is {devices}, and {found.launcher} has begun {found.count} processes already, one "
            "for each device; leave it out"
        )
    return found


def _of_torchrun() -> Processes | None:
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        return None
    on_machine, count, rank = (int(os.environ[name]) for name in ("LOCAL_WORLD_SIZE", "WORLD_SIZE", "RANK"))
    return Processes(on_machine, count // on_machine, rank, "torchrun")


def _of_srun() -> Processes | None:
    """Those of a step of several tasks; the script of a job, and a shell within it, are one process."""
    if int(os.environ.get("SLURM_STEP_NUM_TASKS", "1")) == 1:
        return None
    count = int(os.environ["SLURM_NTASKS"])
    on_machine = int(os.environ.get("SLURM_NTASKS_PER_NODE", "0"))
    if not on_machine or count % on_machine:
        raise SettingError(
            f"srun has begun {count} tasks; say with --ntasks-per-node how many there are on each machine, "
            "equally many on all"
        )
    return Processes(on_machine, count // on_machine, int(os.environ["SLURM_PROCID"]), "srun")
