/** Reads a trace as `tierbench curve` does, or as `tierbench profile` does, and tells the most memory that this process had. */

import { fitProfile, missRatioCurve, sampleTrace } from "../../../../mod.ts";

const [what = "", path = "", bytes = ""] = Deno.args;
let found = {};
if (what === "curve") {
  using sample = (await sampleTrace(path, { bytes: Number(bytes) })).keys;
  const { rate, bytes: took, lookups } = missRatioCurve({ keys: sample, sizes: [1000, 100_000] });
  found = { rate, took, lookups };
} else {
  const { tables } = await fitProfile(path, { name: "memory" });
  found = {
    rate: Math.max(...tables.map(({ rate }) => rate)),
    lookups: tables.reduce((sum, t) => sum + t.accesses, 0),
  };
}
const most = /VmHWM:\s*(\d+) kB/.exec(await Deno.readTextFile("/proc/self/status"))?.[1];
console.log(JSON.stringify({ ...found, most: Number(most) * 1024 }));
