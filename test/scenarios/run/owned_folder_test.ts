import { makeOwnedFolder, removeUnowned } from "../../../scenarios/run/owned_folder.ts";
import { assertEquals, assertRejects } from "../../assert.ts";

async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const names = (folder: string) => Array.from(Deno.readDirSync(folder), ({ name }) => name).sort();

/** A process that makes a folder, says which, and waits until it is killed. */
async function holder(folder: string): Promise<{ readonly path: string; kill(): Promise<void> }> {
  const module = new URL("../../../scenarios/run/owned_folder.ts", import.meta.url).href;
  const program = `import { makeOwnedFolder } from ${JSON.stringify(module)};
const { path } = await makeOwnedFolder(${JSON.stringify(folder)});
await Deno.writeTextFile(path + "/0.log", "rows");
console.log(path);
setInterval(() => {}, 1000);`;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--no-lock", "--ext=ts", "-"],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(program));
  await writer.close();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await reader.read();
  return {
    path: value.trim(),
    kill: async () => {
      child.kill("SIGKILL");
      await child.status;
      await reader.cancel();
    },
  };
}

Deno.test("removeUnowned() removes what a killed process left, nothing of a living one, and nothing of the user's", async () => {
  await inFolder(async (folder) => {
    const [left, living] = [await holder(folder), await holder(folder)];
    await Deno.mkdir(`${folder}/tierbench-0123456789abcdef`); // made by a process that was killed before it could lock it
    const mine = [`${folder}/tierbench-notes`, `${folder}/tierbench-00000000aaaaaaaa`, `${folder}/data`];
    for (const path of mine) {
      await Deno.mkdir(path);
      await Deno.writeTextFile(`${path}/keep`, "mine");
    }
    await Deno.writeTextFile(`${mine[1]}/.tierbench-owner`, "another program's\n");
    await Deno.writeTextFile(`${folder}/tierbench-ffffffffffffffff`, "a file");
    try {
      assertEquals(await removeUnowned(folder), 1);
      assertEquals(names(living.path), [".tierbench-owner", "0.log"]);
      assertEquals(names(left.path), [".tierbench-owner", "0.log"]);
      await left.kill();
      assertEquals([await removeUnowned(folder), await removeUnowned(folder)], [1, 0]);
      assertEquals(names(living.path), [".tierbench-owner", "0.log"]);
      await assertRejects(() => Deno.stat(left.path), Deno.errors.NotFound);
    } finally {
      await living.kill();
    }
    assertEquals(await removeUnowned(folder), 1);
    const kept = ["data", "tierbench-00000000aaaaaaaa", "tierbench-ffffffffffffffff", "tierbench-notes"];
    assertEquals([names(folder), await Deno.readTextFile(`${mine[1]}/keep`)], [kept, "mine"]);
    assertEquals(await removeUnowned(`${folder}/none`), 0);
  });
});

Deno.test("makeOwnedFolder() beside processes that clean up all the time always has a folder", async () => {
  await inFolder(async (folder) => {
    let stop = false;
    const cleaning = (async () => {
      while (!stop) await removeUnowned(folder);
    })();
    for (let n = 0; n < 200; n++) {
      await using one = await makeOwnedFolder(folder);
      await Deno.writeTextFile(`${one.path}/rows`, "rows");
      assertEquals(await Deno.readTextFile(`${one.path}/rows`), "rows");
    }
    stop = true;
    await cleaning;
    assertEquals(names(folder), []);
  });
});

Deno.test("removeUnowned() removes what versions without owners left, a day old and used by nobody, and nothing else", async () => {
  await inFolder(async (folder) => {
    const old = new Date(Date.now() - 25 * 3600 * 1000);
    const make = async (digits: string, entry: string, time: Date) => {
      const path = `${folder}/tierbench-${digits}`;
      await Deno.mkdir(path);
      await Deno.writeTextFile(`${path}/${entry}`, "rows");
      for (const one of [`${path}/${entry}`, path]) await Deno.utime(one, time, time);
      return `${path}/${entry}`;
    };
    await make("00000000000000a1", "tierstore-12-0000000001.pool", old);
    await make("00000000000000b2", "tierstore-12-0000000001.pool", new Date());
    const open = await make("00000000000000c3", "tierstore-12-0000000001.pool", old);
    await make("00000000000000d4", "notes.txt", old);
    // A folder of files: the newest of them counts.
    await Deno.mkdir(`${folder}/tierbench-00000000000000e5/C1.ssdhash`, { recursive: true });
    await Deno.writeTextFile(`${folder}/tierbench-00000000000000e5/C1.ssdhash/0.log`, "rows");
    for (const one of ["C1.ssdhash", ""]) await Deno.utime(`${folder}/tierbench-00000000000000e5/${one}`, old, old);
    const child = new Deno.Command("sleep", { args: ["60"], stdin: "null", cwd: open.slice(0, open.lastIndexOf("/")) })
      .spawn();
    try {
      assertEquals(await removeUnowned(folder), 1);
      assertEquals(names(folder), ["b2", "c3", "d4", "e5"].map((end) => `tierbench-00000000000000${end}`));
    } finally {
      child.kill("SIGKILL");
      await child.status;
    }
    assertEquals(await removeUnowned(folder), 1); // what was used
    const rows = `${folder}/tierbench-00000000000000e5/C1.ssdhash/0.log`;
    await Deno.utime(rows, old, old);
    assertEquals(await removeUnowned(folder), 1);
    assertEquals(names(folder), ["b2", "d4"].map((end) => `tierbench-00000000000000${end}`));
  });
});
