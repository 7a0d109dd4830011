/**
 * `tierbench validate-models`: compares, and writes what it found.
 *
 * @module
 */

import { accuracyText, targetLines } from "./accuracy.ts";
import { type ErrorSummary, type ModelValidation, validateModels } from "./validate.ts";

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

/** The residuals as `scenarios/media/residuals.json` holds them. */
export function residualsText({ residuals }: ModelValidation): string {
  return `${JSON.stringify(residuals, undefined, 2)}\n`;
}

/**
 * Compares the media models with every published figure and writes the comparison to
 * `reports/out/validate-models.md`.
 *
 * @param options `write`: also `docs/accuracy.md` and `scenarios/media/residuals.json`, which error bands are made of.
 * @throws {TierstoreError} If the library refuses a model.
 */
export async function validateMediaModels(options: { readonly write?: boolean } = {}): Promise<MediaModelsValidated> {
  const validation = await validateModels();
  const text = accuracyText(validation);
  const files = ["reports/out/validate-models.md"];
  await Deno.mkdir(new URL("reports/out/", ROOT), { recursive: true });
  await Deno.writeTextFile(new URL(files[0] ?? "", ROOT), text);
  if (options.write === true) {
    await Deno.writeTextFile(new URL("docs/accuracy.md", ROOT), text);
    await Deno.writeTextFile(new URL("scenarios/media/residuals.json", ROOT), residualsText(validation));
    files.push("docs/accuracy.md", "scenarios/media/residuals.json");
  }
  return { media: validation.media, targets: targetLines(validation), files };
}
