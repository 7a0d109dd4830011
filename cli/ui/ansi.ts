/**
 * Colours and moves of the cursor. They carry a number that is drawn when the command starts, and that no file can know:
 * {@linkcode safeTerminal} lets these through and shows every other control character as text.
 *
 * @module
 */

import type { Terminal } from "./terminal.ts";
import { shownText } from "../../mod.ts";

/** Colours of a terminal; without colours the text stays as it is. */
export interface Style {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
}

const OURS = crypto.getRandomValues(new Uint32Array(3)).join("");
const COLOUR = new RegExp(`\u001b\\[(\\d+);${OURS}m`);
const ERASE = `\u001b[${OURS}K`;

/** Colours, or none. */
export function styleFor(colors: boolean): Style {
  const wrap = (on: number, off: number) => (text: string) =>
    colors ? `\u001b[${on};${OURS}m${text}\u001b[${off};${OURS}m` : text;
  return { bold: wrap(1, 22), dim: wrap(2, 22), red: wrap(31, 39), green: wrap(32, 39), yellow: wrap(33, 39) };
}

/** Returns to the start of the line and clears it. */
export const CLEAR_LINE: string = ERASE;

/** Text for a terminal: what is ours as the terminal knows it, everything else without effect. */
export function terminalText(text: string): string {
  return text.split(ERASE).map((piece) =>
    piece.split(COLOUR).map((part, i) => i % 2 === 1 ? `\u001b[${part}m` : shownText(part)).join("")
  ).join("\r\u001b[2K");
}

/** A terminal on which files can move nothing: the one home of what the command writes. */
export function safeTerminal(terminal: Terminal): Terminal {
  const { out, err } = terminal;
  return { ...terminal, out: (text) => out(terminalText(text)), err: (text) => err(terminalText(text)) };
}
