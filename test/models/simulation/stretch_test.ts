// Draws of bands over media whose fit ended at a bound.

import "../../native_library.ts";
import { assert } from "../../assert.ts";
import { loadMedia } from "../../../models/media/media.ts";
import { runSimulation } from "../../../models/simulation/run.ts";

Deno.test("a medium whose further lines cost the least time there is has a band", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const media = `${folder}/own.jsonc`, { parameters } = await loadMedia("ddr4-2666-6ch");
    const least = { value: 0.001, from: [] };
    const own = { ...parameters, write_cached_next_latency_ns: least, read_next_latency_ns: least };
    const figures = { points: 9, curves: 1, factor: 1.3, bytes: [64, 4096], threads: [1, 64], hops: [0, 0] };
    await Deno.writeTextFile(
      media,
      JSON.stringify({
        name: "own",
        about: "",
        kind: "dram",
        parameters: own,
        measured: {
          host: "lab7",
          date: "2026-11-22",
          machine: {},
          virtual: false,
          commands: [],
          figures: {
            read: { ...figures, accesses: ["load"], readShare: [1, 1] },
            write: { ...figures, accesses: ["cached-store"], readShare: [0, 0] },
          },
        },
      }),
    );
    const { cases } = await runSimulation({
      kind: "simulation",
      name: "bound",
      workload: { batch: 256, tables: [{ name: "ids", rows: 1e5, dim: 64, lookups: 1, law: { s: 1 } }] },
      compute: { dense: 0, source: "an example" },
      configurations: { here: { mode: "dram", tiers: [{ media, size: "1 GiB" }] } },
    });
    const band = cases[0]?.band;
    assert(band !== undefined && "low" in band && band.low < 1 && band.high > 1, JSON.stringify(band));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
