/**
 * Plans are applied by the real shell to a machine made of files: a step is done when its file is there, so the state
 * is what the lines really did.
 */

import { type ApplyEvent, type ApplyOptions, applyPlan } from "../../../machines/provisioning/apply.ts";
import type { Plan, Refusal, Step } from "../../../machines/provisioning/contract.ts";
import { processShell } from "../../../machines/provisioning/run_line.ts";
import type { Inventory } from "../../../machines/inventory/inventory.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";

const IDS = ["region", "namespace", "mount"] as const;

/** A machine of files and the plan for it. */
class Model {
  readonly folder: string = Deno.makeTempDirSync();
  root = true;
  facts: Record<string, string> = {};
  blocks: Inventory["blocks"] = { known: true, value: [] };
  ndctl: Inventory["ndctl"];
  /** Changes the steps before they are handed out. */
  edit: (steps: Step[], files: Readonly<Record<string, string>>) => Step[] = (steps) => steps;
  place: Plan["place"] = "bare-metal";
  refuse: string | undefined;

  collect = (): Promise<Inventory> => {
    const names = [...Deno.readDirSync(this.folder)].map(({ name }) => name);
    return Promise.resolve({
      facts: this.facts,
      os: { known: false, reason: "not read", raw: "" },
      tools: [],
      ndctl: this.ndctl,
      daxctl: undefined,
      cxl: undefined,
      ipmctl: undefined,
      blocks: this.blocks,
      files: Object.fromEntries(names.map((name) => [name, ""])),
      units: {},
      root: this.root,
    });
  };

  plan = ({ files }: Inventory): Plan | Refusal => {
    if (this.refuse !== undefined) {
      return { kind: "refusal", target: "fsdax", place: this.place, reason: this.refuse, instead: "Do that." };
    }
    const steps: Step[] = IDS.map((id) => ({
      id,
      title: `Make the ${id}`,
      commands: [`echo making ${id}`, `touch ${this.folder}/${id}`],
      undo: [`rm ${this.folder}/${id}`],
      done: files[id] === undefined ? undefined : `${id} is there`,
      destroys: [],
      expected: `${id} is listed`,
      reboot: false,
      where: "host",
    }));
    return {
      kind: "plan",
      target: "fsdax",
      place: this.place,
      summary: "",
      warnings: [],
      steps: this.edit(steps, files),
      results: { mounts: [], nodes: [] },
    };
  };

  have(): string[] {
    return [...Deno.readDirSync(this.folder)].map(({ name }) => name).sort();
  }

  apply(more: Partial<ApplyOptions> = {}) {
    return applyPlan({
      plan: this.plan,
      collect: this.collect,
      shell: processShell,
      confirm: () => Promise.resolve(true),
      settle: { tries: 1, ms: 0 },
      deadlineMs: 20_000,
      ...more,
    });
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.folder, { recursive: true });
  }
}

const change = (id: string, with_: Partial<Step>) => (steps: Step[]) =>
  steps.map((step) => step.id === id ? { ...step, ...with_ } : step);

Deno.test("applyPlan() plans again after a partial plan, and asks for what shows only then", async () => {
  using model = new Model();
  const asked: string[][] = [];
  const plan = (inventory: Inventory): Plan | Refusal => {
    const whole = model.plan(inventory);
    if (whole.kind === "refusal" || inventory.files["namespace"] !== undefined) return whole;
    return { ...whole, steps: whole.steps.slice(0, 2), partial: true };
  };
  const confirm = (steps: readonly Step[]) => Promise.resolve((asked.push(steps.map(({ id }) => id)), true));
  const until = await model.apply({ plan, confirm, until: "region" });
  assertEquals([until.kind, until.ran, model.have()], ["until", ["region"], ["region"]]);
  const outcome = await model.apply({ plan, confirm });
  assertEquals([outcome.kind, outcome.ran], ["complete", ["namespace", "mount"]]);
  assertEquals(asked, [["region"], ["namespace"], ["mount"]]);
  assertEquals(model.have(), ["mount", "namespace", "region"]);
});

Deno.test("applyPlan() stops where a step of a partial plan does not show, and where the next plan was not agreed to", async () => {
  using model = new Model();
  const plan = (inventory: Inventory): Plan | Refusal => {
    const whole = model.plan(inventory);
    if (whole.kind === "refusal" || inventory.files["region"] !== undefined) return whole;
    return { ...whole, steps: whole.steps.slice(0, 1), partial: true };
  };
  model.edit = change("region", { commands: ["true"] });
  const surprise = await model.apply({ plan });
  assertEquals([surprise.kind, surprise.step], ["surprise", "region"]);
  model.edit = (steps) => steps;
  let times = 0;
  const declined = await model.apply({ plan, confirm: () => Promise.resolve(times++ === 0) });
  assertEquals([declined.kind, declined.ran, model.have()], ["declined", ["region"], ["region"]]);
});

Deno.test("applyPlan() runs the lines as printed, step by step, and says how each shows", async () => {
  using model = new Model();
  const events: ApplyEvent[] = [];
  const asked: string[][] = [];
  const outcome = await model.apply({
    onEvent: (event) => events.push(event),
    confirm: (steps) => Promise.resolve((asked.push(steps.map(({ id }) => id)), true)),
  });
  assertEquals([outcome.kind, outcome.ran], ["complete", [...IDS]]);
  assertEquals(asked, [[...IDS]]);
  assertEquals(model.have(), ["mount", "namespace", "region"]);
  const lines = events.flatMap((event) => event.type === "command" ? [event.line] : []);
  assertEquals(lines, IDS.flatMap((id) => [`echo making ${id}`, `touch ${model.folder}/${id}`]));
  assertEquals(
    events.flatMap((event) => event.type === "output" ? [event.text] : []),
    IDS.map((id) => `making ${id}\n`),
  );
  assertEquals(
    events.flatMap((event) => event.type === "done" ? [event.because] : []),
    IDS.map((id) => `${id} is there`),
  );
  assertEquals((await model.apply()).kind, "nothing");
});

Deno.test("applyPlan() runs nothing without agreement, without root, or where the planner refuses", async () => {
  using model = new Model();
  assertEquals((await model.apply({ confirm: () => Promise.resolve(false) })).kind, "declined");
  model.root = false;
  const refused = await model.apply({ again: "tierbench provision fsdax --apply" });
  assertEquals(refused.kind, "refused");
  assertStringIncludes(refused.message, "sudo tierbench provision fsdax --apply");
  model.root = true;
  model.refuse = "No region.";
  assertEquals(await model.apply(), { kind: "refused", message: "No region.\nDo that.", ran: [] });
  assertEquals(model.have(), []);
});

Deno.test("applyPlan() refuses before anything runs if data were found, and names every device", async () => {
  using model = new Model();
  model.edit = (steps) =>
    steps.map((step) => ({
      ...step,
      destroys: step.id === "region"
        ? []
        : [{ device: `${step.id}0`, found: `ext4 of ${step.id}` }, { device: "empty", found: undefined }],
    }));
  const refused = await model.apply();
  assertEquals(refused.kind, "refused");
  assertStringIncludes(refused.message, "namespace0: ext4 of namespace (step namespace)");
  assertMatch(refused.message, /add: --erase namespace0 mount0$/);
  assertEquals(model.have(), []);
  const half = await model.apply({ erase: ["namespace0"] });
  assertMatch(half.message, /add: --erase mount0$/);
  assertEquals((await model.apply({ erase: ["/dev/namespace0", "mount0"] })).kind, "complete");
});

Deno.test("applyPlan() stops at the first line that fails, and goes on from there later", async () => {
  using model = new Model();
  model.edit = change("namespace", { commands: ["echo no space >&2; exit 7", `touch ${model.folder}/namespace`] });
  const outcome = await model.apply();
  assertEquals([outcome.kind, outcome.step, outcome.code, outcome.ran], ["failed", "namespace", 7, ["region"]]);
  assertEquals(outcome.output, "no space\n");
  assertStringIncludes(outcome.message, "echo no space >&2; exit 7");
  assertStringIncludes(outcome.message, "Steps done in this run: region. Not known to be done: namespace.");
  assertStringIncludes(outcome.message, "To go on from there: tierbench provision fsdax --apply");
  assertEquals(model.have(), ["region"]);
  model.edit = (steps) => steps;
  assertEquals((await model.apply()).ran, ["namespace", "mount"]);
});

Deno.test("applyPlan() ends a line at its deadline, with all it started", async () => {
  using model = new Model();
  model.edit = change("region", { commands: [`sleep 60 & echo $! > ${model.folder}/pid; wait`] });
  const outcome = await model.apply({ deadlineMs: 400 });
  assertEquals([outcome.kind, outcome.step], ["failed", "region"]);
  assertStringIncludes(outcome.message, "was ended after 0 s");
  const pid = Deno.readTextFileSync(`${model.folder}/pid`).trim();
  // A process that ended and that nobody waited for yet is a zombie.
  let state = "R";
  for (let i = 0; i < 50 && !["", "Z"].includes(state); i++) {
    state = "";
    try {
      state = /\) (\w)/.exec(Deno.readTextFileSync(`/proc/${pid}/stat`))?.[1] ?? "";
    } catch { /* gone */ }
    if (!["", "Z"].includes(state)) await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert(["", "Z"].includes(state), state);
});

const surprises = {
  "a step does not show as done": [change("namespace", { commands: ["true"] }), /"namespace" ran without an error/],
  "the commands of a later step change": [
    (steps: Step[], files: Readonly<Record<string, string>>) =>
      files["region"] === undefined ? steps : change("mount", { commands: ["touch elsewhere"] })(steps),
    /commands of step "mount" are no longer/,
  ],
  "a new step appears": [
    (steps: Step[], files: Readonly<Record<string, string>>) =>
      files["region"] === undefined ? steps.slice(0, 2) : steps,
    /"mount" was not among those agreed to/,
  ],
  "a step vanishes": [
    (steps: Step[], files: Readonly<Record<string, string>>) =>
      files["region"] === undefined ? steps : steps.slice(0, 2),
    /has no step "mount"/,
  ],
  "steps change places": [
    (steps: Step[], files: Readonly<Record<string, string>>) =>
      files["region"] === undefined ? steps : [steps[0], steps[2], steps[1]].filter((one) => one !== undefined),
    /another order/,
  ],
  "data appear on a later device": [
    (steps: Step[], files: Readonly<Record<string, string>>) =>
      change("mount", {
        destroys: [{ device: "pmem0", found: files["region"] === undefined ? undefined : "xfs" }],
      })(steps),
    /pmem0: xfs \(step mount\)[^]*--erase pmem0/,
  ],
} as const;

for (const [what, [edit, message]] of Object.entries(surprises)) {
  Deno.test(`applyPlan() stops at a surprise: ${what}`, async () => {
    using model = new Model();
    model.edit = edit;
    const outcome = await model.apply();
    assertEquals(outcome.kind, "surprise");
    assertMatch(outcome.message, message);
    assert(!model.have().includes("mount"));
    assertStringIncludes(outcome.message, "tierbench doctor");
  });
}

Deno.test("applyPlan() looks again after the confirmation, and when the planner refuses half-way", async () => {
  using model = new Model();
  const outcome = await model.apply({
    confirm: () => {
      model.edit = change("region", { commands: ["echo other"] });
      return Promise.resolve(true);
    },
  });
  assertEquals([outcome.kind, model.have()], ["surprise", []]);
  assertStringIncludes(outcome.message, "Nothing was run.");
  model.edit = (steps) => steps;
  const half = await model.apply({ onEvent: (event) => void (event.type === "command" && (model.refuse = "Gone.")) });
  assertEquals([half.kind, half.step], ["surprise", "region"]);
  assertStringIncludes(half.message, "no longer open: Gone.");
});

Deno.test("applyPlan() waits for what shows a moment later", async () => {
  using model = new Model();
  model.edit = change("region", { commands: [`(sleep 0.2; touch ${model.folder}/region) >/dev/null 2>&1 &`] });
  const outcome = await model.apply({ settle: { tries: 100, ms: 20 } });
  assertEquals(outcome.kind, "complete");
});

Deno.test("applyPlan() interrupted before any line leaves what is done, says where it is, and goes on", async () => {
  const total = IDS.length * 2;
  for (let at = 1; at <= total; at++) {
    using model = new Model();
    const controller = new AbortController();
    let lines = 0;
    const outcome = await model.apply({
      signal: controller.signal,
      // The line that runs when the user stops may finish.
      onEvent: (event) => void (event.type === "command" && ++lines === at && controller.abort()),
    });
    assertEquals(lines, at);
    if (at === total) {
      assertEquals(outcome.kind, "complete");
      continue;
    }
    assertEquals(outcome.kind, "interrupted");
    const stopped = IDS[Math.floor(at / 2)];
    assertEquals([outcome.step, outcome.ran], [stopped, IDS.slice(0, Math.floor(at / 2))]);
    assertEquals(model.have(), IDS.slice(0, Math.floor(at / 2)).toSorted());
    assertMatch(
      outcome.message,
      at % 2 === 0 ? /^Interrupted before step/ : /^Interrupted within step .*after 1 of 2 lines/,
    );
    assertStringIncludes(outcome.message, "tierbench doctor");
    assertEquals((await model.apply()).kind, "complete");
    assertEquals(model.have(), ["mount", "namespace", "region"]);
  }
});

Deno.test("applyPlan() ends the running line when told to", async () => {
  using model = new Model();
  model.edit = change("namespace", { commands: ["echo started; sleep 60"] });
  const kill = new AbortController();
  const outcome = await model.apply({
    kill: kill.signal,
    onEvent: (event) => void (event.type === "output" && event.text.includes("started") && kill.abort()),
  });
  assertEquals([outcome.kind, outcome.step, outcome.ran], ["interrupted", "namespace", ["region"]]);
  assertStringIncludes(outcome.message, "may have done its work in part");
});

Deno.test("applyPlan() stops after a named step, and at a restart of the machine", async () => {
  using model = new Model();
  const until = await model.apply({ until: "namespace" });
  assertEquals([until.kind, until.ran], ["until", ["region", "namespace"]]);
  assertEquals((await model.apply({ until: "region" })).kind, "nothing");
  assertMatch(
    (await model.apply({ until: "regoin" })).message,
    /"regoin": the plan's steps are region, namespace, mount/,
  );
  Deno.removeSync(`${model.folder}/namespace`);
  // What takes effect at the next start does not show yet.
  model.edit = change("namespace", { reboot: true, commands: ["true"] });
  const reboot = await model.apply();
  assertEquals([reboot.kind, reboot.ran], ["reboot", ["namespace"]]);
  assertMatch(reboot.message, /systemctl reboot\), then run: tierbench provision fsdax --apply/);
  assertEquals(model.have(), ["region"]);
});

Deno.test("applyPlan() leaves steps of the other side to it", async () => {
  using model = new Model();
  model.place = "container";
  model.edit = change("mount", { where: "container" });
  const host = await model.apply();
  assertEquals([host.kind, host.step, host.ran], ["elsewhere", "mount", ["region", "namespace"]]);
  assertMatch(host.message, /belongs inside the container; run there:\n {2}echo making mount/);
  model.facts = { "container.kind": "podman" };
  assertEquals((await model.apply()).kind, "complete");
  Deno.removeSync(`${model.folder}/region`);
  const inside = await model.apply();
  assertEquals([inside.kind, inside.ran], ["refused", []]);
  assertStringIncludes(inside.message, "belongs on the host");
  model.facts = {};
  Deno.removeSync(`${model.folder}/mount`);
  model.edit = change("mount", { outsideLab: "container engine" });
  const start = await model.apply();
  assertEquals([start.kind, start.ran], ["elsewhere", ["region"]]);
  assertStringIncludes(start.message, "belongs to you; run:");
  assert(!model.have().includes("mount"));
});

Deno.test("applyPlan() takes steps back in reverse, with the same care", async () => {
  using model = new Model();
  await model.apply();
  const lines: string[] = [];
  const undo = (more: Partial<ApplyOptions> = {}) =>
    model.apply({
      undo: true,
      onEvent: (event) => void (event.type === "command" && lines.push(event.line)),
      ...more,
    });
  const until = await undo({ until: "mount" });
  assertEquals([until.kind, until.ran, model.have()], ["until", ["mount"], ["namespace", "region"]]);
  model.edit = change("namespace", { undo: ["false"] });
  const failed = await undo();
  assertEquals([failed.kind, failed.step], ["failed", "namespace"]);
  assertStringIncludes(failed.message, "To go on from there: tierbench provision fsdax --undo");
  model.edit = change("namespace", { undo: ["true"] });
  const still = await undo();
  assertEquals(still.kind, "surprise");
  assertStringIncludes(still.message, 'step "namespace" is still done after its undo lines');
  model.edit = (steps) => steps;
  lines.length = 0;
  const all = await undo();
  assertEquals([all.kind, all.ran, model.have()], ["complete", ["namespace", "region"], []]);
  assertEquals(lines, ["namespace", "region"].map((id) => `rm ${model.folder}/${id}`));
  assertEquals((await undo()).kind, "nothing");
});

Deno.test("applyPlan() takes nothing back that holds data stored since", async () => {
  using model = new Model();
  model.edit = (steps) =>
    change("namespace", { undo: ["echo ndctl destroy-namespace -f namespace0.0", `rm ${model.folder}/namespace`] })(
      steps,
    );
  await model.apply();
  model.blocks = {
    known: true,
    value: [{ name: "pmem0", size: 1, fileSystem: "ext4", mountPoints: ["/mnt/pmem0"], label: undefined }] as never,
  };
  const space = { dev: "namespace0.0", mode: "fsdax", blockdev: "pmem0" };
  model.ndctl = {
    known: true,
    value: [{ dev: "ndbus0", provider: "x", regions: [{ dev: "region0", namespaces: [space] }] }],
  } as never;
  const refused = await model.apply({ undo: true });
  assertEquals([refused.kind, refused.ran], ["refused", []]);
  assertStringIncludes(refused.message, "namespace0.0: ext4 mounted on /mnt/pmem0 (step namespace)");
  assertMatch(refused.message, /--erase namespace0\.0$/);
  assertEquals(model.have(), ["mount", "namespace", "region"]);
  assertEquals((await model.apply({ undo: true, erase: ["namespace0.0"] })).kind, "complete");
});
