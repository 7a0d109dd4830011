/**
 * Words of a bench's command line.
 *
 * @module
 */

/** What was given. */
interface Arguments {
  /** Whether `--full` was. */
  readonly full: boolean;
  /** Text of an option. */
  readonly text: (name: string) => string | undefined;
  /** A whole number, or the fallback. */
  readonly number: (name: string, fallback: number, least: number) => number;
  /** Some of the known parts, all of them unless `--only` says otherwise. */
  readonly parts: <const Part extends string>(known: readonly Part[]) => readonly Part[];
}

/**
 * Reads the words.
 *
 * @param args The words.
 * @param names Options that take a value.
 * @param usage Told with every error.
 * @throws {RangeError} With the usage, if there is one that is not known.
 */
export function readArguments(args: readonly string[], names: readonly string[], usage: string): Arguments {
  const given = new Map<string, string>();
  for (const arg of args) {
    if (arg === "--full") continue;
    const [, name = "", value = ""] = /^--([a-z]+)=(.+)$/.exec(arg) ?? [];
    if (!names.includes(name)) throw new RangeError(`Cannot read "${arg}"\n\n${usage}`);
    given.set(name, value);
  }
  return {
    full: args.includes("--full"),
    text: (name) => given.get(name),
    number(name, fallback, least) {
      const text = given.get(name);
      if (text === undefined) return fallback;
      const value = Number(text.replaceAll("_", ""));
      if (Number.isInteger(value) && value >= least) return value;
      throw new RangeError(`Cannot use --${name}=${text}: a whole number from ${least} on is needed\n\n${usage}`);
    },
    parts<const Part extends string>(known: readonly Part[]): readonly Part[] {
      const parts: readonly string[] = given.get("only")?.split(",") ?? known;
      const unknown = parts.find((part) => !known.some((one) => one === part));
      if (unknown === undefined) return parts as readonly Part[];
      throw new RangeError(`Cannot run "${unknown}": expected ${known.join(", ")}\n\n${usage}`);
    },
  };
}
