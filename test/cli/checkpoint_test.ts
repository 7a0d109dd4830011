import "../native_library.ts";
import { EmbeddingStore } from "../../mod.ts";
import { assert, assertEquals, assertMatch } from "../assert.ts";
import { runCommand } from "./command.ts";

const tierbench = (...words: string[]) => runCommand(["checkpoint", ...words], 120);

Deno.test("tierbench checkpoint lists a chain, finds it whole, and names what is damaged", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/chain`;
    using store = EmbeddingStore.open({ storage: "DRAM", trackChanges: true });
    const table = store.table({ name: "t", dim: 4 });
    table.lookup(BigInt64Array.from({ length: 1000 }, (_, i) => BigInt(i)));
    store.setStep(41);
    await store.checkpoint({ path }).write();
    table.lookup([5000]);
    await store.checkpoint({ path }).write();

    const listed = await tierbench("inspect", path);
    assertEquals(listed.code, 0);
    const [head = "", first = "", second = ""] = listed.out.trimEnd().split("\n");
    assertMatch(head, /^number +kind +on +step +bytes +files to restore +state$/);
    assertMatch(first, /^1 +full +– +41 +[\d.]+ [kM]?i?B +1 +whole$/i);
    assertMatch(second, /^2 +delta +1 +41 .* 2 +whole$/);
    const chain = JSON.parse((await tierbench("inspect", path, "--json")).out);
    assertEquals(chain.map(({ number, kind }: { number: number; kind: string }) => [number, kind]), [
      [1, "full"],
      [2, "delta"],
    ]);
    assertEquals(chain[0].facts["table.0.name"], "t");

    const whole = await tierbench("verify", path);
    assertEquals(whole.code, 0);
    assertMatch(whole.out, /: whole, 2 checkpoints, /);
    const found = JSON.parse((await tierbench("verify", path, "--json")).out);
    assertEquals([found.whole, found.checkpoints], [true, 2]);

    const before = store.digest();
    const made = await tierbench("compact", path);
    assertEquals([made.code, made.err], [0, ""]);
    assertMatch(made.out, /: 2 checkpoints of .* made 1 checkpoint of /);
    const once = JSON.parse((await tierbench("compact", path, "--json")).out);
    assertEquals([once.checkpoints, once.before], [1, once.bytes]);
    using other = EmbeddingStore.open({ storage: "DRAM", shards: 2 });
    await other.restore({ path });
    assertEquals(other.digest(), before);
    table.lookup([5001]);
    await store.checkpoint({ path, kind: "full" }).write();

    const [data = "", older = ""] = [...Deno.readDirSync(path)].map(({ name }) => `${path}/${name}`)
      .filter((name) => name.endsWith(".ckpt")).sort().reverse();
    const bytes = await Deno.readFile(data);
    bytes[70] = (bytes[70] ?? 0) ^ 4;
    await Deno.writeFile(data, bytes);
    const damaged = await tierbench("verify", path);
    assertEquals([damaged.code, damaged.out], [1, ""]);
    assert(damaged.err.includes(data.slice(-13)));
    const told = await tierbench("verify", path, "--json");
    assertEquals([told.code, told.err], [1, ""]);
    assert(!JSON.parse(told.out).whole && told.out.includes(data.slice(-13)));

    await Deno.remove(older);
    assertMatch((await tierbench("inspect", path)).out, /damaged: /m);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("Ctrl-C stops tierbench checkpoint verify and compact with 130; the chain is as it was, and both go on", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/chain`;
    using store = EmbeddingStore.open({ storage: "DRAM", trackChanges: true });
    const table = store.table({ name: "t", dim: 64 });
    const keys = BigInt64Array.from({ length: 600_000 }, (_, i) => BigInt(i));
    table.lookup(keys);
    await store.checkpoint({ path }).write();
    table.update(keys.subarray(0, 1000), new Float32Array(64_000).fill(1));
    await store.checkpoint({ path, kind: "delta" }).write();
    const files = (): string[] =>
      [...Deno.readDirSync(path)].map(({ name }) => `${name} ${Deno.statSync(`${path}/${name}`).size}`).sort();
    const before = files();
    for (const action of ["verify", "compact"]) {
      const program = new URL("interrupted_program.ts", import.meta.url);
      const args = ["run", "-A", "--no-check", program.href, "checkpoint", action, path];
      const { stdout } = await new Deno.Command(Deno.execPath(), { args, stdin: "null", stderr: "inherit" }).output();
      const said = JSON.parse(new TextDecoder().decode(stdout));
      assertEquals(said, { code: 130, out: "", err: "Interrupted: the checkpoints are as they were\n" });
      assertEquals(files(), before);
    }
    assertMatch((await tierbench("verify", path)).out, /whole, 2 checkpoints/);
    assertMatch((await tierbench("compact", path)).out, /made 1 checkpoint/);
    using other = EmbeddingStore.open({ storage: "DRAM" });
    await other.restore({ path });
    assertEquals(other.digest(), store.digest());
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("tierbench checkpoint says so where there is none, and takes no other word", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const none = await tierbench("inspect", folder);
    assertEquals([none.code, none.out], [0, `${folder}: no checkpoints\n`]);
    const nowhere = await tierbench("verify", `${folder}/none`);
    assertEquals(nowhere.code, 2);
    assertMatch(nowhere.err, /none/);
    assertEquals((await tierbench("look", folder)).code, 2);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
