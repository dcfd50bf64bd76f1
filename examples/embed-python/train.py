"""A byte-level model, traced, spread over four virtual devices, compiled and trained on NumPy arrays."""

import numpy as np

import piper
from piper import nn

BATCH, TIME, WIDTH = 16, 8, 16


class Block(nn.Module):
    def __init__(self) -> None:
        self.norm = nn.RMSNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: piper.Tensor) -> piper.Tensor:
        return x + self.down(nn.gelu(self.up(self.norm(x))))


@piper.annotate(data_parallel=2, pipeline_parallel=2, zero_stage=1)
@piper.directive("Pipeline", schedule="1F1B", microbatches=4)
class Model(nn.Module):
    def __init__(self) -> None:
        self.table = nn.Embedding(256, WIDTH)
        self.blocks = [Block() for _ in range(2)]
        self.head = nn.Linear(WIDTH, 256)

    def forward(self, tokens: piper.i32[BATCH, TIME], targets: piper.i32[BATCH, TIME]):
        x = self.table(tokens)
        for block in self.blocks:
            x = block(x)
        return nn.cross_entropy(self.head(x), targets)


def main() -> list[float]:
    ir = piper.generate_ir(Model(), optimizer=piper.AdamW(lr=1e-2, clip=1.0))
    training = piper.compile(ir, num_devices=4).train()
    tokens = np.random.default_rng(0).integers(0, 256, (BATCH, TIME), dtype=np.int32)
    batch = {"tokens": tokens, "targets": np.roll(tokens, -1, axis=1)}
    losses = [training.step(batch).loss for _ in range(5)]
    print(f"loss {losses[0]:.3f} to {losses[-1]:.3f} on {training}")
    return losses


if __name__ == "__main__":
    main()
