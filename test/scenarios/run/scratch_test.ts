import { makeScratch, roomIn } from "../../../scenarios/run/scratch.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";

const GIB = 2 ** 30;
const TMPFS = { type: 0x01021994, bavail: 4 * GIB / 4096, bsize: 4096 };

Deno.test("roomIn() is what the file system and the memory leave, less a reserve", () => {
  assertEquals(roomIn(TMPFS, 8 * GIB), 3.5 * GIB);
  assertEquals(roomIn(TMPFS, 2 * GIB), 1.5 * GIB);
  assertEquals(roomIn({ ...TMPFS, bavail: 64 * 2 ** 20 / 4096 }, 8 * GIB), 0);
});

Deno.test("roomIn() is 0 where the directory is not in memory", () => {
  assertEquals(roomIn({ ...TMPFS, type: 0xef53 }, 8 * GIB), 0); // ext4
});

Deno.test("makeScratch() takes the disk when memory has no room, and removes what it made", async () => {
  let path: string;
  {
    await using scratch = await makeScratch(100, 99);
    assertEquals(scratch.medium, "disk");
    path = scratch.path;
    assert((await Deno.stat(path)).isDirectory);
  }
  await assertRejects(() => Deno.stat(path), Deno.errors.NotFound);
});
