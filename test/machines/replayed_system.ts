/** A system that answers from a list: what it does not know is not installed, or not there. */

import type { System } from "../../machines/inventory/system.ts";
import type { ToolOutput } from "../../machines/inventory/tool.ts";

export interface Recording {
  /** Command, words separated by blanks → what it prints, or all of its output. */
  readonly commands?: Readonly<Record<string, string | Partial<Omit<ToolOutput, "command">>>>;
  /** Path → text, or the error of reading it. */
  readonly files?: Readonly<Record<string, string | Error>>;
  readonly root?: boolean;
}

export interface ReplayedSystem extends System {
  /** Commands in the order they were asked. */
  readonly asked: readonly string[];
}

/** A system whose directories are those of its files. */
export function replayedSystem({ commands = {}, files = {}, root = true }: Recording): ReplayedSystem {
  const asked: string[] = [];
  return {
    root,
    asked,
    run(argv) {
      const command = argv.join(" ");
      asked.push(command);
      const answer = commands[command];
      if (answer === undefined) return Promise.resolve(undefined);
      const output = typeof answer === "string" ? { stdout: answer } : answer;
      return Promise.resolve({ command: argv, code: 0, stdout: "", stderr: "", ...output });
    },
    readText(path) {
      const text = files[path];
      return text instanceof Error ? Promise.reject(text) : Promise.resolve(text);
    },
    list(path) {
      const inside = Object.keys(files).filter((file) => file.startsWith(`${path}/`));
      const names = inside.map((file) => file.slice(path.length + 1)).filter((name) => !name.includes("/"));
      return Promise.resolve(inside.length === 0 ? undefined : names.sort());
    },
  };
}
