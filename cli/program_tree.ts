/**
 * The verbs of the command with their words, as completions and the manual tell them.
 *
 * @module
 */

import type { EventEmitter } from "node:events";
// @ts-types="@commander-js/extra-typings"
import { type Command, Help, type Option } from "commander";

/** An option of a verb. */
export interface ToldOption {
  /** As `--help` writes it: `-o, --out <folder>`. */
  readonly flags: string;
  /** `--out`. */
  readonly long: string;
  /** What it does, one line, with its default and what it may be. */
  readonly about: string;
  /** The word that follows it: none, one of these, or a text, most often a file. */
  readonly value: "none" | "text" | readonly string[];
}

/** A verb of the command. */
export interface ToldVerb {
  readonly name: string;
  readonly about: string;
  /** How it is called: `size [options] <file>`. */
  readonly usage: string;
  readonly options: readonly ToldOption[];
  /** What its arguments may be, where they are of a few words; files otherwise. */
  readonly words: readonly string[];
  /** What `--help` says after the options: notes and examples. */
  readonly more: string;
}

function toldOption(option: Option): ToldOption {
  const { flags, long, argChoices, required, optional } = option;
  const value = argChoices ?? (required || optional ? "text" : "none");
  return { flags, long: long ?? flags, about: new Help().optionDescription(option), value };
}

/** What follows the options in a command's help. */
export function textAfterHelp(command: Command): string {
  let text = "";
  // Commander is an emitter, which its finer types leave out.
  (command as Command & EventEmitter).emit("afterHelp", {
    error: false,
    command,
    write: (part: string) => void (text += part),
  });
  return text.trim();
}

/** The verbs, in the order of `--help`. */
export function verbsOf(program: Command): ToldVerb[] {
  return program.commands.map((verb) => ({
    name: verb.name(),
    about: verb.description(),
    usage: `${verb.name()} ${verb.usage()}`.trim(),
    options: verb.options.filter(({ hidden, long }) => !hidden && long !== undefined).map(toldOption),
    words: verb.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    more: textAfterHelp(verb as Command),
  }));
}
