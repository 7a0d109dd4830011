/**
 * Records the reference values of all cases, or of those named: needs PyTorch (Debian's python3-torch).
 *
 *     deno run -A --preload test/native_library.ts test/oracle/record.ts [case ...]
 *
 * @module
 */

import { CASES } from "./cases.ts";
import { trainOurs, writeData } from "./run.ts";
import { type Recording, recordingFile, trainTorch } from "./torch.ts";
import { pythonWithTorch } from "../../bench/wdl/python.ts";

const python = pythonWithTorch();
if (python === undefined) throw new Error("Cannot record: no python3 with torch was found; install python3-torch");
const unknown = Deno.args.filter((name) => !CASES.some((settings) => settings.name === name));
if (unknown.length > 0) throw new Error(`Cannot record ${unknown.join(", ")}: cases are ${CASES.map((c) => c.name)}`);

const folder = await Deno.makeTempDir({ prefix: "tierbench " });
try {
  for (const settings of CASES) {
    if (Deno.args.length > 0 && !Deno.args.includes(settings.name)) continue;
    await writeData(settings, folder);
    const { inputs } = await trainOurs(settings, folder);
    const recording: Recording = { settings, inputs, ...await trainTorch(python, folder) };
    await Deno.writeTextFile(recordingFile(settings.name), `${JSON.stringify(recording, null, 2)}\n`);
    console.log(`${settings.name}: ${recording.losses.length} steps, AUC ${recording.auc}`);
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}
