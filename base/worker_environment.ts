/**
 * What a process that measures finds in its environment: the same wherever it is started from.
 *
 * @module
 */

/** Variables that a worker takes over from the run if they are set; all others are absent. */
const INHERITED: readonly string[] = ["PATH", "HOME", "DENO_DIR", "TMPDIR", "LD_LIBRARY_PATH", "TIERBENCH_LIBRARY"];

/** The whole environment of a worker: the few inherited variables, then those of the sample. */
export function workerEnvironment(
  own: Readonly<Record<string, string>>,
  inherited: (name: string) => string | undefined = (name) => Deno.env.get(name),
): Record<string, string> {
  const taken = INHERITED.flatMap((name) => {
    const value = inherited(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(taken), LC_ALL: "C", NO_COLOR: "1", ...own };
}
