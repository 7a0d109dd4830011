import "../native_library.ts";
import { libraryVersion, probeMachine } from "../../ffi/machine.ts";
import { assert, assertEquals, assertMatch } from "../assert.ts";

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
