/**
 * The suite's own version.
 *
 * @module
 */

import project from "../deno.json" with { type: "json" };

/** Version of tierbench, as in `deno.json`. */
export const VERSION: string = project.version;
