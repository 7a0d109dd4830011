import "../native_library.ts";
import { libraryVersion, probeMachine, verifyDax, verifyNode } from "../../ffi/machine.ts";
import { TierstoreError } from "../../ffi/errors.ts";
import { assert, assertEquals, assertMatch, assertThrows } from "../assert.ts";

Deno.test("probeMachine() reports this machine's processors and memory", () => {
  const facts = probeMachine();
  const keys = Object.keys(facts);
  assert(keys.some((key) => key.startsWith("cpu.")));
  assert(keys.some((key) => key.startsWith("memory.")));
});

Deno.test("probeMachine() leaves out what it cannot know", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const facts = probeMachine(folder);
    assertEquals(Object.keys(facts).filter((key) => key.startsWith("node.") || key.startsWith("pmem.")), []);
  } finally {
    await Deno.remove(folder);
  }
});

Deno.test("libraryVersion() names version and compiler", () => {
  assertMatch(libraryVersion(), /^\d+\.\d+\.\d+ \(.+\)$/);
});

Deno.test("verifyDax() tries a folder and leaves nothing in it", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const found = verifyDax(folder);
    assertEquals([found["file.created"], found["file.removed"]], ["yes", "yes"]);
    assertMatch(found["map_sync"] ?? "", /^(yes|no)$/);
    assertEquals([...Deno.readDirSync(folder)], []);
  } finally {
    await Deno.remove(folder);
  }
  const error = assertThrows(() => verifyDax(folder), TierstoreError, "No such file or directory");
  assertEquals(error.status, "TS_EINVAL");
});

Deno.test("verifyNode() says which nodes there are not", () => {
  const error = assertThrows(() => verifyNode(1023), TierstoreError, "Cannot verify NUMA node 1023");
  assertEquals(error.status, "TS_EUNAVAILABLE");
});
