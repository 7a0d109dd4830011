import { parse } from "@std/yaml";
import { parsePackages } from "../../setup/packages.ts";
import { assert, assertEquals, assertMatch } from "../assert.ts";

const root = new URL("../../", import.meta.url);
const parseYaml: (text: string) => unknown = parse;

interface Step {
  readonly uses?: string;
  readonly run?: string;
}

interface Workflow {
  readonly name: string;
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<
    Record<
      string,
      { readonly steps: readonly Step[]; readonly container?: { readonly image: string; readonly options?: string } }
    >
  >;
}

function filesIn(folder: string): string[] {
  return [...Deno.readDirSync(new URL(folder, root))].map(({ name }) => `${folder}${name}`).sort();
}

function read(path: string): string {
  return Deno.readTextFileSync(new URL(path, root));
}

const workflows: readonly [string, Workflow][] = filesIn(".github/workflows/").map((path) => {
  return [path, parseYaml(read(path)) as Workflow];
});
const scripts: readonly string[] = [...filesIn(".github/scripts/"), ".ci/run"];

Deno.test("the workflows are those for tests, pull requests, pages, nightly runs and releases", () => {
  assertEquals(workflows.map(([, { name }]) => name).sort(), ["nightly", "pages", "pull-request", "release", "test"]);
});

Deno.test.each(workflows)("%s runs scripts only, in a Debian 12 container, with pinned actions", (_path, workflow) => {
  const comments = workflow.name === "pull-request" ? { "pull-requests": "write" } : {};
  const contents = workflow.name === "release" ? "write" : "read";
  assertEquals(workflow.permissions, { contents, ...comments });
  for (const { steps, container } of Object.values(workflow.jobs)) {
    for (const { run, uses } of steps) {
      if (run !== undefined) {
        assert(scripts.includes(run), `"${run}" is no script of .github/scripts`);
        assertEquals(container?.image, "debian:12");
      } else assertMatch(uses ?? "", /^actions\/[\w-]+@[0-9a-f]{40}$/);
    }
  }
});

Deno.test("every pinned action says its version beside the commit, the same everywhere", () => {
  const uses = workflows.flatMap(([path]) => read(path).match(/uses: .*/g) ?? []);
  for (const line of uses) assertMatch(line, /@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  const actions = new Set(uses.map((line) => line.split("@")[0]));
  assertEquals(new Set(uses).size, actions.size);
});

Deno.test("every script is used", () => {
  const text = [...workflows.map(([path]) => path), ...scripts, "action.yml"].map(read).join("\n");
  for (const script of scripts) assert(text.includes(script), `${script} is not used`);
});

Deno.test.each(scripts.map((script) => [script]))("%s is executable, stops at errors and parses", async (script) => {
  assert(((await Deno.stat(new URL(script, root))).mode ?? 0) & 0o111);
  assertMatch(read(script), /^#!\/usr\/bin\/env bash\n(#.*\n)+set -euo pipefail\n/);
  const { success, stderr } = await new Deno.Command("bash", {
    args: ["-n", decodeURIComponent(new URL(script, root).pathname)],
    stdin: "null",
  }).output();
  assert(success, new TextDecoder().decode(stderr));
});

Deno.test("every test that a script names is there", async () => {
  const named = scripts.flatMap((script) => read(script).match(/\btest\/[\w./{},-]+_test\.ts/g) ?? []);
  assert(named.length > 0);
  for (const words of named) {
    // As the shell takes them apart.
    const args = ["-c", `printf '%s\\n' ${words}`];
    const { stdout } = await new Deno.Command("bash", { args, stdin: "null" }).output();
    for (const path of new TextDecoder().decode(stdout).trim().split("\n")) {
      assert((await Deno.stat(new URL(path, root))).isFile, path);
    }
  }
});

Deno.test("prepare.sh installs Node, npm and the packages of setup/packages.txt", async () => {
  // The same commands, with an apt-get that only tells what it was asked for.
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/apt-get`, '#!/bin/sh\necho "$@"\n', { mode: 0o755 });
    const { success, stdout } = await new Deno.Command("bash", {
      args: [".github/scripts/prepare.sh"],
      cwd: root,
      env: { PATH: `${folder}:${Deno.env.get("PATH")}` },
      stdin: "null",
    }).output();
    assert(success);
    const [update, install = ""] = new TextDecoder().decode(stdout).split("\n");
    assertEquals(update, "update");
    const listed = parsePackages(read("setup/packages.txt")).map(({ name }) => name);
    assertEquals(
      install,
      ["install -y --no-install-recommends ca-certificates curl git nodejs npm", ...listed].join(" "),
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("the workflow of the pages runs, publishes and deploys, with no secret", () => {
  const [, workflow] = workflows.find(([, { name }]) => name === "pages") as [string, Workflow];
  const steps = Object.values(workflow.jobs).flatMap(({ steps }) =>
    steps.map(({ run, uses }) => run ?? uses?.replace(/@.*/, ""))
  );
  const order = [".github/scripts/bench.sh", ".github/scripts/publish.sh", "actions/upload-pages-artifact"];
  assertEquals(steps.filter((step) => order.includes(step ?? "")), order);
  assert(steps.includes("actions/deploy-pages"));
  for (const [path] of workflows) assert(!/secrets\./.test(read(path)), `${path} uses a secret`);
});

/** Runs publish.sh in a clone whose origin is beside it, with a publisher that only makes the files it would. */
async function withSite(
  body: (of: {
    readonly publish: (
      report: string,
      publisher?: string,
    ) => Promise<{ readonly code: number; readonly out: string; readonly err: string }>;
    readonly origin: (...args: string[]) => Promise<string>;
    readonly folder: string;
  }) => Promise<void>,
): Promise<void> {
  const publisher = 'echo "$@" > asked; mkdir -p site; ls history | wc -l > site/summary.md';
  await withPrograms({ npx: publisher }, async (folder, env) => {
    const [clone, bare] = [`${folder}/clone`, `${folder}/origin`];
    await done("git", ["init", "-q", "--bare", bare], folder);
    await done("git", ["init", "-q", clone], folder);
    await done("git", ["remote", "add", "origin", bare], clone);
    await body({
      folder,
      origin: (...args) => done("git", args, bare),
      async publish(report, other = publisher) {
        await Deno.writeTextFile(`${folder}/bin/npx`, `#!/bin/bash\n${other}\n`);
        await Deno.mkdir(`${clone}/site`, { recursive: true });
        await Deno.writeTextFile(`${clone}/site/index.html`, report);
        const { code, stdout, stderr } = await new Deno.Command("bash", {
          args: [script("publish.sh")],
          cwd: clone,
          env: { ...env, GITHUB_STEP_SUMMARY: `${folder}/summary` },
          stdin: "null",
        }).output();
        return { code, out: new TextDecoder().decode(stdout), err: new TextDecoder().decode(stderr) };
      },
    });
  });
}

Deno.test("publish.sh begins a history on a branch of its own, adds to it, and keeps the newest 60 in one commit", async () => {
  await withSite(async ({ publish, origin, folder }) => {
    const first = await publish("one");
    assertEquals(first.code, 0, first.err);
    const [only = ""] = (await origin("ls-tree", "--name-only", "reports")).split("\n");
    assertMatch(only, /^\d{4}-\d\d-\d\dT\d{6}-\d{9}Z\.html$/);
    // A history of 65 days, as the branch could have it.
    await Deno.mkdir(`${folder}/old`);
    for (let day = 10; day < 75; day++) await Deno.writeTextFile(`${folder}/old/2020-${day}.html`, `${day}`);
    await origin("--work-tree", `${folder}/old`, "add", "-A");
    const tree = await origin("write-tree");
    const commit = await origin("-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", tree, "-m", "old");
    await origin("update-ref", "refs/heads/reports", commit);
    const next = await publish("two");
    assertEquals(next.code, 0, next.err);
    const kept = (await origin("ls-tree", "--name-only", "reports")).split("\n");
    assertEquals([kept.length, kept[0]], [60, "2020-16.html"]);
    assertEquals(await origin("show", `reports:${kept[59]}`), "two");
    assertEquals(await origin("rev-list", "--count", "reports"), "1");
    assertEquals(Deno.readTextFileSync(`${folder}/summary`).trim().split("\n").at(-1), "60");
    assertMatch(
      Deno.readTextFileSync(`${folder}/clone/asked`),
      /^-y deno@\S+ task tierbench publish history --out site /,
    );
  });
});

Deno.test("publish.sh leaves the history as it was where publishing fails, and takes up what another run added meanwhile", async () => {
  await withSite(async ({ publish, origin, folder }) => {
    assertEquals((await publish("one")).code, 0);
    const before = await origin("rev-parse", "reports");
    const failed = await publish("two", 'echo "Cannot publish: 1.html is damaged" >&2; exit 4');
    assertEquals(failed.code, 4);
    assertMatch(failed.err, /1\.html is damaged/);
    assertEquals(await origin("rev-parse", "reports"), before);
    const damaged = await publish("two", "mkdir -p site; touch site/index.html site/summary.md; exit 1");
    assertEquals(damaged.code, 0, damaged.err);
    assertMatch(damaged.out, /^::warning::A report of the branch "reports" is damaged/m);
    // Another run is through while this one publishes, the first time alone.
    const other = `cd ${folder}/origin; tree=$(git mktree < <(git ls-tree reports;
      printf '100644 blob %s\\t2019.html\\n' $(echo other | git hash-object -w --stdin)));
      git update-ref refs/heads/reports $(git -c user.name=a -c user.email=a@b commit-tree $tree -m other)`;
    const raced = await publish(
      "three",
      `mkdir -p site; touch site/summary.md; [ -e ${folder}/once ] || (touch ${folder}/once; ${other})`,
    );
    assertEquals(raced.code, 0, raced.err);
    const kept = (await origin("ls-tree", "--name-only", "reports")).split("\n");
    assertEquals([kept.length, kept[0]], [4, "2019.html"]);
    assertEquals(await origin("show", `reports:${kept[3]}`), "three");
  });
});

Deno.test("publish.sh says what to do where the branch may not be written", async () => {
  await withSite(async ({ publish, origin, folder }) => {
    assertEquals((await publish("one")).code, 0);
    const before = await origin("rev-parse", "reports");
    await Deno.writeTextFile(`${folder}/origin/hooks/pre-receive`, "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    const { code, err } = await publish("two");
    assertEquals(code, 1);
    assertMatch(err, /Cannot put the reports on branch "reports": .*contents: write/);
    assertEquals(await origin("rev-parse", "reports"), before);
  });
});

Deno.test("the nightly run builds the container image and trains in it, where mounts are allowed", () => {
  const [path, workflow] = workflows.find(([, { name }]) => name === "nightly") as [string, Workflow];
  const [job, ...others] = Object.values(workflow.jobs).filter(({ steps }) =>
    steps.some(({ run }) => run === ".github/scripts/container.sh")
  );
  assertEquals(others, [], path);
  assertMatch(job?.container?.options ?? "", /--privileged\b/);
  const script = read(".github/scripts/container.sh");
  assertMatch(script, /^apt-get install .*\bbuildah debootstrap$/m);
  assertMatch(script, /^TIERBENCH_CONTAINER=1 .* task test test\/container$/m);
});

Deno.test("every command names the same version of Deno", () => {
  const texts = [...scripts, ...workflows.map(([path]) => path), "setup/platform.ts"].map(read).join("\n");
  assertEquals([...new Set(texts.match(/deno@[\w.]+/g))], ["deno@2.9.6"]);
});

/** Runs a command in a folder; what it printed, which must have gone well. */
async function done(command: string, args: readonly string[], cwd: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, { args: [...args], cwd, stdin: "null" }).output();
  assert(success, `${command} ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout).trim();
}

Deno.test("gate.sh has the base beside it, ends as the bench does, and tells the verdict", async () => {
  // The same commands, with a bench that only tells what it was asked for, and a token that may not comment.
  const folder = await Deno.makeTempDir();
  const [bin, clone] = [`${folder}/bin`, `${folder}/clone`];
  try {
    await Deno.mkdir(bin);
    await Deno.mkdir(`${clone}/native`, { recursive: true });
    const programs = {
      npx:
        'echo "$@" > asked; last="${!#}"; ls "${last#*=}/native" > files; echo "lookup is 5.0 % slower than the baseline\'s"; exit 5',
      node: "cat gate.md",
      curl: "exit 22",
    };
    for (const [name, text] of Object.entries(programs)) {
      await Deno.writeTextFile(`${bin}/${name}`, `#!/bin/bash\n${text}\n`, { mode: 0o755 });
    }
    const git = (...args: string[]): Promise<string> =>
      done("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], clone);
    await git("init", "-q");
    for (const name of ["base", "head"]) {
      await Deno.writeTextFile(`${clone}/native/${name}`, name);
      await git("add", "-A");
      await git("commit", "-qm", name);
    }
    const { code, stdout } = await new Deno.Command("bash", {
      args: [decodeURIComponent(new URL(".github/scripts/gate.sh", root).pathname)],
      cwd: clone,
      env: {
        PATH: `${bin}:${Deno.env.get("PATH")}`,
        HOME: folder,
        BASE: await git("rev-parse", "HEAD~1"),
        GITHUB_STEP_SUMMARY: `${folder}/summary`,
        GITHUB_API_URL: "http://127.0.0.1:1",
        GITHUB_REPOSITORY: "a/b",
        NUMBER: "7",
        TOKEN: "none",
      },
      stdin: "null",
    }).output();
    assertEquals(code, 5);
    assertMatch(new TextDecoder().decode(stdout), /Cannot comment on pull request 7; the verdict is in the summary/);
    assertMatch(read(`file://${folder}/summary`), /^### The store against its base\n```\nlookup is 5\.0 % slower/);
    assertEquals(read(`file://${clone}/files`).trim(), "base");
    assertMatch(read(`file://${clone}/asked`), /^-y deno@\S+ task bench:store --rounds=31 --baseline=/);
    assertEquals((await git("worktree", "list")).split("\n").length, 1);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** Programs that stand before others in the path, and an empty folder to work in. */
async function withPrograms(
  programs: Readonly<Record<string, string>>,
  body: (folder: string, env: Readonly<Record<string, string>>) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${folder}/bin`);
    for (const [name, text] of Object.entries(programs)) {
      await Deno.writeTextFile(`${folder}/bin/${name}`, `#!/bin/bash\n${text}\n`, { mode: 0o755 });
    }
    await body(folder, { PATH: `${folder}/bin:${Deno.env.get("PATH")}`, HOME: folder });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function script(name: string): string {
  return decodeURIComponent(new URL(`.github/scripts/${name}`, root).pathname);
}

Deno.test("action.yml hands every input to its script, which runs, compares and says the verdict", async () => {
  interface Action {
    readonly inputs: Readonly<Record<string, { readonly default: string }>>;
    readonly outputs: Readonly<Record<string, unknown>>;
    readonly runs: {
      readonly using: string;
      readonly steps: readonly (Step & { readonly env: Record<string, string> })[];
    };
  }
  const { inputs, outputs, runs: { using, steps: [step] } } = parseYaml(read("action.yml")) as Action;
  assertEquals(using, "composite");
  assertEquals(step?.run, '"$GITHUB_ACTION_PATH/.github/scripts/action.sh"');
  const handed = Object.entries(step?.env ?? {}).map((
    [name, value],
  ) => [name.toLowerCase().replaceAll("_", "-"), value]);
  assertEquals(handed, Object.keys(inputs).map((name) => [name, `\${{ inputs.${name} }}`]));
  const defaults = Object.fromEntries(
    Object.entries(inputs).map(([name, given]) => [name.toUpperCase().replaceAll("-", "_"), given.default]),
  );
  // The same commands, with a suite that only tells what it was asked for and ends as it is told.
  const npx = 'printf "%s\\n" "$@" > asked; mkdir -p "$OUT"; echo "the summary" > "$OUT/summary.md"; exit "${ENDS:-0}"';
  await withPrograms({ npx }, async (folder, env) => {
    await Deno.writeTextFile(`${folder}/before.jsonl`, "");
    const outcome = async (more: Readonly<Record<string, string>>): Promise<[number, string | undefined]> => {
      for (const name of ["output", "summary"]) await Deno.writeTextFile(`${folder}/${name}`, "");
      const { code } = await new Deno.Command("bash", {
        args: [script("action.sh")],
        cwd: folder,
        env: {
          ...env,
          ...defaults,
          GITHUB_OUTPUT: `${folder}/output`,
          GITHUB_STEP_SUMMARY: `${folder}/summary`,
          ...more,
        },
        stdin: "null",
      }).output();
      return [code, /^verdict=(.*)$/m.exec(Deno.readTextFileSync(`${folder}/output`))?.[1]];
    };
    const baseline = { BASELINE: "before.jsonl" };
    assertEquals(await outcome({}), [0, "none"]);
    assertMatch(
      Deno.readTextFileSync(`${folder}/asked`),
      /^-y\ndeno@\S+\nrun\n(.*\n)+tierbench\nrun\npmem-modes\n--out\ntierbench-report\n$/,
    );
    assertEquals(Deno.readTextFileSync(`${folder}/summary`), "the summary\n");
    assertEquals(await outcome({ BASELINE: "missing.jsonl" }), [0, "none"]);
    assertEquals(await outcome({ ...baseline, TOLERANCE: "3", ARGUMENTS: "--quick --seed 5" }), [0, "kept"]);
    assertMatch(
      Deno.readTextFileSync(`${folder}/asked`),
      /\n--baseline\nbefore\.jsonl\n--tolerance\n3\n--quick\n--seed\n5\n$/,
    );
    assertEquals(await outcome({ ...baseline, ENDS: "5" }), [5, "worse"]);
    assertMatch(Deno.readTextFileSync(`${folder}/summary`), /^Against the baseline: \*\*worse\*\*\.\n\nthe summary/);
    assertEquals(await outcome({ ...baseline, ENDS: "5", FAIL_ON: "never" }), [0, "worse"]);
    assertEquals(await outcome({ ...baseline, ENDS: "6" }), [0, "unclear"]);
    assertEquals(await outcome({ ...baseline, ENDS: "6", FAIL_ON: "unclear" }), [6, "unclear"]);
    assertEquals(await outcome({ ...baseline, ENDS: "1" }), [1, undefined]);
    assertEquals(await outcome({ ENDS: "5" }), [5, undefined]);
    assertEquals(await outcome({ FAIL_ON: "always" }), [2, undefined]);
  });
  assertEquals(Object.keys(outputs), ["report", "verdict"]);
});

Deno.test("release.sh packs the tagged tree and takes the changelog's words, or says what does not go together", async () => {
  const curl = 'for last; do :; done; echo "$last" >> asked; echo \'{"upload_url":"http://up/assets{?name,label}"}\'';
  await withPrograms({ curl }, async (folder, env) => {
    const clone = `${folder}/clone`;
    await Deno.mkdir(clone);
    await Deno.writeTextFile(`${clone}/deno.json`, '{ "version": "1.2.3" }');
    await Deno.writeTextFile(
      `${clone}/CHANGELOG.md`,
      "# Changelog\n\n## Unreleased\n\n- later\n\n## 1.2.3 - 2026-01-02\n\n- first\n\n## 1.2.2\n\n- old\n",
    );
    const git = (...args: string[]) => done("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], clone);
    await git("init", "-q");
    await git("add", "-A");
    await git("commit", "-qm", "all");
    await git("tag", "v1.2.3");
    await git("tag", "v1.2.4");
    const release = async (tag: string, more: Readonly<Record<string, string>> = {}): Promise<[number, string]> => {
      const { code, stderr } = await new Deno.Command("bash", {
        args: [script("release.sh")],
        cwd: clone,
        env: { ...env, TAG: tag, GITHUB_API_URL: "http://api", GITHUB_REPOSITORY: "a/b", ...more },
        stdin: "null",
      }).output();
      return [code, new TextDecoder().decode(stderr).trim()];
    };
    assertEquals(await release("v1.2.4"), [1, "Cannot release v1.2.4: deno.json says 1.2.3, whose tag is v1.2.3"]);
    assertEquals(await release("v1.2.3", { TOKEN: "one" }), [0, ""]);
    assertEquals(Deno.readTextFileSync(`${clone}/notes.md`).trim(), "- first");
    assertEquals(JSON.parse(Deno.readTextFileSync(`${clone}/release.json`)), {
      tag_name: "v1.2.3",
      name: "v1.2.3",
      body: "\n- first\n\n",
    });
    assertEquals(await done("sha256sum", ["-c", "tierbench-1.2.3.tar.gz.sha256"], clone), "tierbench-1.2.3.tar.gz: OK");
    assertMatch(await done("tar", ["-tzf", "tierbench-1.2.3.tar.gz"], clone), /^tierbench-1\.2\.3\/CHANGELOG\.md$/m);
    const asked = [
      "http://api/repos/a/b/releases",
      ...["", ".sha256"].map((end) => `http://up/assets?name=tierbench-1.2.3.tar.gz${end}`),
    ];
    assertEquals(
      Deno.readTextFileSync(`${clone}/asked`).trim().split("\n").filter((line) => line !== "/dev/null"),
      asked,
    );
    await Deno.writeTextFile(`${clone}/CHANGELOG.md`, "## Unreleased\n\n- later\n");
    assertEquals(await release("v1.2.3"), [1, 'Cannot release v1.2.3: CHANGELOG.md says nothing under "## 1.2.3"']);
  });
});
