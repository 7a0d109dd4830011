import * as fc from "fast-check";
import { rankLines, RankReader } from "../../../scenarios/run/rank_lines.ts";
import { assertEquals } from "../../assert.ts";

Deno.test("messages of ranks come whole out of a stream that a launcher mixed by blocks of 4096 bytes", () => {
  const said = fc.array(fc.string({ unit: "grapheme", maxLength: 6000 }), { maxLength: 4 });
  fc.assert(
    fc.property(fc.array(said, { minLength: 1, maxLength: 4 }), fc.array(fc.nat(3)), (ranks, turns) => {
      const encode = new TextEncoder();
      const left = ranks.map((messages, rank) =>
        encode.encode(messages.flatMap((message) => rankLines(rank, { type: "error", message })).join(""))
      );
      let stream = "";
      const take = (rank: number) => {
        const bytes = left[rank] ?? new Uint8Array();
        stream += new TextDecoder().decode(bytes.subarray(0, 4096));
        left[rank] = bytes.subarray(4096);
      };
      for (const turn of turns) take(turn % ranks.length);
      for (const rank of ranks.keys()) while ((left[rank]?.length ?? 0) > 0) take(rank);
      const heard: string[][] = ranks.map(() => []);
      const reader = new RankReader();
      for (const line of stream.split("\n").slice(0, -1)) {
        const read = reader.read(line);
        if (typeof read === "object" && read.message.type === "error") heard[read.rank]?.push(read.message.message);
      }
      assertEquals(heard, ranks.map((messages) => [...messages]));
    }),
    { numRuns: 40 },
  );
});

Deno.test("a line of a library or of the launcher is no message", () => {
  assertEquals(new RankReader().read("mpirun noticed that process rank 1 exited"), undefined);
  assertEquals(new RankReader().read("@1 a warning"), undefined);
  assertEquals(new RankReader().read('@1.{"type":"err@0.{"type":"error"}#   '), undefined); // torn
});
