import "../native_library.ts";
import { fileURLToPath } from "node:url";
import { main } from "../../cli/main.ts";
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "../assert.ts";
import { Machine } from "./provision_machine.ts";

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
  await machine.say("cxl-kmem --tiering off");
  assertEquals(machine.requests.at(-1)?.tiering, "off");
  await assertRejects(() => machine.say("cxl-kmem --tiering yes"), Error, 'Cannot set --tiering "yes"');
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
    [
      "fsdx",
      'Unknown configuration "fsdx": did you mean "fsdax"? There are memory-mode, fsdax, kmem-dax, cxl-kmem, hbm',
    ],
    ["gpus", 'Unknown configuration "gpus": There are memory-mode, fsdax, kmem-dax, cxl-kmem, hbm'],
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

/**
 * Starts `provision` in a process, sends it Ctrl-C as soon as a line runs, and again if asked to. When the first one has
 * been answered, `answered` is called.
 */
async function interrupted(
  times: 1 | 2,
  line: string,
  answered: () => void = () => {},
): Promise<{ code: number; out: string }> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", fileURLToPath(new URL("provision_program.ts", import.meta.url)), line],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  let out = "";
  let sent = 0;
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    out += text;
    if ((sent === 0 && out.includes("\nrunning\n")) || (sent === 1 && times === 2 && out.includes("Stopping"))) {
      child.kill("SIGINT");
      sent++;
    }
    if (out.includes("Stopping")) answered();
  }
  return { code: (await child.status).code, out };
}

Deno.test("provision --apply lets the line that runs finish at Ctrl-C, says where it stopped, exit code 130", async () => {
  // The line ends when it is told to: on a busy machine no fixed time would be long enough.
  const go = await Deno.makeTempFile();
  const line = `echo running; while test -e ${go}; do sleep 0.05; done; echo finished`;
  const { code, out } = await interrupted(1, line, () => {
    try {
      Deno.removeSync(go);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error; // it was told before
    }
  });
  assertEquals(code, 130);
  assertMatch(out, /running\n\nStopping when this line has ended; Ctrl-C again ends the line\nfinished\n/);
  assertMatch(out, /interrupted: Interrupted within step "a", after 1 of 2 lines/);
});

Deno.test("provision --apply ends the line that runs at the second Ctrl-C", async () => {
  const { code, out } = await interrupted(2, "echo running; sleep 60; echo finished");
  assertEquals(code, 130);
  assertMatch(out, /interrupted: Interrupted: the line that ran was ended/);
  assert(!out.includes("\nfinished\n"));
});
