import "../native_library.ts";
import { statfsSync } from "node:fs";
import { probeSsd } from "../../machines/ssd.ts";
import { isInMemory } from "../../machines/inventory/file_system.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";

function reasonOf(found: ReturnType<typeof probeSsd>): string {
  assert(!found.available);
  assertEquals(found.emulable, false); // no model stands in for a disk
  return found.reason;
}

Deno.test("probeSsd() takes a directory on a disk", async () => {
  const folder = await Deno.makeTempDir({ dir: new URL("../../.cache", import.meta.url).pathname });
  try {
    const found = probeSsd("SSDHASH", folder);
    if (isInMemory(statfsSync(folder))) assertStringIncludes(reasonOf(found), "is in memory");
    else assertEquals(found, { available: true });
    assertEquals([...Deno.readDirSync(folder)], []);
  } finally {
    await Deno.remove(folder);
  }
});

Deno.test("probeSsd() refuses a directory that is not there", () => {
  assertStringIncludes(reasonOf(probeSsd("SSDHASH", "/no such folder")), '"/no such folder" cannot be used');
});

const inMemory = (() => {
  try {
    return isInMemory(statfsSync("/dev/shm"));
  } catch {
    return false;
  }
})();

const noMemory = inMemory ? "" : " (skipped: /dev/shm is not in memory here)";

Deno.test(`probeSsd() refuses a file system in memory${noMemory}`, { ignore: !inMemory }, () => {
  assertStringIncludes(
    reasonOf(probeSsd("LEVELDB", "/dev/shm")),
    '"/dev/shm" is in memory (tmpfs), and a disk is needed',
  );
});
