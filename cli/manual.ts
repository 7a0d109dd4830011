// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { answerText } from "./answers.ts";
import type { Context } from "./main.ts";
import { textAfterHelp, type ToldVerb, verbsOf } from "./program_tree.ts";
import { VERSION } from "../mod.ts";

/** A line of roff: no dot or quote at its beginning means a request, backslashes and dashes are themselves, the rest is ASCII. */
function line(text: string): string {
  const escaped = text.replaceAll("\\", "\\e").replaceAll("-", "\\-").replaceAll(
    /[^\x20-\x7e]/gu,
    (letter) => `\\[u${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`,
  );
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}

/** Text as it stands. */
function literal(text: string): string[] {
  return [".nf", ...text.split("\n").map(line), ".fi"];
}

function verbText({ usage, about, options, more }: ToldVerb): string[] {
  return [
    `.SS ${line(usage)}`,
    `${line(about)}.`,
    ...options.flatMap(({ flags, about }) => [".TP", `.B ${line(flags)}`, line(about)]),
    ...(more === "" ? [] : [".PP", ...literal(more)]),
  ];
}

/** The manual of a program as a page for `man`, section 1. */
export function manual(program: Command): string {
  return [
    `.TH TIERBENCH 1 "" "tierbench ${VERSION}" "User Commands"`,
    ".SH NAME",
    `tierbench \\- ${line(program.description())}`,
    ".SH SYNOPSIS",
    ".B tierbench",
    ".I verb",
    "[options] [arguments]",
    ".SH VERBS",
    ...verbsOf(program).flatMap(verbText),
    ".SH EXAMPLES AND EXIT CODES",
    ...literal(textAfterHelp(program)),
    "",
  ].join("\n");
}

/** `tierbench manual`: the manual as a page for `man`. */
export function addManual(program: Command, { terminal }: Context): void {
  program.command("manual")
    .description("print the manual of all verbs as a page for man: tierbench manual | man -l -")
    .option("--json", "for machines: every verb with its words and options")
    .action(({ json }) => terminal.out(json === true ? answerText("manual", verbsOf(program)) : manual(program)));
}
