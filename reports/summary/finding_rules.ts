/**
 * The rules behind {@linkcode findingsOf}, one each. A rule says nothing where the records lack what it needs: results of
 * earlier versions have no conditions, say. Their bounds are the only constants here, and docs/how-numbers-are-made.md lists
 * them.
 *
 * @module
 */

import { MACHINE_RULES } from "./finding_machine.ts";
import { MEDIA_RULES } from "./finding_media.ts";
import type { Rule } from "./finding_parts.ts";
import { SAMPLE_RULES } from "./finding_samples.ts";
import { TURN_RULES } from "./finding_turns.ts";

/** All rules. */
export const RULES: readonly Rule[] = [...MEDIA_RULES, ...SAMPLE_RULES, ...TURN_RULES, ...MACHINE_RULES];
