import { localSystem } from "../../machines/inventory/local_system.ts";
import { TIMED_OUT } from "../../machines/inventory/system.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../assert.ts";

const system = localSystem();

Deno.test("localSystem() runs a program in the C locale and returns all it said", async () => {
  const output = await system.run(["sh", "-c", "echo $LC_ALL; cat; echo wrong >&2; exit 3"], { stdin: "given\n" });
  assertEquals(output?.code, 3);
  assertEquals(output?.stdout, "C\ngiven\n");
  assertEquals(output?.stderr, "wrong\n");
  assertEquals(output?.command[0], "sh");
});

Deno.test("localSystem() finds the tools of root without their folders in the search path", async () => {
  const path = Deno.env.get("PATH") ?? "";
  Deno.env.set("PATH", "/usr/bin:/bin");
  try {
    assertStringIncludes((await system.run(["sh", "-c", "echo $PATH"]))?.stdout ?? "", ":/usr/sbin");
  } finally {
    Deno.env.set("PATH", path);
  }
});

Deno.test("localSystem() tells a missing program from one that cannot start", async () => {
  assertEquals(await system.run(["tierbench-no-such-tool", "list"]), undefined);
  const folder = await Deno.makeTempDir();
  try {
    const program = `${folder}/tool`;
    await Deno.writeTextFile(program, "#!/bin/sh\necho started\n", { mode: 0o644 });
    const output = await system.run([program]);
    assertEquals(output?.code, 126);
    assert(output?.stderr !== "");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("localSystem() ends a command at its deadline, with what it had said, though its children live on", async () => {
  const output = await system.run(["sh", "-c", "echo early; sleep 20 & sleep 20"], { timeoutMs: 200 });
  assertEquals(output?.code, TIMED_OUT);
  assertEquals(output?.stdout, "early\n");
  assertStringIncludes(output?.stderr ?? "", "did not end within 200 ms");
});

Deno.test("localSystem() survives a program that does not read its input", async () => {
  assertEquals((await system.run(["true"], { stdin: "x".repeat(1 << 20) }))?.code, 0);
});

Deno.test("localSystem() reads files and lists directories; what is absent is undefined, what fails throws", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/b`, "text");
    await Deno.mkdir(`${folder}/a`);
    assertEquals(await system.list(folder), ["a", "b"]);
    assertEquals(await system.readText(`${folder}/b`), "text");
    assertEquals(await system.list(`${folder}/none`), undefined);
    assertEquals(await system.readText(`${folder}/none`), undefined);
    assertEquals(await system.readText(`${folder}/b/none`), undefined);
    await assertRejects(() => system.readText(`${folder}/a`));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
