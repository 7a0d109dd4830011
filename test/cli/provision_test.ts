import "../native_library.ts";
import { Command } from "commander";
import { main } from "../../cli/main.ts";
import { addProvision, type Ask } from "../../cli/provision.ts";
import { processShell } from "../../scenarios/provisioning/run_line.ts";
import type { Plan, Provisioner, ProvisionRequest, Refusal } from "../../mod.ts";
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "../assert.ts";

/** A machine of two files: step `a` makes the first, step `b` the second. */
class Machine {
  readonly folder: string = Deno.makeTempDirSync();
  readonly requests: ProvisionRequest[] = [];
  refusal: string | undefined;
  command = "touch";

  provisioner = (): Provisioner => ({
    collect: () =>
      Promise.resolve({
        facts: {},
        os: { known: false, reason: "not read", raw: "" },
        tools: [],
        ndctl: undefined,
        daxctl: undefined,
        cxl: undefined,
        ipmctl: undefined,
        blocks: undefined,
        files: Object.fromEntries(this.have().map((name) => [name, ""])),
        units: {},
        root: true,
      }),
    plan: ({ files }, request): Plan | Refusal => {
      this.requests.push(request);
      const { target, place = "bare-metal" } = request;
      if (this.refusal !== undefined) {
        return { kind: "refusal", target, place, reason: this.refusal, instead: undefined };
      }
      return {
        kind: "plan",
        target,
        place,
        summary: "two files",
        warnings: [],
        results: { mounts: ["/nowhere/pmem0"], nodes: [] },
        steps: ["a", "b"].map((id) => ({
          id,
          title: `Make ${id}`,
          commands: [`${this.command} ${this.folder}/${id}`],
          undo: [`rm ${this.folder}/${id}`],
          done: files[id] === undefined ? undefined : "it is there",
          destroys: id === "a" ? [{ device: "pmem0", found: "ext4" }] : [],
          expected: "a file",
          reboot: false,
          where: "host",
        })),
      };
    },
    render: (plan) => plan.kind === "plan" ? `PLAN of ${plan.steps.length}\n` : `NO WAY: ${plan.reason}\n`,
    shell: processShell,
    verify: { dax: () => Promise.reject(new Error("no")), node: () => Promise.reject(new Error("no")) },
    uid: (user) => Promise.resolve(user === "ada" ? 1000 : undefined),
  });

  have(): string[] {
    return [...Deno.readDirSync(this.folder)].map(({ name }) => name).sort();
  }

  async say(words: string, ask: Ask = () => undefined): Promise<{ code: number; out: string; err: string }> {
    let [out, err, code] = ["", "", 0];
    const terminal = {
      out: (text: string) => void (out += text),
      err: (text: string) => void (err += text),
      isTerminal: false,
      colors: false,
      width: 120,
    };
    const program = new Command("tierbench");
    addProvision(program as never, { terminal, exit: (wanted) => code = wanted }, this.provisioner, ask);
    await program.parseAsync(["provision", ...words.split(" ")], { from: "user" });
    return { code, out, err };
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.folder, { recursive: true });
  }
}

Deno.test("provision prints the plan and changes nothing; a refusal is exit code 3", async () => {
  using machine = new Machine();
  assertEquals(await machine.say("fsdax"), { code: 0, out: "PLAN of 2\n", err: "" });
  assertEquals(machine.have(), []);
  machine.refusal = "no region";
  const { code, out } = await machine.say("fsdax");
  assertEquals([code, out], [3, "NO WAY: no region\n"]);
});

Deno.test("provision hands on what it is told", async () => {
  using machine = new Machine();
  await machine.say(
    "kmem-dax --cloud-vm --only region0,region1 mem0 --mount-parent /srv --owner ada --memmap 4G!4G --erase pmem0",
  );
  assertEquals(machine.requests.at(-1), {
    target: "kmem-dax",
    place: "cloud-vm",
    only: ["region0", "region1", "mem0"],
    mountParent: "/srv",
    owner: "ada",
    memmap: "4G!4G",
    erase: ["pmem0"],
  });
  await machine.say("fsdax --bare-metal");
  assertEquals(machine.requests.at(-1)?.place, "bare-metal");
});

Deno.test("provision --apply runs the steps after yes, and only then", async () => {
  using machine = new Machine();
  const refused = await machine.say("fsdax --apply --yes");
  assertEquals([refused.code, machine.have()], [3, []]);
  assertStringIncludes(refused.out, "--erase pmem0");
  const words = "fsdax --apply --erase pmem0";
  const error = await assertRejects(() => machine.say(words), Error, "standard input is no terminal");
  assertEquals(error.name, "UsageError");
  const questions: string[] = [];
  for (const said of ["", "y", "no"]) {
    const { code, out } = await machine.say(words, (question) => (questions.push(question), said));
    assertEquals([code, machine.have()], [1, []]);
    assertStringIncludes(out, "PLAN of 2\n");
    assertStringIncludes(out, "declined: Nothing was run");
  }
  assertMatch(questions[0] ?? "", /run as root: a, b\nType yes/);
  const { code, out } = await machine.say(words, () => "yes");
  assertEquals([code, machine.have()], [0, ["a", "b"]]);
  assertStringIncludes(out, `[1/2] a: Make a\n$ touch ${machine.folder}/a\ndone: it is there\n`);
  assertMatch(out, /complete: Every step is done\n$/);
  const undone = await machine.say("fsdax --undo --yes --until b");
  assertEquals([undone.code, machine.have()], [0, ["a"]]);
  assertStringIncludes(undone.out, "to go on: tierbench provision fsdax --undo");
});

Deno.test("provision --apply that fails is exit code 1 and names the command that goes on", async () => {
  using machine = new Machine();
  machine.command = "false";
  const { code, out } = await machine.say("fsdax --apply --yes --erase pmem0 --container");
  assertEquals(code, 1);
  assertStringIncludes(out, "ended with status 1");
  assertStringIncludes(out, "To go on from there: tierbench provision fsdax --container --erase pmem0 --apply");
});

Deno.test("provision --check says what is missing, with exit code 1", async () => {
  using machine = new Machine();
  const { code, out } = await machine.say("fsdax --check --owner ada");
  assertEquals(code, 1);
  assertMatch(out, /^- mounted \/nowhere\/pmem0 {2}no file system of PMEM is mounted/);
  assertStringIncludes(out, "1 of 1 checks failed");
  await assertRejects(() => machine.say("fsdax --check --owner nobody-here"), Error, "there is no such user");
  const both = await machine.say("fsdax --apply --check --yes --erase pmem0");
  assertEquals([both.code, machine.have()], [1, ["a", "b"]]);
  assertMatch(both.out, /complete: [^]*1 of 1 checks failed/);
});

Deno.test("provision --json answers programs with plan, outcome and checks", async () => {
  using machine = new Machine();
  const { out, err } = await machine.say("fsdax --apply --check --yes --erase pmem0 --json");
  const answer = JSON.parse(out);
  assertEquals(Object.keys(answer), ["plan", "outcome", "checks"]);
  assertEquals([answer.plan.kind, answer.outcome.kind, answer.checks[0].ok], ["plan", "complete", false]);
  assertStringIncludes(err, "[1/2] a: Make a");
  await assertRejects(() => machine.say("fsdax --undo --json", () => "yes"), Error, "--json answers programs");
});

for (
  const [words, text] of [
    ["fsdx", 'Unknown configuration "fsdx": did you mean "fsdax"? There are memory-mode, fsdax, kmem-dax, cxl-kmem'],
    ["hbm", 'Unknown configuration "hbm": There are memory-mode, fsdax, kmem-dax, cxl-kmem'],
    ["fsdax --container --cloud-vm", "Cannot provision for --cloud-vm and --container: choose one"],
    ["fsdax --undo --check", "Cannot use --undo with --check"],
    ["fsdax --until a", 'Cannot use --until "a" without --apply or --undo'],
  ] as const
) {
  Deno.test(`tierbench provision ${words} is refused with exit code 2`, async () => {
    let err = "";
    const terminal = {
      out: () => {},
      err: (said: string) => void (err += said),
      isTerminal: false,
      colors: false,
      width: 120,
    };
    assertEquals(await main(["provision", ...words.split(" ")], terminal), 2);
    assertStringIncludes(err, text);
  });
}

Deno.test("tierbench provision <target> plans for this machine, or says why not", async () => {
  let out = "";
  const terminal = {
    out: (said: string) => void (out += said),
    err: () => {},
    isTerminal: false,
    colors: false,
    width: 120,
  };
  const code = await main(["provision", "memory-mode", "--cloud-vm"], terminal);
  assertEquals(code, 3);
  assert(out.length > 0);
});
