// @ts-types="@commander-js/extra-typings"
import { Argument, type Command } from "commander";
import { shippedScenarios } from "../mod.ts";
import type { Context } from "./main.ts";
import { type ToldVerb, verbsOf } from "./program_tree.ts";

/** Shells that completions are written for. */
export const SHELLS = ["bash", "zsh", "fish"] as const;
/** One of {@linkcode SHELLS}. */
export type Shell = typeof SHELLS[number];

/** Verbs whose arguments may be names of shipped scenarios. */
const TAKE_SCENARIOS = ["run", "validate"];

function bash(verbs: readonly ToldVerb[]): string {
  const cases = verbs.map(({ name, options, words }) => {
    const listed = options.flatMap(({ long, value }) =>
      typeof value === "string" ? [] : [`        ${long}) given='${value.join(" ")}' ;;`]
    );
    const text = options.filter(({ value }) => value === "text").map(({ long }) => long);
    const values = [...listed, ...(text.length === 0 ? [] : [`        ${text.join("|")}) given=files ;;`])];
    return `    ${name})
      options='${options.map(({ long }) => long).join(" ")} --help'
      words='${words.join(" ")}'
${values.length === 0 ? "" : `      case $before in\n${values.join("\n")}\n      esac\n`}      ;;`;
  });
  return `# Completions of tierbench for bash, written by "tierbench completions bash".
_tierbench() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} verb='' options='' words='' given='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
      -*) ;;
      *) verb=\${COMP_WORDS[i]}; break ;;
    esac
  done
  COMPREPLY=()
  case $verb in
    '')
      mapfile -t COMPREPLY < <(compgen -W '${verbs.map(({ name }) => name).join(" ")} help --help --version' -- "$word")
      return
      ;;
${cases.join("\n")}
    *) options='--help' ;;
  esac
  if [[ -n $given && $given != files ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$given" -- "$word")
  elif [[ -z $given && $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  else
    [[ -n $given ]] && words=''
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word"; compgen -f -- "$word")
  fi
}
complete -o filenames -F _tierbench tierbench
`;
}

/** A text within single quotes of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function zsh(verbs: readonly ToldVerb[]): string {
  // In a description of _arguments brackets and colons mean something.
  const about = (text: string) => text.replaceAll(/[\\\[\]:]/g, "\\$&");
  const cases = verbs.map(({ name, options, words }) => {
    const specs = options.map(({ long, about: what, value }) => {
      const ending = value === "none" ? "" : value === "text" ? ":value:_files" : `:value:(${value.join(" ")})`;
      return `        ${quoted(`${long}[${about(what)}]${ending}`)}`;
    });
    const rest = words.length === 0
      ? "'*:file:_files'"
      : `'*:word:{_alternative "words:word:(${words.join(" ")})" "files:file:_files"}'`;
    return `      ${name})\n        _arguments \\\n${[...specs, `        ${rest}`].join(" \\\n")}\n        ;;`;
  });
  return `#compdef tierbench
# Completions of tierbench for zsh, written by "tierbench completions zsh".
_tierbench() {
  if (( CURRENT == 2 )); then
    local -a verbs
    verbs=(
${verbs.map(({ name, about: what }) => `      ${quoted(`${name}:${what.replaceAll(":", "\\:")}`)}`).join("\n")}
    )
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  shift words
  (( CURRENT-- ))
  case $verb in
${cases.join("\n")}
      *) _files ;;
  esac
}
if [[ \${funcstack[1]} == _tierbench ]]; then _tierbench "$@"; else compdef _tierbench tierbench; fi
`;
}

function fish(verbs: readonly ToldVerb[]): string {
  const inFish = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const lines = verbs.flatMap(({ name, about, options, words }) => [
    `complete -c tierbench -f -n __fish_use_subcommand -a ${name} -d ${inFish(about)}`,
    ...(words.length === 0
      ? []
      : [`complete -c tierbench -n '__fish_seen_subcommand_from ${name}' -a ${inFish(words.join(" "))}`]),
    ...options.map(({ long, about: what, value }) => {
      const after = value === "none" ? "" : value === "text" ? " -r" : ` -x -a ${inFish(value.join(" "))}`;
      const option = `complete -c tierbench -n '__fish_seen_subcommand_from ${name}' -l ${long.slice(2)}`;
      return `${option}${after} -d ${inFish(what)}`;
    }),
  ]);
  return `# Completions of tierbench for fish, written by "tierbench completions fish".\n${lines.join("\n")}\n`;
}

const WRITERS: { readonly [shell in Shell]: (verbs: readonly ToldVerb[]) => string } = { bash, zsh, fish };

/** Names that are proposed where a verb takes a scenario. */
export async function scenarioNames(): Promise<string[]> {
  return (await shippedScenarios()).map(({ name }) => name);
}

/** The completions of a program for a shell; `scenarios` are among the words of verbs that take one. */
export function completions(program: Command, shell: Shell, scenarios: readonly string[]): string {
  const verbs = verbsOf(program).map((verb) =>
    TAKE_SCENARIOS.includes(verb.name) ? { ...verb, words: scenarios } : verb
  );
  return WRITERS[shell](verbs);
}

const HELP = `
Try them in this shell, or have them in each one ("tierbench install" puts them where shells look):
  source <(tierbench completions bash)
  tierbench completions fish > ~/.config/fish/completions/tierbench.fish`;

/** `tierbench completions`: what a shell proposes after "tierbench". */
export function addCompletions(program: Command, { terminal }: Context): void {
  program.command("completions")
    .description("print completions of verbs, options and shipped scenarios for a shell")
    .addArgument(new Argument("<shell>", "which").choices(SHELLS))
    .addHelpText("after", HELP)
    .action(async (shell) => terminal.out(completions(program, shell, await scenarioNames())));
}
