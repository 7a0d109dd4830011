import "../native_library.ts";
import { tryKills } from "../../bench/crash/kills.ts";
import { assert, assertEquals } from "../assert.ts";

/** More in the nightly run. */
const KILLS = Number(Deno.env.get("TIERBENCH_KILLS") ?? 12);

Deno.test("training that is killed again and again ends as training that never was, to the bit", async () => {
  const folder = await Deno.makeTempDir({ prefix: "tierbench-kills-" });
  try {
    const { kills, ends, restored, wrong } = await tryKills({ kills: KILLS, seed: "kills", folder });
    assertEquals({ wrong, kills }, { wrong: [], kills: KILLS });
    assert(ends > 0 && restored > 0, `${ends} trainings ended, ${restored} processes took up a checkpoint`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
