"""Wide & Deep in PyTorch, as a contender of the trainer's bench: one command a line on standard input, one answer a line.

    prepare data=<file> dims=<widths> threads=<n> batches=<n> seed=<n> dtype=fp32|bf16 hidden=1024,512,256 ...
    train steps=<n>        seconds and processor time of one step, and the mean loss
    embedding steps=<n>    lookup, backward from a given gradient, and update of the 26 tables alone

The model, the batches and their order are the trainer's. What is easier for PyTorch here: ids are numbers of rows already
(no hash table), all batches lie in memory as tensors, and the wide part has sparse Adagrad, since PyTorch has no FTRL.
bf16 is autocast. PyTorch 1.13 and later.
"""

import ctypes
import os
import re
import resource
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../test/oracle"))

import numpy
import torch
import torch.nn.functional as functional
from wdl_torch import COLUMNS, NUMERICS, batch_starts, mix64, read_cache


def cardinalities(path):
    """native/wdl/input/cache_format.h: 40 bytes, then a count a column."""
    with open(path, "rb") as file:
        return [int(n) for n in numpy.frombuffer(file.read(40 + 8 * COLUMNS), "<u8", COLUMNS, 40)]


# mkl_cbwr_get_auto_branch(): the numbers of MKL's header for the instructions that it takes by itself.
BRANCHES = {4: "sse2", 8: "sse4.2", 9: "avx", 10: "avx2", 12: "avx512", 14: "avx512_e1"}


def mkl():
    """MKL within PyTorch and the instructions that it takes on this CPU, as "mkl-2024.2:avx2"."""
    library = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"))
    text = ctypes.create_string_buffer(256)
    library.MKL_Get_Version_String(text, len(text))
    version = re.search(r"Version ([0-9.]+)", text.value.decode())
    branch = library.mkl_serv_cbwr_get_auto_branch()
    return f"mkl-{version[1] if version else 'unknown'}:{BRANCHES.get(branch, f'branch-{branch}')}"


def blas():
    """What multiplies fp32 matrices: MKL within PyTorch, or the library that PyTorch's own is linked with. NumPy brings one
    of its own, which PyTorch does not call."""
    if torch.backends.mkl.is_available():
        return mkl()
    with open("/proc/self/maps", encoding="utf-8") as file:
        found = {os.path.realpath(line.split()[-1]) for line in file if "blas" in line.rsplit("/", 1)[-1]}
    return ",".join(sorted(path for path in found if "/numpy.libs/" not in path and "cublas" not in path)) or "none"


def need_bf16():
    """Without instructions for bf16, PyTorch multiplies it one number at a time: minutes a step."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = set(next((line for line in file if line.startswith(("flags", "Features"))), "").split())
    if not flags & {"avx512_bf16", "amx_bf16", "bf16"}:
        raise ValueError("Cannot train in bf16: this CPU has none of avx512_bf16, amx_bf16 and bf16")


class Dense(torch.nn.Module):
    """All but the tables: the wide part and the layers over `width` inputs. sparse: gradients of the wide part."""

    def __init__(self, width, hidden, buckets, columns, sparse):
        super().__init__()
        self.wide = torch.nn.EmbeddingBag(columns * buckets, 1, mode="sum", sparse=sparse)
        self.wide_numeric = torch.nn.Linear(NUMERICS, 1, bias=False)
        for layer in (self.wide, self.wide_numeric):
            torch.nn.init.zeros_(layer.weight)
        layers = []
        for units in hidden:
            layers += [torch.nn.Linear(width, units), torch.nn.ReLU(inplace=True)]
            width = units
        self.deep = torch.nn.Sequential(*layers, torch.nn.Linear(width, 1))
        for layer in self.deep:
            if isinstance(layer, torch.nn.Linear):
                torch.nn.init.xavier_uniform_(layer.weight)
                torch.nn.init.zeros_(layer.bias)


class WideAndDeep(Dense):
    def __init__(self, counts, dims, hidden, buckets):
        super().__init__(NUMERICS + sum(dims), hidden, buckets, len(dims), sparse=True)
        self.tables = torch.nn.ModuleList(
            torch.nn.EmbeddingBag(max(count, 1), dim, mode="sum", sparse=True) for count, dim in zip(counts, dims)
        )
        for table in self.tables:
            torch.nn.init.trunc_normal_(table.weight, std=0.01, a=-0.02, b=0.02)

    def vectors(self, ids):
        return [table(ids[c]) for c, table in enumerate(self.tables)]

    def forward(self, numerics, ids, buckets):
        deep = self.deep(torch.cat([numerics, *self.vectors(ids)], 1))
        return (deep.float() + self.wide(buckets) + self.wide_numeric(numerics).float()).squeeze(1)


class Contender:
    model = None

    def prepare(self, options):
        threads = int(options.get("threads", 2))
        torch.set_num_threads(threads)
        path, rows, buckets = options["data"], int(options.get("batch", 2048)), int(options.get("buckets", 10000))
        dims = [int(dim) for dim in options.get("dims", "16").split(",")]
        dims = dims * COLUMNS if len(dims) == 1 else dims
        hidden = [int(units) for units in options.get("hidden", "1024,512,256").split(",")]
        self.bf16 = options.get("dtype", "fp32") == "bf16"
        if self.bf16:
            need_bf16()
        labels, numerics, keys = read_cache(path, torch.float32)
        starts = list(batch_starts(int(options.get("seed", 0)), len(labels), rows, int(options.get("batches", 64))))
        ids = [torch.from_numpy(numpy.unique(column, return_inverse=True)[1]) for column in keys]
        wide = mix64(keys.view(numpy.uint64)) % numpy.uint64(buckets)
        wide = torch.from_numpy(wide.astype(numpy.int64)) + torch.arange(COLUMNS).unsqueeze(1) * buckets
        self.batches = []
        for first in starts:
            at = slice(first, first + rows)
            columns, crossed = [column[at] for column in ids], wide[:, at].t().contiguous()
            self.batches.append((labels[at], numerics[at].contiguous(), self.indices(columns), crossed))
        self.step = 0
        facts = self.build(cardinalities(path), dims, hidden, buckets, options)
        return {"torch": torch.__version__, "threads": torch.get_num_threads(), "blas": blas(), **facts}

    def indices(self, columns):
        """A batch's ids of each column as the lookup takes them: one a bag."""
        return [column.unsqueeze(1).contiguous() for column in columns]

    def build(self, counts, dims, hidden, buckets, options):
        """Model and optimizers; facts for the answer."""
        torch.manual_seed(1)
        self.model = WideAndDeep(counts, dims, hidden, buckets)
        self.gradients = [torch.full((int(options.get("batch", 2048)), dim), 1e-5) for dim in dims]
        rate, first_sum = float(options["rate"]), float(options["accumulator"])
        dense = list(self.model.deep.parameters())
        self.optimizers = [
            torch.optim.Adagrad(dense, lr=rate, initial_accumulator_value=first_sum, eps=1e-30),
            torch.optim.Adagrad(
                [self.model.wide.weight, self.model.wide_numeric.weight],
                lr=float(options["wide_rate"]),
                initial_accumulator_value=float(options["wide_accumulator"]),
                eps=1e-30,
            ),
        ]
        self.of_tables = torch.optim.Adagrad(
            self.model.tables.parameters(), lr=rate, initial_accumulator_value=first_sum, eps=1e-30
        )
        return {}

    def next_batch(self):
        self.step += 1
        return self.batches[(self.step - 1) % len(self.batches)]

    def train_step(self):
        labels, numerics, ids, buckets = self.next_batch()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.bf16):
            logit = self.model(numerics, ids, buckets)
        loss = functional.binary_cross_entropy_with_logits(logit, labels)
        loss.backward()
        for optimizer in [*self.optimizers, self.of_tables]:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return loss.item()

    def embedding_step(self):
        torch.autograd.backward(self.model.vectors(self.next_batch()[2]), self.gradients)
        self.of_tables.step()
        self.of_tables.zero_grad(set_to_none=True)
        return 0.0

    def measure(self, step, steps):
        step()  # what the other contenders pushed out of the caches comes back
        cpu, start = processor_time(), time.monotonic()
        losses = [step() for _ in range(steps)]
        elapsed, cpu = time.monotonic() - start, processor_time() - cpu
        return {"seconds": elapsed / steps, "cpu": cpu / steps, "loss": sum(losses) / steps}

    def obey(self, verb, options):
        if verb == "prepare":
            return self.prepare(options)
        if self.model is None:
            raise ValueError(f'Cannot do "{verb}" before prepare')
        if verb == "train":
            return self.measure(self.train_step, int(options["steps"]))
        if verb == "embedding":
            return self.measure(self.embedding_step, int(options["steps"]))
        raise ValueError(f'Cannot do "{verb}"')


def processor_time():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main(contender):
    """Obeys until standard input ends."""
    for line in sys.stdin:
        verb, *words = line.split() or [""]
        if verb in ("", "quit"):
            continue
        try:
            answer = contender.obey(verb, dict(word.split("=", 1) for word in words))
            print("ok", *(f"{name}={value}" for name, value in answer.items()), flush=True)
        except (ValueError, KeyError, OSError, RuntimeError) as error:
            print("error", " ".join(f"{type(error).__name__}: {error}".split()), flush=True)


if __name__ == "__main__":
    main(Contender())
