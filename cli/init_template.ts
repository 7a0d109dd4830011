/**
 * The scenario that `tierbench init` writes: every field with its default and what it means.
 *
 * @param name Name of the scenario.
 * @param schema Path of the schema from the file's folder.
 */
export function scenarioTemplate(name: string, schema: string): string {
  return `// A scenario: what is trained, and the ways to hold its embedding tables that are compared.
// Only "name" and "configurations" are needed; everything else shows its default. All fields: docs/scenarios.md.
{
  "$schema": ${JSON.stringify(schema)},
  "version": 1,
  "name": ${JSON.stringify(name)},
  "about": "What this run is to find out",

  "workload": {
    "model": "wdl",
    // Generated rows in the shape of Criteo Kaggle. "scale" multiplies its 33,762,577 ids; "skew" says how often ids
    // repeat: criteo, oe-retail, zipf-1.1, zipf-1.2, uniform, or { "s": 1.05, "q": 2.7 }.
    "data": { "synthetic": "criteo-kaggle", "scale": 0.02, "rows": 1000000, "testRows": 100000, "skew": "criteo" },
    // Or your own rows in Criteo's format, plain or gzip:
    // "data": { "criteo": "day_0.tsv.gz", "format": "auto", "testEvery": 10, "maxRows": 0, "onError": "error" },
    // "numerics": "min-max" in either scales numbers as DeepRec does, instead of "log".
    "batch": 2048,
    "steps": "auto", // counted steps of each sample; "auto": as many as the budget allows
    "warmup": 10, // steps before them
    "dim": 16,
    // A table for each of C1 to C26, or tables of your own; several columns share one, or are a bag with one vector:
    // "tables": { "C1": {}, "places": { "columns": ["C2", "C3"] }, "seen": { "columns": ["C4", "C5"], "combiner": "mean" } },
    "hidden": [1024, 512, 256],
    "threads": "auto", // every CPU this process may use
    "optimizer": { "wide": "ftrl", "deep": "adagrad" },
    "initializer": "truncatedNormal"
  },

  "configurations": {
    // Plain DRAM: the baseline.
    "dram": { "storage": "DRAM" },
    // Hot rows in DRAM, the others in PMEM: a DAX file system through libpmem, or a NUMA node through memkind.
    // Where the medium is missing, "media" names the model it is emulated as.
    "fsdax": { "storage": "DRAM_PMEM", "pmem": "libpmem", "path": "auto", "media": "optane-100-6x256" },
    "kmem-dax": { "storage": "DRAM_PMEM", "pmem": "memkind", "nodes": "auto", "media": "optane-100-6x256" }
    // Hot rows in DRAM, the others on a disk: in files of our own form (SSDHASH) or in LevelDB (DRAM_LEVELDB).
    // "ssd": { "storage": "DRAM_SSDHASH", "ssdPath": "auto", "policy": "clock", "evictionThreads": 1 },
    // What a machine costs that holds the tables; without it the cheapest that hold "priceFor" are priced:
    // "bought": { "storage": "DRAM", "machine": { "components": { "dram": { "size": "64 GB", "count": 16 } } } },
    // The machine's DRAM as a cache in front of PMEM:
    // "memory-mode": { "storage": "DRAM", "memory": "memory-mode", "media": "optane-100-6x256" }
  },

  // DRAM of every configuration with a tier below it, such as "24 MiB"; "auto": a quarter of the tables, the most that is fair.
  "dram": "auto",
  "whenUnavailable": "emulate", // or "error", "skip"

  "repetitions": 3, // samples of each case, each in its own process
  "budget": "150 s", // of the whole run
  "quality": { "samples": "auto", "evaluations": 4, "testRows": 0 }, // the longer run that gives the AUC
  "cost": { "model": "cloud", "prices": "2026-11", "priceFor": "500 GB" },

  // Every combination of these is run, for example batch sizes:
  // "matrix": { "workload.batch": [512, 2048, 8192] },

  "seed": 0
}
`;
}
