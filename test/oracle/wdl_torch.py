"""Trains the library's models with PyTorch, as an oracle: other code, same mathematics.

    python3 wdl_torch.py FOLDER [--double]

FOLDER holds case.json (settings; test/oracle/run.ts writes it), train.bin and test.bin (cache files as
native/wdl/input/cache_format.h describes them) and initial/: NAME.f32 for each dense parameter, C<k>.keys (int64) and
C<k>.f32 (their rows) for the embedding tables, or other names where case.json lists tables. With "text" in case.json, rows
are read from rows.tsv, and their numbers transformed, here. Prints JSON: the loss of every step, AUC and logloss on test.bin, and how
far each parameter has moved (Euclidean norm of the difference to its initial values). --double computes in double
precision: what differs from a run without it is rounding.

Models are written down from their papers, gradients are autograd's. SGD, Adagrad and Adam are PyTorch's, and so are bags
and, for dense layers, AdamW. What PyTorch has not is written down here from its description: FTRL (McMahan et al., KDD
2013, in the form of TensorFlow's operator), DeepRec's AdagradDecay and AdamAsync, AdamW's decay of rows. PyTorch 1.13 and
later.
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
    groups = numpy.fromfile(path, GROUP_TYPE, -(-rows // GROUP), offset=PAGE)
    labels = groups["labels"].reshape(-1)[:rows]
    numerics = groups["numerics"].transpose(0, 2, 1).reshape(-1, NUMERICS)[:rows]
    keys = groups["keys"].transpose(1, 0, 2).reshape(COLUMNS, -1)[:, :rows]
    return torch.tensor(labels), torch.tensor(numerics, dtype=number), keys


MISSING = -1  # an id that the text does not have
HELD_OUT = 10  # each tenth row is in the test file

# DeepRec, modelzoo/wide_and_deep/train.py.
MINIMA = numpy.array([0, -3] + [0] * 11)
RANGES = numpy.array([1539, 22069, 65535, 561, 2655388, 233523, 26297, 5106, 24376, 9, 181, 1807, 6879])


def read_text(path, number, numerics, held_out):
    """As read_cache, of Criteo's text: tabs, no header, hexadecimal ids, empty fields."""
    with open(path, encoding="ascii") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    lines = [line for i, line in enumerate(lines, 1) if (i % HELD_OUT == 0) == held_out]
    labels = numpy.array([float(line[0]) for line in lines], "<f4")
    numbers = numpy.array([[float(cell or 0) for cell in line[1 : 1 + NUMERICS]] for line in lines])
    keys = numpy.array([[int(cell, 16) if cell else MISSING for cell in line[1 + NUMERICS :]] for line in lines], "<i8")
    if numerics == "log":
        numbers = numpy.sign(numbers) * numpy.log1p(numpy.abs(numbers)) / 2
    else:
        numbers = (numbers - MINIMA) / RANGES
    return torch.tensor(labels), torch.tensor(numbers, dtype=number), numpy.ascontiguousarray(keys.T)


def read(settings, folder, name, number):
    if "text" in settings:
        return read_text(f"{folder}/rows.tsv", number, settings["text"], name == "test")
    return read_cache(f"{folder}/{name}.bin", number)


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

    def __init__(self, folder, number, plans):
        self.plans, self.dense, self.keys, self.tables = plans, {}, [], []
        for name in sorted(os.listdir(folder)):
            stem, kind = os.path.splitext(name)
            if kind == ".f32" and not os.path.exists(f"{folder}/{stem}.keys"):
                self.dense[stem] = torch.tensor(numpy.fromfile(f"{folder}/{name}", "<f4"), dtype=number)
        for name in self.dense:
            if name.endswith(".w"):
                self.dense[name] = self.dense[name].reshape(-1, len(self.dense[name[:-1] + "b"]))
        for plan in plans:
            keys = numpy.fromfile(f"{folder}/{plan['name']}.keys", "<i8")
            rows = torch.tensor(numpy.fromfile(f"{folder}/{plan['name']}.f32", "<f4"), dtype=number)
            rows = rows.reshape(len(keys), -1)
            order = numpy.argsort(keys)
            self.keys.append(keys[order])
            self.tables.append(rows[torch.from_numpy(order)])
        self.began = {name: value.clone() for name, value in self.named()}
        for _, value in self.named():
            value.requires_grad_(True)

    def named(self):
        yield from self.dense.items()
        yield from ((plan["name"], table) for plan, table in zip(self.plans, self.tables))

    def ids(self, table, keys):
        """Rows of keys, and which keys have one."""
        at = numpy.searchsorted(self.keys[table], keys).clip(max=len(self.keys[table]) - 1)
        return torch.from_numpy(at), torch.from_numpy(self.keys[table][at] == keys)

    def vectors(self, keys):
        """Of the tables' columns, or of their bags, whose keys all have rows; keys is [26][samples]."""
        for t, (plan, table) in enumerate(zip(self.plans, self.tables)):
            chosen = keys[columns_of(plan)]
            if "combiner" not in plan:
                for column in chosen:
                    yield functional.embedding(self.ids(t, column)[0], table, sparse=True)
                continue
            present = chosen.T != MISSING
            counts = present.sum(1)
            ids, offsets = self.ids(t, chosen.T[present])[0], torch.from_numpy(numpy.cumsum(counts) - counts)
            mode = "mean" if plan["combiner"] == "mean" else "sum"
            bags = functional.embedding_bag(ids, table, offsets, mode=mode, sparse=True)
            if plan["combiner"] == "sqrtn":
                bags = bags / torch.tensor(numpy.maximum(counts, 1), dtype=bags.dtype).sqrt().unsqueeze(1)
            yield bags

    def vectors_read(self, keys):
        """As vectors, without a gradient, where a key without a row counts as zeros."""
        for t, (plan, table) in enumerate(zip(self.plans, self.tables)):
            chosen = keys[columns_of(plan)]
            each = []
            for column in chosen:
                ids, found = self.ids(t, column)
                each.append(table[ids] * found.unsqueeze(1))
            if "combiner" not in plan:
                yield from each
                continue
            present = torch.from_numpy(chosen != MISSING).to(table.dtype).unsqueeze(2)
            counts = present.sum(0).clamp(min=1)
            divisor = {"sum": torch.ones_like(counts), "mean": counts, "sqrtn": counts.sqrt()}[plan["combiner"]]
            yield (torch.stack(each) * present).sum(0) / divisor

    def wide(self):
        return [value for name, value in self.dense.items() if name.startswith("wide.")]

    def deep(self):
        return [value for name, value in self.dense.items() if not name.startswith("wide.")]

    def moved(self):
        return {name: float((value.detach().double() - self.began[name].double()).norm()) for name, value in self.named()}


def plans_of(settings):
    """The embedding tables: one for each column, if the case has no list."""
    return settings.get("tables", [{"name": f"C{c}", "columns": [f"C{c}"]} for c in range(1, COLUMNS + 1)])


def columns_of(plan):
    return [int(column[1:]) - 1 for column in plan["columns"]]


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
    pairs = sum((vectors[i] * vectors[j]).sum(1) for i in range(len(vectors)) for j in range(i))
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


class Rows:
    """A rule that is not PyTorch's: of dense parameters it steps all rows, of embedding tables those in the batch."""

    def __init__(self, parameters, state):
        self.state = [(w, [full(w) for full in state], torch.zeros(len(w), dtype=torch.int64)) for w in parameters]
        self.calls = 0

    @torch.no_grad()
    def step(self):
        self.calls += 1
        for w, slots, counts in self.state:
            gradient = w.grad
            if gradient.is_sparse:
                gradient = gradient.coalesce()
                ids, gradient = gradient.indices()[0], gradient.values()
            else:
                ids = torch.arange(len(w))
            new, *rest = self.rule(gradient, w[ids], *(slot[ids] for slot in slots), counts, ids)
            w[ids] = new
            for slot, value in zip(slots, rest):
                slot[ids] = value

    def zero_grad(self, set_to_none):
        for w, _, _ in self.state:
            w.grad = None


class AdagradDecay(Rows):
    """DeepRec's: a sum of squares decays once a period, but at most once each time that its row is stepped."""

    def __init__(self, parameters, rate, initial, decay):
        super().__init__(parameters, [lambda w: torch.full_like(w, initial)])
        self.rate, self.decay = rate, decay

    def rule(self, g, w, a, decays, ids):
        periods = (self.calls - 1) // self.decay["step"]
        due = decays[ids] < periods
        decays[ids] += due
        decayed = (a * self.decay["rate"]).clamp(min=self.decay["baseline"])
        a = torch.where(due.reshape(-1, *[1] * (w.dim() - 1)), decayed, a) + g**2
        return w - self.rate * g / a.sqrt(), a


class AdamAsync(Rows):
    """DeepRec's, with the powers of one worker: Kingma and Ba 2015 with epsilon hat, of the rows in the batch."""

    def __init__(self, parameters, rate, epsilon):
        super().__init__(parameters, [torch.zeros_like, torch.zeros_like])
        self.rate, self.epsilon = rate, epsilon

    def rule(self, g, w, m, v, _, ids):
        m = m + (1 - 0.9) * (g - m)
        v = v + (1 - 0.999) * (g**2 - v)
        alpha = self.rate * (1 - 0.999**self.calls) ** 0.5 / (1 - 0.9**self.calls)
        return w - alpha * m / (v.sqrt() + self.epsilon), m, v


class Decay(Rows):
    """Decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2) of the rows in the batch, before their step."""

    def __init__(self, parameters, share):
        super().__init__(parameters, [])
        self.share = share

    def rule(self, g, w, _, ids):
        return (w * (1 - self.share),)

    def zero_grad(self, set_to_none):
        pass  # the step that follows needs the gradients


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
        elif kind == "adagrad-decay":
            self.parts = [AdagradDecay([*dense, *tables], rate, settings["initialAccumulator"], settings["decay"])]
        elif kind == "adam-async":
            self.parts = [AdamAsync([*dense, *tables], rate, self.epsilon)]
        elif kind == "adamw":
            # PyTorch multiplies the decay by the learning rate, the algorithm by its schedule, which is 1.
            share = settings["weightDecay"]
            options = {"lr": rate, "betas": (0.9, 0.999), "eps": self.epsilon}
            self.adam = torch.optim.AdamW(dense, weight_decay=share / rate, **options)
            self.parts = [self.adam, Decay(tables, share), torch.optim.SparseAdam(tables, **options)]
        else:
            raise ValueError(f'Cannot train with optimizer "{kind}": it is not known')

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
    deep = Deep(settings, parameters.deep(), parameters.tables)
    wide = Ftrl(
        parameters.wide(), settings["wideRate"], settings["wideL1"], settings["wideL2"], settings["wideAccumulator"]
    )
    losses = []
    for first in batch_starts(settings["seed"], len(labels), batch, settings["steps"]):
        rows = slice(first, first + batch)
        vectors = list(parameters.vectors(keys[:, rows]))
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
    vectors = list(parameters.vectors_read(keys))
    logit = MODELS[settings["model"]](parameters, numerics, keys, vectors)
    loss = functional.binary_cross_entropy_with_logits(logit.double(), labels.double())
    return {"auc": auc(logit.numpy(), labels.numpy()), "logloss": loss.item()}


def main(folder, double):
    torch.set_num_threads(1)
    with open(f"{folder}/case.json", encoding="utf-8") as file:
        settings = json.load(file)
    number = torch.float64 if double else torch.float32
    parameters = Parameters(f"{folder}/initial", number, plans_of(settings))
    losses = train(settings, read(settings, folder, "train", number), parameters)
    quality = score(settings, read(settings, folder, "test", number), parameters)
    result = {"torch": torch.__version__, "losses": losses, **quality, "moved": parameters.moved()}
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["--double"]):
        sys.exit(__doc__)
    main(sys.argv[1], len(sys.argv) > 2)
