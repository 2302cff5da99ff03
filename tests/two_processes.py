"""Run by tests/maths/test_gramians_processes.py: every estimator and the loss, the batch spread over two processes.

    python two_processes.py OUT

Each process takes half of every batch. Process 0 writes the estimates, the loss and the gradient to OUT.
"""

from __future__ import annotations

import sys

import torch
from lightning_fabric import Fabric

from course_lib import gramians
from course_lib.training import FabricProcesses

N, D, B, STEPS = 40, 5, 12, 6
MAKERS = {
    "batch": lambda processes: gramians.BatchGramian(processes=processes),
    "sogram": lambda processes: gramians.SOGram(D, 0.3, correct_start=True, processes=processes),
    "sagram": lambda processes: gramians.SAGram(N, D, 0.7, processes=processes),
    "sagram-psd": lambda processes: gramians.SAGram(N, D, 1, project=True, processes=processes),
}


class Tables(torch.nn.Module):
    """Two tables and the gravity loss on a batch of theirs."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.left, self.right = (
            torch.nn.Parameter(torch.randn(N, D, generator=generator, dtype=torch.float64)) for _ in range(2)
        )

    def forward(self, batch: torch.Tensor, gram_left: torch.Tensor, gram_right: torch.Tensor) -> torch.Tensor:
        return gramians.gravity_loss(self.left[batch], self.right[batch], gram_left, gram_right)


def outcome(rank: int, world: int, processes: gramians.Processes, around) -> dict[str, torch.Tensor]:
    """What comes out on `rank` of `world`; `around` wraps the module for the gradient to be averaged."""
    found: dict[str, torch.Tensor] = {}
    for name, make in MAKERS.items():
        tables = Tables()
        module, backward = around(tables)
        sides = [make(processes), make(processes)]
        generator = torch.Generator().manual_seed(1)
        for _ in range(STEPS):
            seen, used = (torch.randint(N, (B,), generator=generator).chunk(world)[rank] for _ in range(2))
            left, right = (
                side.update(seen, table[seen]) for side, table in zip(sides, (tables.left, tables.right), strict=True)
            )
            module.zero_grad()
            loss = module(used, left, right)
            backward(loss)
            with torch.no_grad():
                for parameter in tables.parameters():
                    parameter.sub_(0.1 * parameter.grad)
        found |= {f"{name}.estimate": left, f"{name}.loss": loss.detach(), f"{name}.left": tables.left.detach()}
    return found


def work(fabric: Fabric, out: str) -> None:
    found = outcome(
        fabric.global_rank,
        fabric.world_size,
        FabricProcesses(fabric),
        lambda tables: (fabric.setup(tables), fabric.backward),
    )
    for name in list(found):
        if name.endswith(".loss"):
            found[name] = fabric.all_reduce(found[name], reduce_op="mean")
    if fabric.is_global_zero:
        torch.save(found, out)


def main(out: str) -> None:
    Fabric(accelerator="cpu", devices=2, strategy="ddp_spawn").launch(work, out)


if __name__ == "__main__":
    main(sys.argv[1])
