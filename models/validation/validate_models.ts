/**
 * `tierbench validate-models`: compares, and writes what it found.
 *
 * @module
 */

import { accuracyText, effectLines, openTargetLines, targetLines } from "./accuracy.ts";
import { loadCalibration } from "../media/calibration/calibration.ts";
import { leaveOutAll, leftOutText, loadLeftOut } from "../media/calibration/leave_out.ts";
import { compareExchanges } from "./exchanges.ts";
import { openTargets } from "./open_targets.ts";
import { pointsOf } from "../media/calibration/points.ts";
import { type ErrorSummary, type ModelValidation, validateModels } from "../media/calibration/validate.ts";

const ROOT = new URL("../../", import.meta.url);

/** What {@linkcode validateMediaModels} found. */
export interface MediaModelsValidated {
  /** Errors by medium. */
  readonly media: readonly ErrorSummary[];
  /** Target, wanted, found, met or missed. */
  readonly targets: readonly (readonly string[])[];
  /** Files written. */
  readonly files: readonly string[];
}

/** The residuals as `models/media/calibration/residuals.json` holds them. */
export function residualsText({ residuals }: ModelValidation): string {
  return `${JSON.stringify(residuals, undefined, 2)}\n`;
}

/** Leaves every curve out again and writes what came out; the day stays where nothing else changed. */
async function leaveOut(log?: (text: string) => void): Promise<string> {
  const now = await leaveOutAll(pointsOf(await loadCalibration()), new Date().toISOString().slice(0, 10), log);
  const before = await loadLeftOut();
  const made = leftOutText({ ...before, made: now.made }) === leftOutText(now) ? before.made : now.made;
  const file = "models/media/calibration/left-out.json";
  await Deno.writeTextFile(new URL(file, ROOT), leftOutText({ ...now, made }));
  return file;
}

/**
 * Compares the media models with every published figure and writes the comparison to
 * `reports/out/validate-models.md`.
 *
 * @param options `leaveOut`: fit without each curve again, about a minute, and write `models/media/calibration/left-out.json`.
 * `write`: also `docs/accuracy.md` and `models/media/calibration/residuals.json`, which error bands are made of. `log`: told of
 * each family of media as its curves are left out.
 * @throws {TierstoreError} If the library refuses a model.
 * @throws {Error} With `write`, if models or rows changed since curves were left out.
 */
export async function validateMediaModels(
  options: { readonly write?: boolean; readonly leaveOut?: boolean; readonly log?: (text: string) => void } = {},
): Promise<MediaModelsValidated> {
  const written = options.leaveOut === true ? [await leaveOut(options.log)] : [];
  const validation = await validateModels();
  if (options.write === true && validation.leftOutIsStale) {
    throw new Error(
      `Cannot write docs/accuracy.md: media models or calibration rows changed after ${validation.leftOut.made}, when ` +
        "curves were left out; add --leave-out",
    );
  }
  if (options.write === true) {
    // First: the bands of the simulations below are made of them.
    await Deno.writeTextFile(new URL("models/media/calibration/residuals.json", ROOT), residualsText(validation));
  }
  const { open, effects } = await openTargets();
  const text = accuracyText(validation, open, effects, await compareExchanges());
  const files = [...written, "reports/out/validate-models.md"];
  await Deno.mkdir(new URL("reports/out/", ROOT), { recursive: true });
  await Deno.writeTextFile(new URL("reports/out/validate-models.md", ROOT), text);
  if (options.write === true) {
    await Deno.writeTextFile(new URL("docs/accuracy.md", ROOT), text);
    files.push("docs/accuracy.md", "models/media/calibration/residuals.json");
  }
  return {
    media: validation.media,
    targets: [...targetLines(validation), ...effectLines(effects), ...openTargetLines(open)],
    files,
  };
}
