import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { answerText } from "./answers.ts";
import { completions, scenarioNames } from "./completions.ts";
import { UsageError } from "./exit_codes.ts";
import type { Context } from "./main.ts";
import { manual } from "./manual.ts";

/** Where the suite lies. */
const ROOT = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");

/** In every file that is written, so that no other is overwritten or removed. */
const MARK = /written by "tierbench |^\.TH TIERBENCH 1 /;

/** A text as one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** What starts the command line from any folder: the Deno of the path, or the one that wrote it. */
function launcher(): string {
  return `#!/bin/sh
# tierbench's launcher, written by "tierbench install".
root=${quoted(ROOT)}
deno=$(command -v deno) || deno=${quoted(Deno.execPath())}
if [ ! -e "$root/setup/main.ts" ]; then
  echo "tierbench: nothing is at $root any more; run \"deno task tierbench install\" where it is now" >&2
  exit 4
fi
exec "$deno" run --quiet --config "$root/deno.json" -A "$root/setup/main.ts" tierbench "$@"
`;
}

/** The files of an installation by their paths under its folder; each is made of the program and names of scenarios. */
const FILES: Readonly<Record<string, (program: Command, scenarios: readonly string[]) => string>> = {
  "bin/tierbench": launcher,
  "share/man/man1/tierbench.1": manual,
  "share/bash-completion/completions/tierbench": (program, scenarios) => completions(program, "bash", scenarios),
  "share/zsh/site-functions/_tierbench": (program, scenarios) => completions(program, "zsh", scenarios),
  "share/fish/vendor_completions.d/tierbench.fish": (program, scenarios) => completions(program, "fish", scenarios),
};

/** What is in a file; undefined if there is none. */
async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

const HELP = `
The launcher starts this checkout; no file of it is copied. Nothing outside the folder is changed, and a file of another
program is never overwritten.

Examples:
  tierbench install                         under ~/.local: the command "tierbench" in every folder
  sudo tierbench install --prefix /usr/local
  tierbench install --remove                takes it away again`;

/** `tierbench install`: a launcher, completions and the manual where shells look for them. */
export function addInstall(program: Command, { terminal }: Context): void {
  program.command("install")
    .description("put the command tierbench, its completions and its manual under a folder such as ~/.local")
    .option("--prefix <folder>", "the folder", join(homedir(), ".local"))
    .option("--remove", "remove what was put there")
    .option("--json", "for machines: files written and removed, whether shells find the command")
    .addHelpText("after", HELP)
    .action(async ({ prefix, remove, json }) => {
      const files = Object.entries(FILES).map(([path, text]) => [resolve(prefix, path), text] as const);
      const found = await Promise.all(files.map(async ([path]) => [path, await textOf(path)] as const));
      for (const [path, text] of found) {
        if (text === undefined || MARK.test(text)) continue;
        throw new UsageError(
          `Cannot ${remove ? "remove" : "write"} ${path}: it is not tierbench's; move it, or choose another --prefix`,
        );
      }
      const scenarios = remove ? [] : await scenarioNames();
      const done: string[] = [];
      for (const [path, text] of files) {
        if (remove) {
          await rm(path, { force: true });
        } else {
          await mkdir(dirname(path), { recursive: true });
          await writeFile(path, text(program, scenarios));
          if (path.endsWith("/bin/tierbench")) await chmod(path, 0o755);
        }
        if (!remove || found.some(([other, text]) => other === path && text !== undefined)) {
          done.push(path);
          if (!json) terminal.out(`${remove ? "removed " : "written "} ${path}\n`);
        }
      }
      const bin = resolve(prefix, "bin");
      const inPath = (Deno.env.get("PATH") ?? "").split(":").includes(bin);
      if (json) {
        return terminal.out(
          answerText("install", { written: remove ? [] : done, removed: remove ? done : [], inPath }),
        );
      }
      if (!remove && !inPath) {
        terminal.err(`note     ${bin} is not in PATH: shells find the command when it is\n`);
      }
    });
}
