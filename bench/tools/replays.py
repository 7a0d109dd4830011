"""Replays streams of keys in libCacheSim and in tierbench's library, in turns, each on one core. Prints a JSON line for each stream,
size of the cache and policy: hits of both, and seconds of each round.

libCacheSim reads its requests from a mapped file of 24 bytes each; the library has 8 bytes a key in memory."""

import ctypes
import json
import sys
import time

import libcachesim
import numpy as np

LIBRARY, FOLDER, REQUESTS, ROUNDS = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
THEIRS = {
    "lru": libcachesim.LRU,
    "clock": libcachesim.Clock,
    "sieve": libcachesim.Sieve,
    "opt": libcachesim.Belady,
    "s3fifo": libcachesim.S3FIFO,
    "tinylfu": libcachesim.WTinyLFU,
}

replay = ctypes.CDLL(LIBRARY).ts_cache_replay
replay.argtypes = [
    ctypes.c_char_p,
    ctypes.c_uint64,
    ctypes.c_void_p,
    ctypes.c_uint64,
    ctypes.POINTER(ctypes.c_uint64),
    ctypes.c_char_p,
    ctypes.c_uint32,
]


def streams(n):
    random = np.random.default_rng(7)
    i = np.arange(n)

    def zipf(s, rows):
        weights = (np.arange(1, rows + 1) ** -float(s)).cumsum()
        return random.permutation(rows)[np.searchsorted(weights / weights[-1], random.random(n))]

    places = random.permutation(2_000_000)
    hot = zipf(1.0, 200_000)
    yield "Zipf 0.8", zipf(0.8, 1_000_000)
    yield "Zipf 1.0", zipf(1.0, 1_000_000)
    yield "Zipf 1.2", zipf(1.2, 1_000_000)
    yield "uniform", places[random.integers(0, 300_000, n)]
    yield "loop of 133,920", places[i % 133_920]
    yield "loop that nearly fits", places[i % 160_000]
    yield "slow drift", random.integers(0, 200_000, n) + i // 40
    yield "fast drift", random.integers(0, 200_000, n) + i // 4
    yield "scans", np.where(i % 20 < 10, places[random.integers(0, 50_000, n)], 3_000_000 + i)
    yield "rescans", np.where(i % 400_000 < 200_000, hot, 3_000_000 + i % 200_000)
    yield "epochs", np.concatenate([random.permutation(250_000) for _ in range(n // 250_000 + 1)])[:n]
    yield "Zipf that shifts", np.where(i < n // 2, hot, (hot + 100_000) % 200_000)
    yield "shuffled ranks", random.permutation(zipf(0.9, 500_000))
    yield "mixture", np.where(i % 3 == 0, places[i % 90_000], hot)
    yield "recent", np.where((i > 4000) & (i % 8 > 0), np.maximum(i - random.integers(1, 4000, n), 0) // 8 * 8, i)


def oracle(keys, path):
    """libCacheSim's file of a stream: the next access of each object among the rest."""
    n = len(keys)
    order = np.lexsort((np.arange(n), keys))
    following = np.full(n, -1, dtype=np.int64)
    same = keys[order[:-1]] == keys[order[1:]]
    following[order[:-1][same]] = order[1:][same]
    records = np.zeros(n, dtype=[("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
    records["time"], records["id"], records["size"], records["next"] = np.arange(n), keys, 1, following
    records.tofile(path)


def theirs(policy, size, path):
    cache = THEIRS[policy](size, hashpower=20)
    reader = libcachesim.TraceReader(trace=path, trace_type=libcachesim.TraceType.ORACLE_GENERAL_TRACE)
    start = time.perf_counter()
    misses, _ = cache.process_trace(reader)
    return time.perf_counter() - start, misses


def ours(policy, size, keys):
    hits, message = ctypes.c_uint64(), ctypes.create_string_buffer(512)
    start = time.perf_counter()
    status = replay(policy.encode(), size, keys.ctypes.data, len(keys), ctypes.byref(hits), message, len(message))
    seconds = time.perf_counter() - start
    if status != 0:
        sys.exit(message.value.decode())
    return seconds, hits.value


for name, made in streams(REQUESTS):
    keys = np.ascontiguousarray(made + 1, dtype=np.int64)
    path = f"{FOLDER}/stream.oracleGeneral"
    oracle(keys, path)
    for size in (2_000, 20_000, 150_000):
        for policy in THEIRS:
            rounds = [(theirs(policy, size, path), ours(policy, size, keys)) for _ in range(ROUNDS)]
            (_, misses), (_, hits) = rounds[0]
            told = {
                "stream": name,
                "size": size,
                "policy": policy,
                "requests": len(keys),
                "theirs": len(keys) - round(misses * len(keys)),
                "ours": hits,
                "seconds": [[them, us] for (them, _), (us, _) in rounds],
            }
            print(json.dumps(told), flush=True)
