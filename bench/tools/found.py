"""What other people's files hold, as their own tools read them. Takes a folder and a JSON file that lists what was found
({file, package}); links each file into the folder and writes beside it int64 keys of every column of whole numbers.
`files.json` lists them: {file, form, package, columns, tables: {name: keys file}}; a file without such a column has no tables."""

import gzip
import json
import os
import sys
import warnings

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import torch

folder, found = sys.argv[1:]
listed = []
WHOLE = "iu"
warnings.simplefilter("ignore")  # NumPy and PyTorch warn of old headers


class NoKeys(Exception):
    """No column of whole numbers."""


def numpy_array(array, column=None):
    """(columns, table, keys) of an array: of one dimension itself, of two its first and its last column."""
    if array.dtype.kind not in WHOLE or array.ndim not in (1, 2) or array.size == 0:
        return
    if array.ndim == 1:
        yield column, "keys", array
        return
    for at in sorted({0, array.shape[1] - 1}):
        yield f"key={at + 1}", "keys", array[:, at]


def npy(path):
    yield from numpy_array(np.load(path, allow_pickle=False))


def npz(path):
    with np.load(path, allow_pickle=False) as archive:
        for name in archive.files:
            try:
                array = archive[name]
            except ValueError:  # pickled objects
                continue
            if array.ndim == 1:
                table = name if len(archive.files) > 1 else "keys"
                yield from ((column, table, keys) for column, _, keys in numpy_array(array, f"key={name}"))


def torch_file(path):
    # Protocols of pickle that torch.load() refuses to read safely are read all the same: the packages are fixed by version (Go's by sum, too).
    tensor = torch.load(path, weights_only=False)
    if isinstance(tensor, torch.Tensor):
        if tensor.dtype.is_floating_point or tensor.dtype == torch.bool:
            raise NoKeys
        yield from numpy_array(tensor.numpy())


def parquet(path):
    file = pq.ParquetFile(path)
    for field in file.schema_arrow:
        inner = field.type.value_type if pa.types.is_list(field.type) else field.type
        if not pa.types.is_integer(inner):
            continue
        column = file.read([field.name])[field.name].combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], field.type)
        if column.null_count > 0 or len(column) == 0:
            continue
        keys = column.flatten() if pa.types.is_list(field.type) else column
        if keys.null_count == 0 and len(keys) > 0:
            yield f"key={field.name}", "keys", keys.to_numpy(zero_copy_only=False)


def text(path):
    frame = pandas.read_csv(path, sep="\t" if path.endswith(".inter") else ",")
    if not isinstance(frame.index, pandas.RangeIndex):  # lines have more fields than the first, which pandas takes for names of lines
        raise NoKeys
    for at, name in enumerate(frame.columns):
        if frame[name].dtype.kind in WHOLE and ":float" not in name:
            yield f"key={at + 1}", "keys", frame[name].to_numpy()


def lirs(path):
    """A key a line, as ristretto's simulator reads it."""
    with gzip.open(path, "rt") as lines:
        keys = [int(line) for line in lines if line.strip().isdigit()]
    yield None, "keys", np.array(keys)


READERS = {
    ".npy": ("npy", npy),
    ".npz": ("npz", npz),
    ".pt": ("torch", torch_file),
    ".pth": ("torch", torch_file),
    ".parquet": ("parquet", parquet),
    ".inter": ("text", text),
    ".csv": ("text", text),
    ".lirs.gz": ("text", lirs),
}

for number, one in enumerate(json.load(open(found))):
    suffix = next((ending for ending in READERS if one["file"].endswith(ending)), None)
    if suffix is None:
        continue
    form, reader = READERS[suffix]
    file = f"{number}_{os.path.basename(one['file'])}"
    os.symlink(one["file"], f"{folder}/{file}")
    told = {"file": file, "form": form, "package": one["package"]}
    columns = []
    try:
        for column, table, keys in reader(one["file"]):
            path = f"{file}.{len(columns)}.keys"
            np.ascontiguousarray(keys).astype(np.uint64 if keys.dtype.kind == "u" else np.int64).tofile(f"{folder}/{path}")
            columns.append({**told, "columns": column, "tables": {table: path}})
    except Exception as error:  # whatever their tool says of their own broken files
        columns = []
        told["refusal"] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    listed.extend(columns or [{**told, "columns": None, "tables": {}}])

with open(f"{folder}/files.json", "w") as out:
    json.dump(listed, out)
