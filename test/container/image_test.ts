/**
 * The container image, built with the words of docs/provisioning/README.md and run as its readers run it. It takes minutes,
 * Debian packages and npm packages from the network, and root, so it is asked for; the nightly workflow does.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import type { Result } from "../../scenarios/record.ts";
import { readResult } from "../../scenarios/result.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { BASE, Images, requireTools } from "./buildah.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const ASKED = "TIERBENCH_CONTAINER";
const asked = Deno.env.get(ASKED) === "1";
const skipped = asked ? "" : ` (skipped: ${ASKED} is not 1; .github/scripts/container.sh sets it)`;

/** A folder that the image's user may write to, in memory or on disk. */
async function folder(dir: string): Promise<string> {
  const path = await Deno.makeTempDir({ dir, prefix: "tierbench-mount-" });
  await Deno.chown(path, USER, USER);
  return path;
}

function checkResult({ run, samples, failed }: Result): void {
  assertEquals(failed, []);
  assertEquals(
    new Set(samples.map(({ configuration }) => configuration)),
    new Set(Object.keys(run.scenario.configurations)),
  );
  assertEquals(new Set(samples.map(({ digest }) => digest)).size, 1); // the same rows on all four, to the bit
  assertMatch(run.versions["deno"] ?? "", /^2\.9\.6/);
  for (const library of ["libpmem", "memkind", "libnuma", "libdnnl", "zlib", "leveldb"]) {
    assertEquals(run.machine.facts[`library.${library}.available`], "yes", library);
  }
}

/** A number that is not root's, as most users' is. */
const USER = 1000;

Deno.test(`the container image is built as the page says, and trains${skipped}`, { ignore: !asked }, async (t) => {
  await requireTools();
  await using images = await Images.make();
  await images.makeBase();
  const containerfile = Deno.readTextFileSync(`${ROOT}docs/provisioning/Containerfile`);
  assertStringIncludes(containerfile, `\nFROM ${BASE} AS build\n`);
  await t.step("its user may have any number, that of root, too", async () => {
    const [, line = ""] = /^RUN (useradd .*)$/m.exec(containerfile) ?? [];
    assertStringIncludes(line, '"$UID"');
    for (const uid of [0, USER]) {
      const { code, out, err } = await images.run(BASE, ["sh", "-c", `UID=${uid}; ${line} && id -u tierbench`]);
      assertEquals([code, out.trim()], [0, `${uid}`], err);
    }
  });
  await t.step("build", async () => {
    await images.build(USER);
  });
  await t.step("doctor is what it runs without words", async () => {
    const { code, out, err } = await images.run("tierbench", []);
    assertEquals(code, 0, err);
    for (const title of ["Configurations", "Container", "Libraries"]) assertStringIncludes(out, title);
  });
  const results = "/home/tierbench/reports/out";
  const [out, pmem] = [await folder("/var/tmp"), await folder("/dev/shm")];
  try {
    await t.step("run --quick", async () => {
      const { code, out: said, err } = await images.run("tierbench", ["run", "--quick"], { [out]: results });
      assertEquals(code, 0, `${said}\n${err}`);
      checkResult(await readResult(`${out}/pmem-modes-quick/result.jsonl`));
      assert((await Deno.stat(`${out}/pmem-modes-quick/index.html`)).size > 100_000);
    });
    // In memory: no PMEM, so it is emulated, on the path that a real mount has.
    const mounts = { [out]: results, [pmem]: "/mnt/pmem0" };
    const onMount = ["run", "--quick", "--set", "configurations.fsdax.path=/mnt/pmem0"];
    await t.step("run --quick with a folder mounted where PMEM would be", async () => {
      const { code, out: said, err } = await images.run("tierbench", onMount, mounts);
      assertEquals(code, 0, `${said}\n${err}`);
      const result = await readResult(`${out}/pmem-modes-quick/result.jsonl`);
      checkResult(result);
      for (const { configuration, evidence, tiers } of result.samples) {
        if (configuration !== "fsdax") continue;
        assertEquals([evidence, tiers[1]?.medium, tiers[1]?.facts["file_system"]], ["emulated", "file", "tmpfs"]);
        assert(tiers[1]?.facts["path"]?.startsWith("/mnt/pmem0/"), JSON.stringify(tiers[1]));
      }
      assertEquals([...Deno.readDirSync(pmem)], []);
    });
    await t.step("nobody can vouch for it", async () => {
      const { code, err } = await images.run("tierbench", [...onMount, "--vouch", "fsdax=optane-200"], mounts);
      assertEquals(code, 3, err);
      assertStringIncludes(err.replace(/\s+/g, " "), '"/mnt/pmem0" is on no DAX file system');
    });
    await t.step("the image for clusters trains over ranks, and its user's ssh server lets him in", async () => {
      await images.buildCluster();
      const words = ["run", "scale-out", "--quick", "--set", 'matrix={"cluster.ranks":[1,2]}'];
      const { code, out: said, err } = await images.run("tierbench-cluster", words, { [out]: results });
      assertEquals(code, 0, `${said}\n${err}`);
      const { samples, failed } = await readResult(`${out}/scale-out-quick/result.jsonl`);
      assertEquals([failed, new Set(samples.map(({ digest }) => digest)).size], [[], 1]);
      const libraries = samples.flatMap(({ cluster }) => cluster?.ranks.length === 2 ? cluster : []).map((
        { library },
      ) => library);
      assertMatch(libraries[0] ?? "", /Open MPI/);
      // The operator mounts a pair of keys as this makes one.
      const ssh = `cd
        mkdir -m 700 .ssh && ssh-keygen -q -t rsa -N '' -f .ssh/id_rsa && cp .ssh/id_rsa.pub .ssh/authorized_keys || exit
        /usr/sbin/sshd -De -f /home/tierbench/.sshd_config & server=$!
        code=1
        for try in 1 2 3 4 5 6 7 8 9 10; do
          ssh localhost /opt/tierbench/bin/deno --version && code=0 && break
          sleep 0.5
        done
        kill $server; exit $code`;
      const { code: ended, out: version, err: why } = await images.shell("tierbench-cluster", ssh);
      assertEquals(ended, 0, why);
      assertStringIncludes(version, "deno 2.9.6");
    });
  } finally {
    for (const path of [out, pmem]) await Deno.remove(path, { recursive: true });
  }
});

Deno.test("requireTools() names the package that is missing", async () => {
  // A PATH without anything, in a process of its own: this one's is that of all tests.
  const source = `import { requireTools } from ${JSON.stringify(new URL("./buildah.ts", import.meta.url).href)};
    await requireTools();`;
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-lock", source],
    env: { PATH: "/nowhere" },
    stdin: "null",
  }).output();
  assertEquals(code, 1);
  assertStringIncludes(new TextDecoder().decode(stderr), "buildah is not installed; apt-get install buildah");
});
