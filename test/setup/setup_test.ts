import { addCounts, formatCounts, parseJunitCounts, parseNativeCounts } from "../../setup/checks.ts";
import { clean } from "../../setup/clean.ts";
import { ensurePackages, type Package, parsePackages } from "../../setup/packages.ts";
import { checkPlatform, CONTAINER_COMMAND } from "../../setup/platform.ts";
import { readState, writeState } from "../../setup/state.ts";
import { type Outcome, SetupError, type System } from "../../setup/system.ts";
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes, assertThrows } from "../assert.ts";

const PACKAGES: readonly Package[] = parsePackages("gcc run C compiler\nlibpmem1 run PMEM through files\n");

interface Machine extends System {
  /** Every command that was run, as text. */
  readonly commands: string[];
  /** Everything printed. */
  printed: string;
}

/** A machine on which these packages are installed and these known; apt-get works unless overridden. */
function machine(options: {
  installed?: readonly string[];
  known?: readonly string[];
  knownAfterUpdate?: readonly string[];
  answers?: Readonly<Record<string, Partial<Outcome>>>;
  uid?: number;
  terminal?: boolean;
  os?: string;
  arch?: string;
  release?: string;
}): Machine {
  let known = options.known ?? ["gcc", "libpmem1"];
  const result: Machine = {
    os: options.os ?? "linux",
    arch: options.arch ?? "x86_64",
    uid: options.uid ?? 0,
    terminal: options.terminal ?? false,
    commands: [],
    printed: "",
    read: (path) => path === "/etc/os-release" ? options.release ?? 'ID=debian\nVERSION_ID="12"\n' : undefined,
    run: (command) => {
      const text = command.join(" ");
      result.commands.push(text);
      const answer = Object.entries(options.answers ?? {}).find(([part]) => text.includes(part))?.[1];
      let stdout = "";
      if (text.startsWith("dpkg-query")) {
        stdout = (options.installed ?? []).map((name) => `${name} installed\n`).join("");
      } else if (text.startsWith("apt-cache")) {
        stdout = known.filter((name) => command.includes(name)).map((name) =>
          `${name}:\n  Installed: (none)\n  Candidate: 1.0\n`
        ).join("");
      } else if (text.endsWith("apt-get update")) {
        known = options.knownAfterUpdate ?? known;
      }
      return Promise.resolve({ code: 0, stdout, stderr: "", ...answer });
    },
    print: (text) => {
      result.printed += text;
    },
  };
  return result;
}

/** The commands that change the machine. */
function changes({ commands }: Machine): string[] {
  return commands.filter((command) => /apt-get (update|install)/.test(command));
}

Deno.test("checkPlatform() accepts Debian 12 and later and systems derived from it", () => {
  checkPlatform(machine({}));
  checkPlatform(machine({ release: 'ID=debian\nVERSION_ID="13"\n' }));
  checkPlatform(machine({ release: "ID=ubuntu\nID_LIKE=debian\n" }));
  checkPlatform(machine({ release: 'ID=pop\nID_LIKE="ubuntu debian"\n' }));
});

const elsewhere: readonly [string, Parameters<typeof machine>[0]][] = [
  ["darwin on aarch64", { os: "darwin", arch: "aarch64" }],
  ["windows on x86_64", { os: "windows" }],
  ["linux on aarch64", { arch: "aarch64" }],
  ["Fedora Linux 42", { release: 'ID=fedora\nPRETTY_NAME="Fedora Linux 42"\n' }],
  ["Debian GNU/Linux 11", { release: 'ID=debian\nVERSION_ID="11"\nPRETTY_NAME="Debian GNU/Linux 11"\n' }],
  ["an unknown Linux", { release: "" }],
];

Deno.test.each(elsewhere)("checkPlatform() names the container command on %s", (name, options) => {
  const { message } = assertThrows(() => checkPlatform(machine(options)), SetupError, `on ${name}`);
  assertStringIncludes(message, CONTAINER_COMMAND);
  assert(!message.includes("\n"));
});

Deno.test("packages.txt is a list of packages, each once, with a compiler and a browser", async () => {
  const packages = parsePackages(await Deno.readTextFile(new URL("../../setup/packages.txt", import.meta.url)));
  const names = packages.map(({ name }) => name);
  assertEquals(names.length, new Set(names).size);
  for (const name of ["gcc", "make", "libpmem1", "libmemkind0", "libdnnl2", "libnuma1"]) {
    assertEquals(packages.find((entry) => entry.name === name)?.group, "run");
  }
  assertEquals(packages.find(({ name }) => name === "chromium")?.group, "test");
  assertThrows(() => parsePackages("gcc build compiler"), SyntaxError, 'Cannot read the package line "gcc build');
});

Deno.test("ensurePackages() does nothing and says nothing when all are there", async () => {
  const system = machine({ installed: ["gcc", "libpmem1"] });
  assertEquals(await ensurePackages(system, PACKAGES, { install: false }), []);
  assertEquals([changes(system), system.printed], [[], ""]);
});

Deno.test("ensurePackages() installs what is missing as root, after one line that says what and why", async () => {
  const system = machine({ installed: ["gcc"] });
  assertEquals(await ensurePackages(system, PACKAGES, { install: true }), ["libpmem1"]);
  assertEquals(changes(system), [
    "env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends libpmem1",
  ]);
  assertMatch(system.printed, /^setup {4}installing libpmem1 .*PMEM through files.* done [\d.]+ s\n$/);
});

Deno.test("ensurePackages() updates the package lists only if they lack a package", async () => {
  const system = machine({ known: [], knownAfterUpdate: ["gcc", "libpmem1"] });
  await ensurePackages(system, PACKAGES, { install: true });
  assertEquals(changes(system).map((command) => command.split(" ").slice(2).join(" ")), [
    "apt-get update",
    "apt-get install -y --no-install-recommends gcc libpmem1",
  ]);
});

Deno.test("ensurePackages() goes through sudo when it asks no password", async () => {
  const system = machine({ uid: 1000 });
  await ensurePackages(system, PACKAGES, { install: true });
  assert(changes(system).every((command) => command.startsWith("sudo -n env ")));
});

const refusals: readonly [string, Parameters<typeof machine>[0], boolean, string][] = [
  ["--no-install", {}, false, "--no-install was given"],
  ["no apt", { answers: { "apt-get --version": { code: 127 } } }, true, "there is no apt-get"],
  ["no rights", { uid: 1000, answers: { sudo: { code: 1 } } }, true, "installing needs root or sudo"],
];

Deno.test.each(refusals)("ensurePackages() stops with the line to run: %s", async (_name, options, install, why) => {
  const system = machine(options);
  const { message } = await assertRejects(() => ensurePackages(system, PACKAGES, { install }), SetupError, why);
  assertStringIncludes(
    message,
    'run "apt-get update && apt-get install -y --no-install-recommends gcc libpmem1" as root',
  );
  assert(!message.includes("\n"));
  assertEquals(changes(system), []);
});

Deno.test("ensurePackages() quotes apt when it fails, after a second try with fresh lists", async () => {
  const said = { code: 100, stderr: "W: slow\nE: no space left\n" };
  const system = machine({ answers: { "apt-get install": said } });
  await assertRejects(
    () => ensurePackages(system, PACKAGES, { install: true }),
    SetupError,
    "apt-get ended with 100 (E: no space left)",
  );
  assertEquals(changes(system).length, 3);
});

Deno.test("ensurePackages() names the container command when the system has no such package", async () => {
  const system = machine({ known: ["gcc"] });
  const error = await assertRejects(() => ensurePackages(system, PACKAGES, { install: true }), SetupError);
  assertStringIncludes(error.message, CONTAINER_COMMAND);
});

Deno.test("clean() removes what is made again, results only when asked, keeps the rest, and names the packages that set-up installed", async () => {
  const root = await Deno.makeTempDir();
  try {
    for (const folder of ["native/build/release", "native/store", "reports/out", "reports/html"]) {
      await Deno.mkdir(`${root}/${folder}`, { recursive: true });
    }
    writeState({ installed: ["libpmem1", "make"], npm: "" }, root);
    assertEquals(readState(root).installed, ["libpmem1", "make"]);
    const system = machine({});
    await clean(system, root);
    for (const folder of ["native/build", ".cache"]) {
      assertStringIncludes(system.printed, `removed ${folder}\n`);
      await assertRejects(() => Deno.stat(`${root}/${folder}`), Deno.errors.NotFound);
    }
    assertStringIncludes(system.printed, "kept reports/out, your results");
    await Promise.all(["native/store", "reports/html", "reports/out"].map((folder) => Deno.stat(`${root}/${folder}`)));
    assertStringIncludes(system.printed, '"apt-get purge libpmem1 make" as root');
    const again = machine({});
    await clean(again, root, true);
    assertEquals(again.printed, "clean    removed reports/out\n");
    await assertRejects(() => Deno.stat(`${root}/reports/out`), Deno.errors.NotFound);
    const last = machine({});
    await clean(last, root);
    assertEquals(last.printed, "clean    nothing to remove\n");
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("clean() is refused while a process uses what it would remove, and removes nothing", async () => {
  const root = await Deno.makeTempDir();
  try {
    for (const folder of ["native/build", ".cache/data", "reports/out/x"]) {
      await Deno.mkdir(`${root}/${folder}`, { recursive: true });
      const path = `${root}/${folder}/file`;
      await Deno.writeTextFile(path, "");
      const child = new Deno.Command("sh", {
        args: ["-c", 'exec 9< "$0"; echo open; exec sleep 60', path],
        stdin: "null",
        stdout: "piped",
      }).spawn();
      const reader = child.stdout.getReader();
      await reader.read();
      try {
        const error = await assertRejects(() => clean(machine({}), root, true), SetupError);
        assertStringIncludes(error.message, `process ${child.pid} (sleep 60) uses "${path}"`);
        await Promise.all([path, `${root}/native/build`].map((one) => Deno.stat(one)));
      } finally {
        child.kill("SIGKILL");
        await child.status;
        await reader.cancel();
      }
    }
    await clean(machine({}), root, true);
    for (const folder of ["native/build", ".cache", "reports/out"]) {
      await assertRejects(() => Deno.stat(`${root}/${folder}`), Deno.errors.NotFound);
    }
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("writeState() says that set-up needs a folder to write to", async () => {
  const file = await Deno.makeTempFile();
  try {
    assertThrows(() => writeState({ installed: [], npm: "" }, file), SetupError, "needs a folder that it can write to");
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("counts are read from make check and from a JUnit report", () => {
  const text =
    "ok\nskipped: a_test: one (no PMEM)\nFAILED test/b_test (exit code 139): what it said\nC tests: 3 passed, 1 failed, 1 skipped\n";
  const skips = ["a_test: one (no PMEM)"], failures = ["test/b_test (exit code 139): what it said"];
  assertEquals(parseNativeCounts(text), { passed: 3, failed: 1, skipped: 1, skips, failures });
  assertEquals(parseNativeCounts("make: *** Error 2"), undefined);
  const xml = '<testsuites name="deno test" tests="6" failures="1" errors="0">\n' +
    '<testsuite name="a" tests="4" disabled="1" errors="0" failures="1">\n' +
    '<testsuite name="b" tests="2" disabled="0" errors="0" failures="0">\n';
  assertEquals(parseJunitCounts(xml), { passed: 4, failed: 1, skipped: 1, skips: [], failures: [] });
  assertEquals(parseJunitCounts(""), undefined);
});

Deno.test("formatCounts() names skipped tests only if there are some", () => {
  const sum = addCounts({ passed: 1, failed: 2, skipped: 0, skips: [], failures: ["a", "b"] }, {
    passed: 3,
    failed: 0,
    skipped: 0,
    skips: [],
    failures: [],
  });
  assertEquals(sum.failures, ["a", "b"]);
  assertEquals(formatCounts(sum), "4 passed, 2 failed");
  assertEquals(formatCounts({ ...sum, skipped: 1 }), "4 passed, 2 failed, 1 skipped");
});

Deno.test("the JUnit report of deno test has the form that parseJunitCounts() reads", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const tests =
      'Deno.test("a", () => {}); Deno.test.ignore("b \\"<é>\\"", () => {}); Deno.test("c <1>", () => { throw new Error("one & a\\ntwo"); });' +
      'Deno.test("d", async (t) => { await t.step("e", () => {}); });';
    await Deno.writeTextFile(`${folder}/a_test.ts`, tests);
    await new Deno.Command(Deno.execPath(), {
      args: ["test", "--no-config", "--no-check", `--junit-path=${folder}/report.xml`, `${folder}/a_test.ts`],
      stdin: "null",
    }).output();
    const counts = parseJunitCounts(await Deno.readTextFile(`${folder}/report.xml`));
    assertEquals([counts?.failed, counts?.skipped], [1, 1]);
    assertMatch(counts?.skips.join("\n") ?? "", /^b "<é>" \(.*a_test\.ts\)$/);
    assertEquals(counts?.failures.length, 1);
    assertMatch(counts?.failures[0] ?? "", /^c <1> \(.*a_test\.ts\): Uncaught Error: one & a$/);
    assert(counts !== undefined && counts.passed >= 2);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
