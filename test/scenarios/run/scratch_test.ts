import { isInMemory } from "../../../machines/inventory/file_system.ts";
import { makeScratch, makeSsdScratch, roomIn } from "../../../scenarios/run/scratch.ts";
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
    await using scratch = await makeScratch(100, 0, 99);
    assertEquals(scratch.medium, "disk");
    path = scratch.path;
    assert((await Deno.stat(path)).isDirectory);
  }
  await assertRejects(() => Deno.stat(path), Deno.errors.NotFound);
});

Deno.test("makeSsdScratch() is a folder of its own on the disk that is named, and leaves nothing", async () => {
  const parent = await Deno.makeTempDir();
  try {
    let path: string;
    {
      await using one = await makeSsdScratch(parent);
      await using two = await makeSsdScratch(parent);
      assert(one.path.startsWith(`${parent}/`) && one.path !== two.path);
      assertEquals(one.medium, "disk");
      await Deno.writeTextFile(`${one.path}/0.log`, "rows");
      path = one.path;
    }
    await assertRejects(() => Deno.stat(path), Deno.errors.NotFound);
    assertEquals([...Deno.readDirSync(parent)], []);
  } finally {
    await Deno.remove(parent);
  }
  await using own = await makeSsdScratch();
  assertEquals(own.path.split("/").slice(-3, -1), [".cache", "ssd"]);
});

Deno.test("a file system is in memory by its type", () => {
  assert(isInMemory({ type: 0x01021994 }));
  assert(!isInMemory({ type: 0xef53 })); // ext4
});
