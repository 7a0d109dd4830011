import "../native_library.ts";
import { tryKills } from "../../bench/crash/kills.ts";
import { assert, assertEquals } from "../assert.ts";

/** Processes killed of each storage type. More in the nightly run. */
const EACH = Number(Deno.env.get("TIERBENCH_KILLS") ?? 1);

/** Checkpoints go from any type to any other; here to one of each kind of last tier. */
const PLACES = [
  { from: "checkpoints", only: { storages: ["DRAM", "DRAM_LEVELDB", "DRAM_PMEM_SSDHASH", "PMEM_LIBPMEM"] } },
  { from: "restore points in SSDHASH", only: { inPlace: "SSDHASH" } },
  { from: "restore points in PMEM", only: { inPlace: "PMEM" } },
] as const;

for (const { from, only } of PLACES) {
  Deno.test(`training that is killed again and again ends, from ${from}, as training that never was, to the bit`, async () => {
    const folder = await Deno.makeTempDir({ prefix: "tierbench-kills-" });
    try {
      const found = await tryKills({ each: EACH, seed: "kills", folder, ...only });
      assertEquals({ wrong: found.wrong, few: few(found.killed) }, { wrong: [], few: [] });
      const { ends, restored } = found;
      assert(ends > 0 && restored > 0, `${ends} trainings ended, ${restored} processes took up a checkpoint`);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

/** Storage types of which fewer were killed than asked for. */
function few(killed: Readonly<Record<string, number>>): string[] {
  return Object.keys(killed).filter((storage) => killed[storage] !== EACH);
}
