import "../native_library.ts";
import { tryKills } from "../../bench/crash/kills.ts";
import { assert, assertEquals } from "../assert.ts";

/** More in the nightly run. */
const KILLS = Number(Deno.env.get("TIERBENCH_KILLS") ?? 12);

const PLACES = [undefined, "SSDHASH", "PMEM"] as const;

for (const inPlace of PLACES) {
  const from = inPlace === undefined ? "checkpoints" : `restore points in ${inPlace}`;
  Deno.test(`training that is killed again and again ends, from ${from}, as training that never was, to the bit`, async () => {
    const folder = await Deno.makeTempDir({ prefix: "tierbench-kills-" });
    try {
      const kills = Math.ceil(KILLS / PLACES.length);
      const found = await tryKills({ kills, seed: "kills", folder, ...(inPlace === undefined ? {} : { inPlace }) });
      assertEquals({ wrong: found.wrong, kills: found.kills }, { wrong: [], kills });
      const { ends, restored } = found;
      assert(ends > 0 && restored > 0, `${ends} trainings ended, ${restored} processes took up a checkpoint`);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}
