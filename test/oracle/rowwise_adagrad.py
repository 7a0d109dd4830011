"""Steps rows with FBGEMM's EXACT_ROWWISE_ADAGRAD (fbgemm-gpu-cpu) and prints what it makes of them, as an oracle.

    python3 rowwise_adagrad.py > ../fixtures/rowwise_adagrad.json

Each case is a table of ROWS rows of `dim` weights that begin with 0.5 and take STEPS steps with the gradients of `gradient`,
row ROWS - 1 twice a step (its gradients are summed first). Weights and sums after the first and the last step are printed as
their little-endian floats in base64.
"""

import base64
import json

import fbgemm_gpu
import numpy
import torch
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from fbgemm_gpu.split_table_batched_embeddings_ops_common import EmbeddingLocation
from fbgemm_gpu.split_table_batched_embeddings_ops_training import ComputeDevice, SplitTableBatchedEmbeddingBagsCodegen

ROWS, STEPS, LEARNING_RATE, EPSILON = 4, 5, 0.125, 1e-8
DIMS = [4, 8, 12, 16, 20, 32, 64, 100, 128]


def gradient(row, element, step):
    """A float with 24 random bits, smaller for later rows; the test computes it alike."""
    x = (row * 7919 + element * 104729 + step * 1299709 + 12345) * 2654435761 % 2**32
    return ((x >> 8) / 2**23 - 1) * 2.0 ** -(3 * row)


def floats(tensor):
    return base64.b64encode(tensor.detach().numpy().astype("<f4").tobytes()).decode()


def run(dim):
    table = SplitTableBatchedEmbeddingBagsCodegen(
        [(ROWS, dim, EmbeddingLocation.HOST, ComputeDevice.CPU)],
        optimizer=EmbOptimType.EXACT_ROWWISE_ADAGRAD,
        learning_rate=LEARNING_RATE,
        eps=EPSILON,
    )
    with torch.no_grad():
        table.split_embedding_weights()[0].fill_(0.5)
    rows = [*range(ROWS), ROWS - 1]
    states = []
    for step in range(1, STEPS + 1):
        out = table(torch.tensor(rows), torch.arange(len(rows) + 1))
        gradients = [[gradient(i, j, step) for j in range(dim)] for i in range(len(rows))]
        out.backward(torch.tensor(numpy.array(gradients, dtype="f4")))
        if step in (1, STEPS):
            weights, sums = table.split_embedding_weights()[0], table.split_optimizer_states()[0][0]
            states.append({"step": step, "weights": floats(weights), "sums": floats(sums)})
    return {"dim": dim, "states": states}


print(json.dumps({
    "how": "python3 test/oracle/rowwise_adagrad.py",
    "torch": torch.__version__.split("+")[0],
    "fbgemm": fbgemm_gpu.__version__,
    "cpu": torch.backends.cpu.get_cpu_capability(),
    "rows": ROWS, "steps": STEPS, "learningRate": LEARNING_RATE, "epsilon": EPSILON,
    "cases": [run(dim) for dim in DIMS],
}))
