// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import {
  type ApplyEvent,
  type ApplyOutcome,
  applyPlan,
  checkTarget,
  localProvisioner,
  nearest,
  type Plan,
  PROVISION_TARGETS,
  type Provisioner,
  type ProvisionPlace,
  type ProvisionRequest,
  type ProvisionStep,
  type ProvisionTarget,
  type Refusal,
} from "../mod.ts";
import { answerText, type ProvisionAnswer } from "./answers.ts";
import { EXIT, UsageError } from "./exit_codes.ts";
import type { Context } from "./main.ts";
import { styleFor } from "./ui/ansi.ts";

const HELP = `
Without --apply, --check or --undo the plan is printed and nothing is changed. Every step says what it destroys and how
it is taken back; a step that is done already is not run again, so the same command goes on after an interruption.

Examples:
  tierbench provision fsdax                               the commands for this machine
  sudo tierbench provision fsdax --apply                  run them, after a question
  sudo tierbench provision kmem-dax --apply --erase namespace0.0
  tierbench provision fsdax --check                       is it really there?
  sudo tierbench provision fsdax --undo                   take it back`;

/** Asks a question at the terminal. Undefined: there is nobody to ask. */
export type Ask = (question: string) => string | undefined;

const askAtTerminal: Ask = (question) => Deno.stdin.isTerminal() ? prompt(question) ?? "" : undefined;

/** Flags that choose the place. */
const PLACES = { bareMetal: "bare-metal", cloudVm: "cloud-vm", container: "container" } as const;

interface Words {
  readonly bareMetal?: true | undefined;
  readonly cloudVm?: true | undefined;
  readonly container?: true | undefined;
  readonly only?: string[] | undefined;
  readonly mountParent?: string | undefined;
  readonly owner?: string | undefined;
  readonly memmap?: string | undefined;
  readonly erase?: string[] | undefined;
  readonly tiering?: string | undefined;
  readonly apply?: true | undefined;
  readonly check?: true | undefined;
  readonly undo?: true | undefined;
  readonly until?: string | undefined;
  readonly yes?: true | undefined;
  readonly json?: true | undefined;
}

function targetOf(word: string): ProvisionTarget {
  const found = PROVISION_TARGETS.find((target) => target === word);
  if (found !== undefined) return found;
  const meant = nearest(word, PROVISION_TARGETS);
  throw new UsageError(
    `Unknown configuration "${word}": ${meant === undefined ? "" : `did you mean "${meant}"? `}` +
      `There are ${PROVISION_TARGETS.join(", ")}`,
  );
}

function requestOf(target: ProvisionTarget, words: Words): ProvisionRequest {
  const places = (Object.keys(PLACES) as (keyof typeof PLACES)[]).filter((key) => words[key] === true);
  if (places.length > 1) {
    throw new UsageError(
      `Cannot provision for ${places.map((key) => `--${PLACES[key]}`).join(" and ")}: choose one of them`,
    );
  }
  if (words.undo && (words.apply || words.check)) {
    throw new UsageError(`Cannot use --undo with ${words.apply ? "--apply" : "--check"}: do one after the other`);
  }
  if (words.until !== undefined && !words.apply && !words.undo) {
    throw new UsageError(`Cannot use --until "${words.until}" without --apply or --undo: nothing would be run`);
  }
  const tiering = (["on", "off"] as const).find((one) => one === words.tiering);
  if (tiering === undefined && words.tiering !== undefined) {
    throw new UsageError(`Cannot set --tiering "${words.tiering}": it is "on" or "off"`);
  }
  const [place] = places;
  const owner = words.owner ?? Deno.env.get("SUDO_USER");
  const list = (values: readonly string[]) => values.flatMap((value) => value.split(",")).filter((one) => one !== "");
  return {
    target,
    ...(place === undefined ? {} : { place: PLACES[place] satisfies ProvisionPlace }),
    ...(words.only === undefined ? {} : { only: list(words.only) }),
    ...(words.mountParent === undefined ? {} : { mountParent: words.mountParent }),
    ...(owner === undefined ? {} : { owner }),
    ...(words.memmap === undefined ? {} : { memmap: words.memmap }),
    ...(words.erase === undefined ? {} : { erase: list(words.erase) }),
    ...(tiering === undefined ? {} : { tiering }),
  };
}

/** The command again, as it was typed, with another verb; for messages. */
function againText(target: string, words: Words): string {
  const quoted = (text: string) => /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
  const flags = [
    ...(Object.keys(PLACES) as (keyof typeof PLACES)[]).flatMap((key) => words[key] ? [`--${PLACES[key]}`] : []),
    ...(words.only === undefined ? [] : ["--only", ...words.only.map(quoted)]),
    ...(words.mountParent === undefined ? [] : ["--mount-parent", quoted(words.mountParent)]),
    ...(words.owner === undefined ? [] : ["--owner", quoted(words.owner)]),
    ...(words.memmap === undefined ? [] : ["--memmap", quoted(words.memmap)]),
    ...(words.erase === undefined ? [] : ["--erase", ...words.erase.map(quoted)]),
    ...(words.tiering === undefined ? [] : ["--tiering", quoted(words.tiering)]),
    words.undo ? "--undo" : "--apply",
  ];
  return `tierbench provision ${target} ${flags.join(" ")}`;
}

const CODES: Readonly<Record<ApplyOutcome["kind"], number>> = {
  complete: EXIT.ok,
  nothing: EXIT.ok,
  until: EXIT.ok,
  reboot: EXIT.ok,
  elsewhere: EXIT.ok,
  refused: EXIT.unavailable,
  declined: EXIT.failed,
  failed: EXIT.failed,
  surprise: EXIT.failed,
  interrupted: EXIT.interrupted,
};

/** `tierbench provision`: the way to a configuration, printed, run, checked, taken back. */
export function addProvision(
  program: Command,
  { terminal, exit }: Context,
  machine: () => Provisioner = localProvisioner,
  ask: Ask = askAtTerminal,
): void {
  program.command("provision")
    .description("set memory up: print the commands for this machine, run them, check the result, take it back")
    .argument("<target>", PROVISION_TARGETS.join(" | "))
    .option("--bare-metal", "this is a machine of its own (default: found out)")
    .option("--cloud-vm", "this is a virtual machine of a cloud")
    .option("--container", "the configuration is used in a container")
    .option("--only <name...>", "only these regions or CXL memory devices, e.g. region0 mem0 (default: all)")
    .option("--mount-parent <folder>", "fsdax: where mount points are made (default: /mnt)")
    .option("--owner <user>", "fsdax: who may write (default: who runs it, also under sudo)")
    .option("--memmap <range>", "cloud VM: memory to set aside, size!start, e.g. 16G!4G")
    .option("--erase <device...>", "devices whose data may be destroyed, e.g. namespace0.0")
    .option("--tiering <on|off>", "cxl-kmem: the kernel promotes hot and demotes cold pages, also after a restart")
    .option("--apply", "run the steps that are not done, after a question")
    .option("--check", "verify that it is really there")
    .option("--undo", "take the steps that are done back, last first, after a question")
    .option("--until <step>", "stop after this step")
    .option("--yes", "ask no question")
    .option("--json", "for machines: plan, outcome and checks; progress on standard error")
    .addHelpText("after", HELP)
    .action(async (word, words) => {
      const request = requestOf(targetOf(word), words);
      const print = words.json ? terminal.err : terminal.out;
      const answer: Answering = {};
      const provisioner = machine();
      const code = await provision(provisioner, request, words, { print, ask, answer, colors: terminal.colors });
      if (words.json && answer.plan !== undefined) {
        terminal.out(answerText("provision", { ...answer, plan: answer.plan }));
      }
      if (code !== EXIT.ok) exit(code);
    });
}

/** An answer as it comes about. */
type Answering = { -readonly [field in keyof ProvisionAnswer]?: ProvisionAnswer[field] };

interface Speaking {
  readonly print: (text: string) => void;
  readonly ask: Ask;
  /** Receives what `--json` prints. */
  readonly answer: Answering;
  readonly colors: boolean;
}

async function provision(
  machine: Provisioner,
  request: ProvisionRequest,
  words: Words,
  speaking: Speaking,
): Promise<number> {
  const { print, answer } = speaking;
  const plan = machine.plan(await machine.collect(), request);
  answer.plan = plan;
  if (words.apply || words.undo) {
    const outcome = await apply(machine, request, words, speaking, plan);
    answer.outcome = outcome;
    const style = styleFor(speaking.colors);
    const code = CODES[outcome.kind];
    const head = code === EXIT.ok ? style.green(outcome.kind) : style.red(outcome.kind);
    print(`${head}: ${outcome.message}\n`);
    // After a restart, or for a container, there is nothing to check yet.
    if (code !== EXIT.ok || !words.check || !["complete", "nothing"].includes(outcome.kind)) return code;
  } else if (!words.check) {
    print(machine.render(plan));
    return plan.kind === "refusal" ? EXIT.unavailable : EXIT.ok;
  }
  return await check(machine, request, speaking);
}

async function apply(
  machine: Provisioner,
  request: ProvisionRequest,
  words: Words,
  { print, ask, colors }: Speaking,
  plan: Plan | Refusal,
): Promise<ApplyOutcome> {
  const style = styleFor(colors);
  const stop = new AbortController();
  const kill = new AbortController();
  const interrupt = () => {
    if (stop.signal.aborted) return kill.abort();
    stop.abort();
    print("\nStopping when this line has ended; Ctrl-C again ends the line\n");
  };
  const confirm = (steps: readonly ProvisionStep[], plan: Plan): Promise<boolean> => {
    const what = words.undo ? "take back" : "run";
    const ids = steps.map(({ id }) => id).join(", ");
    if (!words.yes) {
      print(machine.render(plan));
      const question = `These steps will ${
        words.undo ? "be taken back" : "run"
      } as root: ${ids}\nType yes to ${what} them:`;
      const said = words.json ? undefined : ask(question);
      if (said === undefined) {
        throw new UsageError(
          `Cannot ask whether to ${what} ${ids}: ${
            words.json ? "--json answers programs" : "standard input is no terminal"
          }` +
            "; add --yes to agree beforehand",
        );
      }
      if (said.trim() !== "yes") return Promise.resolve(false);
    }
    // From here on Ctrl-C must not leave a line half done without a word.
    for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, interrupt);
    return Promise.resolve(true);
  };
  const show = (event: ApplyEvent) => {
    switch (event.type) {
      case "step":
        return print(`\n${style.bold(`[${event.number}/${event.of}] ${event.step.id}`)}: ${event.step.title}\n`);
      case "command":
        return print(`$ ${event.line}\n`);
      case "output":
        return print(event.text);
      case "done":
        return print(`${style.green("done")}: ${event.because}\n`);
    }
  };
  try {
    return await applyPlan({
      plan: (inventory) => machine.plan(inventory, request),
      collect: machine.collect,
      shell: machine.shell,
      confirm,
      onEvent: show,
      erase: request.erase ?? [],
      undo: words.undo ?? false,
      ...(words.until === undefined ? {} : { until: words.until }),
      signal: stop.signal,
      kill: kill.signal,
      again: againText(plan.target, words),
    });
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.removeSignalListener(signal, interrupt);
  }
}

async function check(machine: Provisioner, request: ProvisionRequest, speaking: Speaking): Promise<number> {
  const { print, answer, colors } = speaking;
  const style = styleFor(colors);
  const inventory = await machine.collect();
  const plan = machine.plan(inventory, request);
  const parent = (request.mountParent ?? "/mnt").replace(/\/+$/, "");
  // Where there is no way there may still be a configuration; without a plan its usual places are looked at.
  const results = plan.kind === "plan" ? plan.results : { mounts: [`${parent}/pmem0`], nodes: [] };
  const uid = request.owner === undefined ? undefined : await machine.uid(request.owner);
  if (request.owner !== undefined && uid === undefined) {
    throw new UsageError(`Cannot check for user "${request.owner}": there is no such user`);
  }
  const lines = await checkTarget(request.target, inventory, machine.verify, results, {
    place: plan.place,
    ...(request.owner === undefined || uid === undefined ? {} : { owner: { name: request.owner, uid } }),
    ...(request.tiering === undefined ? {} : { tiering: request.tiering }),
  });
  answer.checks = lines;
  const width = Math.max(...lines.map(({ id }) => id.length));
  for (const { id, ok, text } of lines) {
    print(`${ok ? style.green("+") : style.red("-")} ${id.padEnd(width)}  ${text}\n`);
  }
  const failed = lines.filter(({ ok }) => !ok).length;
  print(
    failed === 0
      ? `${request.target} is there: ${lines.length} checks\n`
      : `${failed} of ${lines.length} checks failed\n`,
  );
  return failed === 0 ? EXIT.ok : EXIT.failed;
}
