/**
 * Sets up the lab and runs its cases: `deno task lab [--no-install] [filter]`. The filter is that of `deno test`: words
 * of a case's name or a regular expression between slashes.
 *
 * What guests wrote to their consoles is kept in `.cache/lab/consoles/` until the next run.
 *
 * Exit codes: 0 if all cases passed, 1 if one failed, 4 if set-up cannot go on.
 *
 * @module
 */

import { setUp } from "../../native/setup/set_up.ts";
import { ROOT } from "../../native/setup/state.ts";
import { labelled, secondsSince, SetupError, system } from "../../native/setup/system.ts";
import { buildImage, IMAGE_VARIABLE } from "./image/image.ts";
import { CONSOLES_VARIABLE } from "./guest.ts";
import { HOST_PACKAGES } from "./packages.ts";

const EXIT_SETUP = 4;

async function main(words: readonly string[]): Promise<number> {
  const start = performance.now();
  const filter = words.filter((word) => word !== "--no-install").join(" ");
  await setUp(["run"], !words.includes("--no-install"), HOST_PACKAGES);
  const image = await buildImage(system);
  // Guests live in here. A case that is interrupted has no time to tidy up.
  const folder = await Deno.makeTempDir({ prefix: "tierbench-lab-" });
  const consoles = `${ROOT}/.cache/lab/consoles`;
  await Deno.remove(consoles, { recursive: true }).catch(() => {});
  await Deno.mkdir(consoles, { recursive: true });
  Deno.env.set(CONSOLES_VARIABLE, consoles);
  const child = new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "--no-check", ...filter === "" ? [] : [`--filter=${filter}`], "test/lab"],
    cwd: ROOT,
    env: { [IMAGE_VARIABLE]: JSON.stringify(image), TMPDIR: folder },
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

if (import.meta.main) {
  try {
    Deno.exitCode = await main(Deno.args);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    console.error(error.message);
    Deno.exitCode = EXIT_SETUP;
  }
}
