/**
 * The simulation that `tierbench init --kind simulation` writes: a small one that runs, and what its fields mean.
 *
 * @param name Name of the simulation.
 * @param schema Path of the schema from the file's folder.
 */
export function simulationTemplate(name: string, schema: string): string {
  return `// A simulation: training steps in virtual time over media models, on machines one does not own. All fields:
// docs/simulator.md. "tierbench run" runs it, "--set workload.batch=8192" tries another value.
{
  "$schema": ${JSON.stringify(schema)},
  "kind": "simulation",
  "name": ${JSON.stringify(name)},
  "about": "What this simulation is to find out",

  "workload": {
    "batch": 4096, // samples of one worker's step
    "tables": [
      // The words of plans. "profile": one that ships ("tierbench list"), the path of yours ("tierbench profile"), or
      // { "s": 1.05, "q": 10 } for (rank + q)^-s.
      { "name": "ids", "rows": 100000000, "dim": 64, "optimizer": "adagrad", "lookups": 26, "profile": "oe-retail" }
    ]
  },

  // Time that computing takes, and where it is from; "dense" may be that of a run: { "result": "reports/out/…/result.jsonl" }.
  "compute": { "dense": "10 ms", "on": "accelerator", "perRow": "60 ns", "perUpdate": "60 ns", "source": "an assumption" },

  "cluster": {
    "workers": 8,
    "workersPerHost": 4,
    "servers": 1, // 0: the tables are in the memory of the one machine that trains
    "cores": 32,
    "network": { "bandwidth": "100 Gbit/s", "latency": "20 us" }
  },

  // Media: models/media has those that ship, "tierbench calibrate" measures this machine's.
  "configurations": {
    "dram": { "mode": "dram", "tiers": [{ "media": "ddr5-4800-8ch" }] },
    "cxl": { "mode": "cxl", "tiers": [{ "media": "ddr5-4800-8ch", "size": "8 GB" }, { "media": "cxl-type3-ddr4" }] },
    "ssd": { "mode": "ssd", "tiers": [{ "media": "ddr5-4800-8ch", "size": "8 GB" }, { "media": "nvme-tlc" }] }
  },

  // What must be met, as in plans; the report says which configurations do:
  "target": { "samplesPerSecond": 500000 },

  // Every combination of these is a case, for example:
  "studies": [{ "name": "batches", "vary": { "workload.batch": [2048, 8192] } }],
  "seed": 0
}
`;
}
