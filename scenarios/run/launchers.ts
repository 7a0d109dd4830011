/**
 * The processes above a run that only started it: `deno task`, set-up, npm. When one of them is gone nobody waits for the
 * run any more, and whoever killed it thinks that it has ended. A shell or a session of its own above them is somebody else:
 * `nohup`, `setsid` and a terminal that is closed mean that the run goes on.
 *
 * @module
 */

import { basename } from "node:path";

/** What /proc tells of a process. */
export interface ProcessFacts {
  readonly parent: number;
  readonly session: number;
  /** When it started, in ticks of the kernel: a number that comes again has another. */
  readonly started: string;
  /** Its command line. */
  readonly words: readonly string[];
}

/** Reads about a process; nothing if there is none. */
type ReadProcess = (pid: number) => ProcessFacts | undefined;

/** Reads about a process of this machine. */
export function readProcess(pid: number): ProcessFacts | undefined {
  try {
    const text = Deno.readTextFileSync(`/proc/${pid}/stat`);
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" "); // the name before may hold anything
    const [state = "", parent = "0", , session = "0"] = fields;
    if (state === "Z" || state === "X") return undefined;
    const words = Deno.readTextFileSync(`/proc/${pid}/cmdline`).split("\0").filter((word) => word !== "");
    return { parent: Number(parent), session: Number(session), started: fields[19] ?? "", words };
  } catch {
    return undefined; // it has ended, or there is no /proc
  }
}

const RUNTIME = /^(deno|node|npm|npx|pnpm|yarn)\b/;
const SHELL = /^(ba|da)?sh$/;

/** The launchers above a process, nearest first: runtimes, and the shells between them that run one command. */
export function launchersOf(pid: number, read: ReadProcess = readProcess): { pid: number; facts: ProcessFacts }[] {
  const found: { pid: number; facts: ProcessFacts }[] = [];
  let sure = 0; // a shell counts only below a runtime
  for (let at = pid, facts = read(pid); facts !== undefined && facts.session !== at;) {
    at = facts.parent;
    facts = read(at);
    if (facts === undefined) break;
    const name = basename(facts.words[0] ?? "");
    const isShell = SHELL.test(name) && facts.words[1] === "-c";
    if (!isShell && !RUNTIME.test(name)) break;
    found.push({ pid: at, facts });
    if (!isShell) sure = found.length;
  }
  return found.slice(0, sure);
}

/**
 * Watches the launchers above a process.
 *
 * @returns Asks whether one of them is gone, and says which.
 */
export function watchLaunchers(pid: number = Deno.pid, read: ReadProcess = readProcess): () => string | undefined {
  const launchers = launchersOf(pid, read);
  return () => {
    const gone = launchers.find(({ pid, facts }) => read(pid)?.started !== facts.started);
    if (gone === undefined) return undefined;
    const [program = "", ...words] = gone.facts.words;
    return `"${[basename(program), ...words].join(" ").slice(0, 60)}" (process ${gone.pid})`;
  };
}
