"""Trains the library's models with PyTorch, as an oracle: other code, same mathematics.

    python3 wdl_torch.py FOLDER [--double]

FOLDER holds case.json (settings; test/oracle/run.ts writes it), train.bin and test.bin (cache files as
native/wdl/input/cache_format.h describes them) and initial/: NAME.f32 for each dense parameter, C<k>.keys (int64) and
C<k>.f32 (their rows) for the embedding tables. Prints JSON: the loss of every step, AUC and logloss on test.bin, and how
far each parameter has moved (Euclidean norm of the difference to its initial values). --double computes in double
precision: what differs from a run without it is rounding.

Models are written down from their papers, gradients are autograd's. SGD, Adagrad and Adam are PyTorch's; FTRL, which
PyTorch has not, is McMahan et al., KDD 2013, in the form of TensorFlow's operator. PyTorch 1.13 and later.
"""

import json
import os
import sys

import numpy
import torch
import torch.nn.functional as functional

NUMERICS, COLUMNS = 13, 26
PAGE, GROUP = 4096, 1024
GROUP_TYPE = numpy.dtype(
    [("labels", "<f4", GROUP), ("numerics", "<f4", (NUMERICS, GROUP)), ("keys", "<i8", (COLUMNS, GROUP))]
)


# ---- data ----


def read_cache(path, number):
    """Labels [rows], numerics [rows][13], keys [26][rows]."""
    with open(path, "rb") as file:
        rows = int(numpy.frombuffer(file.read(24), "<u8", 1, 16)[0])
    groups = numpy.fromfile(path, GROUP_TYPE, offset=PAGE)
    labels = groups["labels"].reshape(-1)[:rows]
    numerics = groups["numerics"].transpose(0, 2, 1).reshape(-1, NUMERICS)[:rows]
    keys = groups["keys"].transpose(1, 0, 2).reshape(COLUMNS, -1)[:, :rows]
    return torch.tensor(labels), torch.tensor(numerics, dtype=number), keys


WORD = (1 << 64) - 1


def mix64(x):
    """The finaliser of SplitMix64 (Steele et al. 2014), of an array of uint64."""
    word = numpy.uint64
    x = (x ^ (x >> word(30))) * word(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> word(27))) * word(0x94D049BB133111EB)
    return x ^ (x >> word(31))


def random64(seed, stream, counter):
    """The library's counter-based random numbers."""

    def mixed(x):
        return int(mix64(numpy.array([x & WORD], numpy.uint64))[0])

    golden = 0x9E3779B97F4A7C15
    key = mixed(mixed(seed + golden) ^ (stream + 0xD1B54A32D192ED03 & WORD))
    return mixed(key + (counter + 1) * golden)


def batch_starts(seed, rows, batch, steps):
    """First row of the batch of each step: every pass over the file begins at an offset of its own and takes the
    batches in an order of its own."""
    batches = rows // batch
    order = int.from_bytes(b"order", "big")
    for step in range(steps):
        number, at = divmod(step, batches)
        if at == 0:
            offset = random64(seed, order, 3 * number) % (rows - batches * batch + 1)
            start = random64(seed, order, 3 * number + 1) % batches
            stride = 1 + random64(seed, order, 3 * number + 2) % batches
            while numpy.gcd(stride, batches) != 1:
                stride += 1
        yield offset + (at * stride + start) % batches * batch


# ---- parameters ----


class Parameters:
    """Dense parameters by name, embedding tables and their keys, and where they began."""

    def __init__(self, folder, number):
        self.dense, self.keys, self.tables = {}, [], []
        for name in sorted(os.listdir(folder)):
            stem, kind = os.path.splitext(name)
            if kind == ".f32" and not os.path.exists(f"{folder}/{stem}.keys"):
                self.dense[stem] = torch.tensor(numpy.fromfile(f"{folder}/{name}", "<f4"), dtype=number)
        for name in self.dense:
            if name.endswith(".w"):
                self.dense[name] = self.dense[name].reshape(-1, len(self.dense[name[:-1] + "b"]))
        for c in range(1, COLUMNS + 1):
            keys = numpy.fromfile(f"{folder}/C{c}.keys", "<i8")
            rows = torch.tensor(numpy.fromfile(f"{folder}/C{c}.f32", "<f4"), dtype=number).reshape(len(keys), -1)
            order = numpy.argsort(keys)
            self.keys.append(keys[order])
            self.tables.append(rows[torch.from_numpy(order)])
        self.began = {name: value.clone() for name, value in self.named()}
        for _, value in self.named():
            value.requires_grad_(True)

    def named(self):
        yield from self.dense.items()
        for c, table in enumerate(self.tables):
            yield f"C{c + 1}", table

    def ids(self, column, keys):
        """Rows of keys, and which keys have one."""
        at = numpy.searchsorted(self.keys[column], keys).clip(max=len(self.keys[column]) - 1)
        return torch.from_numpy(at), torch.from_numpy(self.keys[column][at] == keys)

    def wide(self):
        return [value for name, value in self.dense.items() if name.startswith("wide.")]

    def deep(self):
        return [value for name, value in self.dense.items() if not name.startswith("wide.")]

    def moved(self):
        return {name: float((value.detach().double() - self.began[name].double()).norm()) for name, value in self.named()}


# ---- models ----


def tower(parameters, prefix, x):
    """Fully connected layers, each with ReLU."""
    layer = 0
    while f"{prefix}.{layer}.w" in parameters.dense:
        x = torch.relu(x @ parameters.dense[f"{prefix}.{layer}.w"] + parameters.dense[f"{prefix}.{layer}.b"])
        layer += 1
    return x


def deep_logit(parameters, x):
    hidden = tower(parameters, "mlp", x)
    return (hidden @ parameters.dense["output.w"] + parameters.dense["output.b"]).squeeze(1)


def wide_logit(parameters, numerics, keys):
    """Linear in the numerics, and one weight for each hashed id."""
    logit = numerics @ parameters.dense["wide.numeric"]
    for c in range(COLUMNS):
        weights = parameters.dense[f"wide.C{c + 1}"]
        buckets = mix64(keys[c].view(numpy.uint64)) % numpy.uint64(len(weights))
        logit = logit + weights[torch.from_numpy(buckets.astype(numpy.int64))]
    return logit


def wide_and_deep(parameters, numerics, keys, vectors):
    """Cheng et al. 2016."""
    return deep_logit(parameters, torch.cat([numerics, *vectors], 1)) + wide_logit(parameters, numerics, keys)


def deepfm(parameters, numerics, keys, vectors):
    """Guo et al. 2017: pairs of embeddings, each product once, beside the deep and the linear part."""
    pairs = sum((vectors[i] * vectors[j]).sum(1) for i in range(COLUMNS) for j in range(i))
    return wide_and_deep(parameters, numerics, keys, vectors) + pairs


def dlrm(parameters, numerics, keys, vectors):
    """Naumov et al. 2019: dot products of the bottom tower's output and the embeddings, then the top tower."""
    bottom = tower(parameters, "bottom", numerics)
    points = [bottom, *vectors]
    dots = [(points[i] * points[j]).sum(1, keepdim=True) for i in range(len(points)) for j in range(i)]
    return deep_logit(parameters, torch.cat([bottom, *dots], 1))


MODELS = {"wdl": wide_and_deep, "deepfm": deepfm, "dlrm": dlrm}


# ---- optimizers ----


class Ftrl:
    """FTRL-proximal for each coordinate, learning rate power -1/2."""

    def __init__(self, parameters, rate, l1, l2, initial_accumulator):
        self.rate, self.l1, self.l2 = rate, l1, l2
        self.state = [(w, torch.full_like(w, initial_accumulator), torch.zeros_like(w)) for w in parameters]

    @torch.no_grad()
    def step(self):
        for w, n, z in self.state:
            sigma = ((n + w.grad**2).sqrt() - n.sqrt()) / self.rate
            z += w.grad - sigma * w
            n += w.grad**2
            shrunk = torch.sign(z) * self.l1 - z
            w.copy_(torch.where(z.abs() <= self.l1, torch.zeros_like(z), shrunk / (n.sqrt() / self.rate + 2 * self.l2)))
            w.grad = None


class Deep:
    """Optimizer of embeddings and dense layers."""

    def __init__(self, settings, dense, tables):
        kind, rate = settings["optimizer"], settings["learningRate"]
        self.count, self.epsilon = 0, settings.get("epsilon", 1e-8)
        self.adam = None
        if kind == "sgd":
            self.parts = [torch.optim.SGD([*dense, *tables], lr=rate)]
        elif kind == "adagrad":
            initial = settings["initialAccumulator"]
            # TensorFlow and DeepRec have no epsilon.
            self.parts = [torch.optim.Adagrad([*dense, *tables], lr=rate, initial_accumulator_value=initial, eps=0)]
        elif kind == "adam":
            # Only rows in the batch step, with the powers of all steps: SparseAdam.
            self.adam = torch.optim.Adam(dense, lr=rate, betas=(0.9, 0.999), eps=self.epsilon)
            self.parts = [self.adam, torch.optim.SparseAdam(tables, lr=rate, betas=(0.9, 0.999), eps=self.epsilon)]
        else:
            raise ValueError(f'Cannot train with optimizer "{kind}": expected sgd, adagrad or adam')

    def step(self):
        self.count += 1
        if self.adam is not None:
            # Kingma and Ba's "epsilon hat" (section 2), which TensorFlow and SparseAdam have: added to sqrt(v) before its
            # correction. PyTorch's Adam adds it after that.
            self.adam.param_groups[0]["eps"] = self.epsilon / (1 - 0.999**self.count) ** 0.5
        for part in self.parts:
            part.step()
            part.zero_grad(set_to_none=True)


# ---- training and scoring ----


def auc(scores, labels):
    """Share of (positive, negative) pairs in the right order, ties counting half: Mann and Whitney's U."""
    _, inverse, counts = numpy.unique(scores, return_inverse=True, return_counts=True)
    ranks = (numpy.cumsum(counts) - (counts - 1) / 2)[inverse]
    positives = int((labels > 0).sum())
    u = ranks[labels > 0].sum() - positives * (positives + 1) / 2
    return float(u / (positives * (len(labels) - positives)))


def train(settings, data, parameters):
    labels, numerics, keys = data
    model, batch = MODELS[settings["model"]], settings["batch"]
    ids = [parameters.ids(c, keys[c])[0] for c in range(COLUMNS)]
    deep = Deep(settings, parameters.deep(), parameters.tables)
    wide = Ftrl(
        parameters.wide(), settings["wideRate"], settings["wideL1"], settings["wideL2"], settings["wideAccumulator"]
    )
    losses = []
    for first in batch_starts(settings["seed"], len(labels), batch, settings["steps"]):
        rows = slice(first, first + batch)
        vectors = [functional.embedding(ids[c][rows], parameters.tables[c], sparse=True) for c in range(COLUMNS)]
        logit = model(parameters, numerics[rows], keys[:, rows], vectors)
        # The mean of hundreds of losses in double precision: rounding of the logits remains.
        loss = functional.binary_cross_entropy_with_logits(logit.double(), labels[rows].double())
        loss.backward()
        deep.step()
        wide.step()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def score(settings, data, parameters):
    labels, numerics, keys = data
    vectors = []
    for c in range(COLUMNS):
        ids, found = parameters.ids(c, keys[c])
        vectors.append(parameters.tables[c][ids] * found.unsqueeze(1))  # a key without a row counts as zeros
    logit = MODELS[settings["model"]](parameters, numerics, keys, vectors)
    loss = functional.binary_cross_entropy_with_logits(logit.double(), labels.double())
    return {"auc": auc(logit.numpy(), labels.numpy()), "logloss": loss.item()}


def main(folder, double):
    torch.set_num_threads(1)
    with open(f"{folder}/case.json", encoding="utf-8") as file:
        settings = json.load(file)
    number = torch.float64 if double else torch.float32
    parameters = Parameters(f"{folder}/initial", number)
    losses = train(settings, read_cache(f"{folder}/train.bin", number), parameters)
    quality = score(settings, read_cache(f"{folder}/test.bin", number), parameters)
    result = {"torch": torch.__version__, "losses": losses, **quality, "moved": parameters.moved()}
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["--double"]):
        sys.exit(__doc__)
    main(sys.argv[1], len(sys.argv) > 2)
