/**
 * Bundles of scripts in pages, where the bundler can be had.
 *
 * @module
 */

import { bundleClient } from "../../reports/html/build_client.ts";

/** A bundle, or the end of a test's name that says why there is none. */
export interface Bundled {
  readonly bundle?: string;
  readonly skipped: string;
}

/** Bundles a folder's client; that of the report's page unless another is given. */
export async function bundled(folder?: URL): Promise<Bundled> {
  try {
    return { bundle: folder === undefined ? await bundleClient() : await bundleClient(folder), skipped: "" };
  } catch (error) {
    if (!(error instanceof Error) || !/error sending request|dns|esbuild.*(not found|download)/i.test(error.message)) {
      throw error;
    }
    return { skipped: " (skipped: the bundler cannot be fetched here)" };
  }
}
