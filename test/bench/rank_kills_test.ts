import "../native_library.ts";
import { installedMpis } from "../../bench/ranks/jobs.ts";
import { killRanks, killsTable } from "../../bench/ranks/kills.ts";
import type { Mpi } from "../../ffi/ranks.ts";
import { assertEquals } from "../assert.ts";

const here: readonly Mpi[] = await installedMpis().catch(() => []);

for (const mpi of ["openmpi", "mpich"] as const) {
  const ignore = !here.includes(mpi);
  const why = ignore ? ` (skipped: no ${mpi})` : "";
  Deno.test(`${mpi}: a rank of three or four that is killed is named, and nobody is left within ten seconds${why}`, {
    ignore,
  }, async () => {
    const kills = await killRanks([mpi], 3, `kills of ${mpi}`);
    assertEquals(kills.flatMap(({ wrong }) => wrong), []);
    assertEquals(kills.map(({ ranks, when }) => [ranks, when]), [[3, "training"], [4, "at start"], [3, "training"]]);
  });
}

Deno.test("killsTable() counts jobs of a shape that ended as they must, and has the longest", () => {
  const kill = {
    mpi: "mpich",
    ranks: 3,
    servers: 1,
    mode: "async",
    when: "training",
    seconds: 0.5,
    wrong: [],
  } as const;
  const table = killsTable([kill, { ...kill, when: "at start", seconds: 12, wrong: ["it ended after 12.0 s"] }]);
  assertEquals(table.slice(1), [["mpich", "3", "1", "async", "2", "1", "1", "12.0 s"]]);
});
