"""Writes traces with the tools that others use, ten files of each form, and beside each what that tool itself reads back from it:
int64 keys of each table. `files.json` lists them: {file, form, columns, tables: {name: keys file}}."""

import json
import os
import sys

import fastparquet
import libcachesim
import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import torch

FILES = 10
folder = sys.argv[1]
listed = []


def stream(seed, n=None, high=1 << 40):
    random = np.random.default_rng(seed)
    n = int(random.integers(1000, 9000)) if n is None else n
    return (random.zipf(1.2, n).astype(np.uint64) * 2654435761 % high).astype(np.int64)


def tell(form, file, tables, columns=None):
    told = {}
    for name, keys in tables.items():
        told[name] = f"{file}.{name}.keys"
        np.ascontiguousarray(keys).astype(np.int64).tofile(f"{folder}/{told[name]}")
    listed.append({"file": file, "form": form, "columns": columns, "tables": told})


def numpy_arrays():
    types = ["<i8", "<i4", "<u4", "<i2", "<u2", "u1", "<u8", ">i8", ">i4", ">u2"]
    for i in range(FILES):
        keys, file = stream(i, high=np.iinfo(types[i]).max), f"array_{i}.npy"
        if i in (2, 7):  # two columns
            keys = np.stack([keys, stream(50 + i, len(keys), 1000)], axis=1)
            np.save(f"{folder}/{file}", np.asarray(keys.astype(types[i]), order="F" if i == 7 else "C"))
            tell("npy", file, {"keys": np.load(f"{folder}/{file}")[:, 0]}, "key=1")
            continue
        np.save(f"{folder}/{file}", keys.astype(types[i]))
        tell("npy", file, {"keys": np.load(f"{folder}/{file}")})


def numpy_archives():
    for i in range(FILES):
        file = f"archive_{i}.npz"
        save = np.savez_compressed if i % 2 else np.savez
        save(f"{folder}/{file}", **{f"t{j}": stream(100 + 10 * i + j, 900 + 100 * i) for j in range(1 + i % 4)})
        with np.load(f"{folder}/{file}") as back:
            arrays = {name: back[name] for name in back.files}
        one = len(arrays) == 1
        tell("npz", file, {"keys": arrays["t0"]} if one else arrays, None if one else "key=*")


def tensors():
    types = [torch.int64, torch.int32, torch.int16, torch.uint8, torch.int64]
    for i in range(FILES):
        file, kind = f"tensor_{i}.pt", types[i % 5]
        keys = torch.from_numpy(stream(200 + i, high=int(torch.iinfo(kind).max))).to(kind)
        torch.save(keys, f"{folder}/{file}", _use_new_zipfile_serialization=i < 7)
        tell("torch", file, {"keys": torch.load(f"{folder}/{file}").to(torch.int64).numpy()})


def requests():
    for i in range(FILES):
        file, tables, samples = f"requests_{i}.pt", 1 + i, 40 + 10 * i
        random = np.random.default_rng(300 + i)
        lengths = torch.from_numpy(random.integers(0, 9, (tables, samples)))
        offsets = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.flatten().cumsum(0)])
        indices = torch.from_numpy(stream(400 + i, int(offsets[-1]), 1 << 31))
        if i % 3 == 1:
            indices, offsets = indices.to(torch.int32), offsets.to(torch.int32)
        torch.save((indices, offsets, lengths), f"{folder}/{file}")
        # As FBGEMM's benchmarks take them apart: a table's bags lie side by side.
        indices, offsets, lengths = torch.load(f"{folder}/{file}")
        begins = offsets.view(-1)[:-1].view(lengths.shape)[:, 0].tolist() + [int(offsets[-1])]
        tell("requests", file, {f"table{t}": indices[begins[t] : begins[t + 1]].numpy() for t in range(tables)})


def parquets():
    packings = ["none", "snappy", "gzip", "zstd", "lz4", "none", "snappy", "gzip", "zstd", "lz4"]
    for i in range(FILES):
        file, n = f"pyarrow_{i}.parquet", 3000 + 500 * i
        key = stream(500 + i, n, 1 << (30 if i % 2 else 50))
        table = pa.table(
            {
                "time": np.arange(n),
                "item_id": pa.array(key, type=[pa.int64(), pa.int32(), pa.int64(), pa.uint32()][i % 4]),
                "score": np.random.default_rng(i).random(n),
            }
        )
        if i >= 8:
            cuts = np.sort(np.random.default_rng(i).integers(0, n, 300))
            table = pa.table({"item_id": pa.ListArray.from_arrays(np.concatenate([[0], cuts, [n]]).astype(np.int32), pa.array(key))})
        pq.write_table(
            table,
            f"{folder}/{file}",
            compression=packings[i],
            use_dictionary=i % 3 != 0,
            data_page_version="2.0" if i % 2 else "1.0",
            row_group_size=1000 + 700 * i,
            data_page_size=2048,
        )
        back = pq.read_table(f"{folder}/{file}", columns=["item_id"])["item_id"].combine_chunks()
        back = back.flatten() if i >= 8 else back
        tell("parquet (pyarrow)", file, {"keys": back.to_numpy(zero_copy_only=False)}, "key=item_id")
    for i in range(FILES):
        file, n = f"fastparquet_{i}.parquet", 2000 + 300 * i
        frame = pandas.DataFrame({"when": np.arange(n), "key": stream(600 + i, n, 1 << (30 if i % 2 else 45))})
        frame["key"] = frame["key"].astype("int32" if i % 2 else "int64")
        fastparquet.write(
            f"{folder}/{file}",
            frame,
            compression=["UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "BROTLI", "LZ4"][i % 6],
            row_group_offsets=[0, n // 2] if i % 3 == 0 else None,
        )
        back = fastparquet.ParquetFile(f"{folder}/{file}").to_pandas(columns=["key"])["key"].to_numpy()
        tell("parquet (fastparquet)", file, {"keys": back}, "key=key")
    for i in range(FILES):
        file, n = f"polars_{i}.parquet", 2000 + 300 * i
        frame = polars.DataFrame({"at": np.arange(n), "item": stream(700 + i, n, 1 << (30 if i % 2 else 45))})
        packing = ["uncompressed", "snappy", "gzip", "zstd", "lz4"][i % 5]
        frame.write_parquet(f"{folder}/{file}", compression=packing, row_group_size=700, use_pyarrow=False)
        tell("parquet (polars)", file, {"keys": polars.read_parquet(f"{folder}/{file}")["item"].to_numpy()}, "key=item")


def texts():
    for i in range(FILES):
        file, n = f"text_{i}.csv", 1500 + 100 * i
        frame = polars.DataFrame({"time": np.arange(n), "item_id": stream(800 + i, n), "size": np.full(n, 7)})
        if i % 2:
            frame.write_csv(f"{folder}/{file}", separator=[",", "\t", ";", "|"][i // 2 % 4])
        else:
            frame.to_pandas().to_csv(f"{folder}/{file}", index=False, sep=[",", "\t", ";", "|"][i // 2 % 4])
        back = pandas.read_csv(f"{folder}/{file}", sep=[",", "\t", ";", "|"][i // 2 % 4])["item_id"].to_numpy()
        tell("text", file, {"keys": back}, "time=time,key=item_id")


def oracles():
    kinds = libcachesim.TraceType
    for i in range(FILES):
        text, file = f"{folder}/oracle_{i}.csv", f"oracle_{i}.oracleGeneral"
        keys = stream(900 + i)
        with open(text, "w") as out:
            out.writelines(f"{at},{key},{1}\n" for at, key in enumerate(keys))
        init = libcachesim.ReaderInitParam()
        init.time_field, init.obj_id_field, init.obj_size_field = 1, 2, 3
        init.has_header, init.delimiter, init.obj_id_is_num = False, ",", True
        reader = libcachesim.TraceReader(trace=text, trace_type=kinds.CSV_TRACE, reader_init_params=init)
        libcachesim.Util.convert_to_oracleGeneral(reader._reader, f"{folder}/{file}", False, False)
        os.remove(text)
        back = libcachesim.TraceReader(trace=f"{folder}/{file}", trace_type=kinds.ORACLE_GENERAL_TRACE)
        tell("oracleGeneral", file, {"keys": np.array([request.obj_id for request in back], dtype=np.int64)})


def odd_ones():
    """A form that is known and not read: it is to be refused in words that say what to do."""
    keys = stream(1000, 500)
    view = torch.from_numpy(keys.repeat(3))[::3]
    torch.save(view, f"{folder}/strided.pt")
    tell("refused on purpose", "strided.pt", {"keys": view.numpy()})


for write in (odd_ones, numpy_arrays, numpy_archives, tensors, requests, parquets, texts, oracles):
    write()
with open(f"{folder}/files.json", "w") as out:
    json.dump(listed, out)
