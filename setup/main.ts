/**
 * Set-up and what follows it: `deno run -A setup/main.ts <verb> [--no-install] [arguments]`, called by the tasks
 * in `deno.json`. Imports no npm packages, since it fetches them.
 *
 * Exit codes: that of the command it starts; 4 if set-up cannot go on.
 *
 * @module
 */

import { runTests } from "./checks.ts";
import { clean } from "./clean.ts";
import { setUp } from "./set_up.ts";
import { ROOT } from "./state.ts";
import { SetupError, system } from "./system.ts";

/** Exit code when set-up cannot go on. */
const EXIT_SETUP = 4;

/**
 * Where `deno task`, npm and npx say they were started. Deno runs a task in the folder of `deno.json`; the paths that a
 * user types are of the folder they are in.
 */
const STARTED_IN = "INIT_CWD";

/** Runs the command line with these arguments. A signal is the command's to handle: this passes it on and waits for its end. */
async function runCommand(args: readonly string[]): Promise<number> {
  const child = new Deno.Command(Deno.execPath(), {
    // quiet: no word of package look-ups in the output
    args: ["run", "--quiet", "--config", `${ROOT}/deno.json`, "-A", `${ROOT}/cli.ts`, ...args],
    cwd: Deno.env.get(STARTED_IN) ?? Deno.cwd(),
    stdin: "inherit",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn();
  // A terminal and `timeout` send to both, others to this process alone. Passed on as the other kind, a signal asks the
  // command to stop in either case, and it can tell a second request: that is one of a kind that came before.
  const interrupt = passing(child, "SIGTERM");
  const terminate = passing(child, "SIGINT");
  Deno.addSignalListener("SIGINT", interrupt);
  Deno.addSignalListener("SIGTERM", terminate);
  try {
    return (await child.status).code;
  } finally {
    Deno.removeSignalListener("SIGINT", interrupt);
    Deno.removeSignalListener("SIGTERM", terminate);
  }
}

/** Milliseconds in which two signals are one: that of a group, and the same that `deno task` passes on. */
const ONE = 1000;

/** Sends a signal to a command when called, once for calls that come together. */
function passing(child: Deno.ChildProcess, signal: Deno.Signal): () => void {
  let last = -Infinity;
  return () => {
    if (performance.now() - last < ONE) return;
    last = performance.now();
    child.kill(signal);
  };
}

/** Does what a task asks and returns its exit code. */
async function main([verb, ...rest]: readonly string[]): Promise<number> {
  const install = !rest.includes("--no-install");
  const args = rest.filter((arg) => arg !== "--no-install");
  switch (verb) {
    case "bench":
      await setUp(["run"], install);
      return await runCommand(["run", `${ROOT}/scenarios/pmem-modes.jsonc`, ...args]);
    case "tierbench":
      await setUp(["run"], install);
      return await runCommand(args);
    case "test":
      await setUp(["run", "test"], install);
      Deno.env.delete(STARTED_IN); // tests start tasks in folders of their own
      return await runTests(args);
    case "build":
      await setUp(["run"], install);
      return 0;
    case "clean":
      if (args.some((arg) => arg !== "--reports")) {
        throw new SetupError(`Cannot clean "${args.join(" ")}": expected nothing, or --reports to remove results, too`);
      }
      await clean(system, ROOT, args.includes("--reports"));
      return 0;
    default:
      throw new SetupError(`Cannot run "${verb ?? ""}": expected bench, test, tierbench, build or clean`);
  }
}

if (import.meta.main) {
  try {
    Deno.exitCode = await main(Deno.args);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    console.error(error.message);
    Deno.exitCode = EXIT_SETUP;
  }
}
