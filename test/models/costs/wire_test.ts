/**
 * What crosses the network for a sample: the bill's question of more traffic and the function that knows what a step costs in
 * virtual time send the same bytes.
 */

import "../../native_library.ts";
import { stepCost } from "../../../ffi/step_cost.ts";
import { serversNeeded } from "../../../models/costs/traffic.ts";
import { GIB } from "../../../models/costs/cost_model.ts";
import type { Instance } from "../../../models/costs/price_book.ts";
import { loadMedia } from "../../../models/media/media.ts";
import { fillSimulation } from "../../../models/simulation/resolve.ts";
import { engineOptionsOn } from "../../../models/simulation/native_options.ts";
import { assert, assertEquals } from "../../assert.ts";

/** A machine of so many GB/s whose memory holds everything. */
const machine = (networkGBs: number): Instance => ({
  provider: "p",
  name: "m",
  role: "memory",
  vcpus: 64,
  dramGib: 1e6,
  pmemGib: 0,
  networkGBs,
  pricePerHour: 1,
  from: "2026",
  to: "2026",
  region: "r",
  source: "s",
  mark: "V",
  note: "",
  file: "f",
  own: false,
});

Deno.test("serversNeeded() buys the link that ts_step_cost finds busiest, for any shape of tables", async () => {
  const media = [await loadMedia("ddr5-4800-8ch")];
  const [batch, bandwidth] = [1000, 1e9];
  for (const [dim, lookups, distinctShare] of [[16, 26, 0.4], [64, 8, 1], [128, 1, 0.05], [8, 100, 0.7]] as const) {
    const simulation = fillSimulation({
      kind: "simulation",
      name: "t",
      workload: { batch, tables: [{ name: "t", rows: 1e6, dim, lookups, law: { s: 0 } }] },
      compute: { dense: 0, on: "accelerator", source: "none" },
      cluster: { servers: 1, workers: 1, network: { bandwidth, latency: 0 } },
      configurations: { one: { mode: "dram", tiers: [{ media: "ddr5-4800-8ch" }] } },
    }, ".");
    const distinct = batch * lookups * distinctShare;
    const demand = { tables: [{ distinct, variance: 0, all: distinct, inTier: [distinct], seen: [] }] };
    const [set] = Object.values(simulation.configurations);
    assert(set !== undefined);
    const none = { faults: 0, migrations: 0, flushedRows: 0 };
    const { busy, netBytes } = stepCost(engineOptionsOn(media, simulation, set, demand, 0, none));
    const held = (on: string) => busy.filter((one) => one.on === on).reduce((sum, { ps }) => sum + ps, 0) * 1e-12;
    const [up, down] = ["server link in", "server link out"].map((on) => held(on) * bandwidth / batch) as [
      number,
      number,
    ];
    assert(Math.abs((up + down) * batch / netBytes - 1) < 1e-3, "both directions are all bytes");
    // Samples a second that fill ten such links: the need is ten machines of it, and eleven just above.
    const traffic = 10 * bandwidth / Math.max(up, down);
    const at = (share: number) =>
      serversNeeded(
        [machine(bandwidth / 1e9)],
        { dramBytes: GIB, pmemBytes: 0, memoryMode: false },
        traffic * share,
        { lookups, dim, weightBytes: 4, distinctShare },
        0.9,
      )[0];
    assertEquals([at(0.999)?.machines, at(1.001)?.machines, at(1)?.limit], [10, 11, "network"]);
  }
});
