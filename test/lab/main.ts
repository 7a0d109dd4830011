/**
 * Sets up the lab and runs its cases: `deno task lab [--no-install] [--recapture <folder>] [filter]`. The filter is that
 * of `deno test`: words of a case's name or a regular expression between slashes. With `--recapture`, only the cases run
 * that capture what tools print, unless a filter says otherwise, and the folder gets the texts.
 *
 * What guests wrote to their consoles, and how long each command took in them, is kept in `.cache/lab/consoles/` until
 * the next run.
 *
 * Exit codes: 0 if all cases passed, 1 if one failed, 4 if set-up cannot go on.
 *
 * @module
 */

import { resolve } from "node:path";
import { setUp } from "../../setup/set_up.ts";
import { ROOT } from "../../setup/state.ts";
import { labelled, secondsSince, SetupError, system } from "../../setup/system.ts";
import { buildImage, IMAGE_VARIABLE } from "./image/image.ts";
import { CONSOLES_VARIABLE } from "./guest.ts";
import { HOST_PACKAGES } from "./packages.ts";
import { RECAPTURE_VARIABLE } from "./recapture.ts";

const EXIT_SETUP = 4;

/**
 * Files run side by side, each in turn as one of those before ends. The longest come first, so that none is left to run
 * alone at the end; files that are not named here come after them.
 */
const LONGEST_FIRST = [
  "provision_interrupted_test.ts",
  "provision_fsdax_test.ts",
  "provision_kmem_test.ts",
  "cxl_volatile_test.ts",
  "cxl_kmem_test.ts",
  "recognised_test.ts",
  "cloud_vm_test.ts",
  "container_test.ts",
] as const;

/** The files of cases in the order in which they start. */
async function caseFiles(): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(`${ROOT}/test/lab`)) {
    if (name.endsWith("_test.ts")) names.push(name);
  }
  const place = (name: string) => (LONGEST_FIRST as readonly string[]).indexOf(name) >>> 0; // -1 is last
  return names.sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1)).map((name) => `test/lab/${name}`);
}

async function main(words: readonly string[]): Promise<number> {
  const start = performance.now();
  const { install, recapture, filter } = wordsOf(words);
  await setUp(["run"], install, HOST_PACKAGES);
  const image = await buildImage(system);
  // Guests live in here. A case that is interrupted has no time to tidy up.
  const folder = await Deno.makeTempDir({ prefix: "tierbench-lab-" });
  const consoles = `${ROOT}/.cache/lab/consoles`;
  await Deno.remove(consoles, { recursive: true }).catch(() => {});
  await Deno.mkdir(consoles, { recursive: true });
  Deno.env.set(CONSOLES_VARIABLE, consoles);
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "test",
      "-A",
      "--no-check",
      "--parallel",
      ...filter === "" ? [] : [`--filter=${filter}`],
      ...await caseFiles(),
    ],
    cwd: ROOT,
    env: {
      [IMAGE_VARIABLE]: JSON.stringify(image),
      TMPDIR: folder,
      ...recapture === undefined ? {} : { [RECAPTURE_VARIABLE]: recapture },
    },
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn();
  // The terminal sends SIGINT to both; SIGTERM comes here alone.
  const ignore = (): void => {};
  const pass = (): void => child.kill("SIGTERM");
  Deno.addSignalListener("SIGINT", ignore);
  Deno.addSignalListener("SIGTERM", pass);
  const { code } = await child.status;
  Deno.removeSignalListener("SIGINT", ignore);
  Deno.removeSignalListener("SIGTERM", pass);
  await Deno.remove(folder, { recursive: true });
  console.log(labelled("lab", `${code === 0 ? "passed" : "FAILED"}, ${secondsSince(start)} in all`));
  return code === 0 ? 0 : 1;
}

/** The command line, understood. */
function wordsOf(words: readonly string[]): { install: boolean; recapture: string | undefined; filter: string } {
  const rest = words.filter((word) => word !== "--no-install");
  const at = rest.indexOf("--recapture");
  if (at < 0) return { install: rest.length === words.length, recapture: undefined, filter: rest.join(" ") };
  const [, folder] = rest.splice(at, 2);
  if (folder === undefined) throw new SetupError("Cannot recapture without a folder: --recapture <folder>");
  return {
    install: rest.length + 2 === words.length,
    recapture: resolve(folder),
    filter: rest.length === 0 ? "captures:" : rest.join(" "),
  };
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
