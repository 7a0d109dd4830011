/**
 * Runs `wdl_torch.py`, and keeps what it said in `test/fixtures/oracle/`.
 *
 * @module
 */

import type { OracleCase } from "./cases.ts";
import type { OracleRun } from "./run.ts";

/** What is checked in for machines without PyTorch. */
export interface Recording extends OracleRun {
  /** Settings of the case when it was recorded. */
  readonly settings: OracleCase;
  /** Digest of settings, rows and initial values. */
  readonly inputs: string;
  /** Version of PyTorch. */
  readonly torch: string;
}

const RECORD = "deno run -A --preload test/native_library.ts test/oracle/record.ts";

const SCRIPT = new URL("wdl_torch.py", import.meta.url).pathname;

/**
 * Trains the case that a folder holds with PyTorch.
 *
 * @param python From {@linkcode pythonWithTorch}.
 * @param folder As `trainOurs` leaves it.
 */
export async function trainTorch(python: string, folder: string): Promise<OracleRun & { readonly torch: string }> {
  const { success, stdout, stderr } = await new Deno.Command(python, { args: [SCRIPT, folder] }).output();
  if (!success) throw new Error(`${python} ${SCRIPT} ${folder} failed:\n${new TextDecoder().decode(stderr)}`);
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** The file of a case's recording. */
export function recordingFile(name: string): URL {
  return new URL(`../fixtures/oracle/${name}.json`, import.meta.url);
}

/** Reads a recording. */
export async function readRecording(name: string): Promise<Recording> {
  return JSON.parse(await Deno.readTextFile(recordingFile(name)));
}

/**
 * Refuses a recording of other settings, rows or initial values than those of today.
 *
 * @param recording What was recorded.
 * @param settings The case.
 * @param inputs Digest of what goes into it now.
 */
export function checkRecording(recording: Recording, settings: OracleCase, inputs: string): void {
  const changed = JSON.stringify(recording.settings) !== JSON.stringify(settings)
    ? "settings"
    : "rows or initial values";
  if (recording.inputs === inputs) return;
  throw new Error(
    `The recording of "${settings.name}" is of other ${changed} than the library has now. If that is meant, record again ` +
      `where python3-torch is installed: ${RECORD} ${settings.name}`,
  );
}
