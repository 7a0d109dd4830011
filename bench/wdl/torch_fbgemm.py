"""torch_wdl.py with FBGEMM's table-batched embeddings: the fastest PyTorch that we know of. Same commands, same model.

What differs from torch_wdl.py: the 26 tables are looked up and updated by one operator each (exact Adagrad within
backward), dense Adagrad is fused, and the wide part's gradients are dense. bf16 is autocast, or weights in bf16 beside
those in fp32 that Adagrad steps: a trial while it prepares tells which is faster. bench/wdl/fbgemm.ts has the versions.
"""

import copy
import time

import fbgemm_gpu
import torch
import torch.nn.functional as functional
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from fbgemm_gpu.split_table_batched_embeddings_ops_common import EmbeddingLocation
from fbgemm_gpu.split_table_batched_embeddings_ops_training import ComputeDevice, SplitTableBatchedEmbeddingBagsCodegen
from torch_wdl import NUMERICS, Contender, Dense, main

TRIAL_STEPS = 5


class TableBatched(Contender):
    def indices(self, columns):
        return torch.cat(columns)

    def build(self, counts, dims, hidden, buckets, options):
        def fresh(native):
            self.make(counts, dims, hidden, buckets, options, native)

        way = {}
        if self.bf16:
            seconds = {}
            for native in (False, True):
                fresh(native)
                self.train_step()
                start = time.monotonic()
                for _ in range(TRIAL_STEPS):
                    self.train_step()
                seconds[native] = time.monotonic() - start
            way = {"bf16": "weights" if seconds[True] < seconds[False] else "autocast"}
            self.step = 0
        fresh(way.get("bf16") == "weights")
        return {"fbgemm": fbgemm_gpu.__version__, **way}

    def make(self, counts, dims, hidden, buckets, options, native):
        torch.manual_seed(1)
        rows, rate, first_sum = int(options.get("batch", 2048)), float(options["rate"]), float(options["accumulator"])
        self.tables = SplitTableBatchedEmbeddingBagsCodegen(
            [(max(count, 1), dim, EmbeddingLocation.HOST, ComputeDevice.CPU) for count, dim in zip(counts, dims)],
            optimizer=EmbOptimType.EXACT_ADAGRAD,
            learning_rate=rate,
            eps=1e-30,
        )
        with torch.no_grad():
            for weight in self.tables.split_embedding_weights():
                torch.nn.init.trunc_normal_(weight, std=0.01, a=-0.02, b=0.02)
            for (sums,) in self.tables.split_optimizer_states():
                sums.fill_(first_sum)
        self.offsets = torch.arange(len(dims) * rows + 1)
        self.model = Dense(NUMERICS + sum(dims), hidden, buckets, len(dims), sparse=False)
        self.native = copy.deepcopy(self.model.deep).to(torch.bfloat16) if native else None
        self.gradients = torch.full((rows, sum(dims)), 1e-5)
        self.optimizers = [
            torch.optim.Adagrad(
                self.model.deep.parameters(), lr=rate, initial_accumulator_value=first_sum, eps=1e-30, fused=True
            ),
            torch.optim.Adagrad(
                [self.model.wide.weight, self.model.wide_numeric.weight],
                lr=float(options["wide_rate"]),
                initial_accumulator_value=float(options["wide_accumulator"]),
                eps=1e-30,
                fused=True,
            ),
        ]

    def train_step(self):
        labels, numerics, ids, buckets = self.next_batch()
        vectors = self.tables(ids, self.offsets)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.bf16 and self.native is None):
            inputs = torch.cat([numerics, vectors], 1)
            deep = self.model.deep(inputs) if self.native is None else self.native(inputs.to(torch.bfloat16))
        logit = (deep.float() + self.model.wide(buckets) + self.model.wide_numeric(numerics)).squeeze(1)
        loss = functional.binary_cross_entropy_with_logits(logit, labels)
        loss.backward()  # steps the tables, too
        if self.native is not None:
            for kept, used in zip(self.model.deep.parameters(), self.native.parameters()):
                kept.grad, used.grad = used.grad.float(), None
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        if self.native is not None:
            with torch.no_grad():
                for kept, used in zip(self.model.deep.parameters(), self.native.parameters()):
                    used.copy_(kept)
        return loss.item()

    def embedding_step(self):
        self.tables(self.next_batch()[2], self.offsets).backward(self.gradients)
        return 0.0


if __name__ == "__main__":
    main(TableBatched())
