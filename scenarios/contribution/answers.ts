/**
 * What only the owner of a machine can say. Nothing is filled in: a question without an answer is shown as open.
 *
 * @module
 */

import { foundText } from "../../base/diagnostics.ts";
import { nearest } from "../../base/nearest.ts";
import { readJsonc } from "../../base/jsonc.ts";
import { printParseErrorCode } from "../../base/jsonc_parser.ts";
import type { Question } from "./record.ts";

/** The questions, in the order in which they are shown. */
export const QUESTIONS: readonly Question[] = [
  {
    id: "modules",
    question: "Which modules or cards, how many on each channel or link, at what speed? " +
      "(such as: 6 × 128 GB Optane 100 a socket, one a channel, beside 6 × 32 GB DDR4-2933)",
  },
  {
    id: "firmware",
    question: "Firmware settings that matter: version, snoop mode, ADR or eADR, interleaving, sub-NUMA clusters?",
  },
  { id: "idle", question: "Was the machine otherwise idle, the other socket as well?" },
];

/** Answers by question, and remarks that belong to none. */
export interface Answers {
  /** Question → answer. */
  readonly answers: Readonly<Record<string, string>>;
  /** Notes that answer no question. */
  readonly notes: readonly string[];
}

/** Answers that cannot be used. */
export class AnswerError extends Error {
  /** The error. @param message What was found and what to do. */
  constructor(message: string) {
    super(message);
    this.name = "AnswerError";
  }
}

const IDS = QUESTIONS.map(({ id }) => id);

/**
 * Answers from the words of a command: `modules: 6 × 128 GB` answers a question, anything else is a remark.
 *
 * @throws {AnswerError} if a question is answered twice, or an answer is empty.
 */
export function parseNotes(notes: readonly string[]): Answers {
  const answers: Record<string, string> = {};
  const free: string[] = [];
  for (const note of notes) {
    const [, id, text] = /^\s*([a-z-]+)\s*:\s*([\s\S]*)$/.exec(note) ?? [];
    if (id === undefined || text === undefined || !IDS.includes(id)) {
      if (note.trim() === "") throw new AnswerError("Cannot use the note: it is empty");
      free.push(note.trim());
      continue;
    }
    if (text.trim() === "") throw new AnswerError(`Cannot use the answer "${id}": it is empty`);
    if (answers[id] !== undefined) throw new AnswerError(`Cannot use the answer "${id}": it was given twice`);
    answers[id] = text.trim();
  }
  return { answers, notes: free };
}

/**
 * Answers from the text of a file: a JSON object, comments allowed, of question to text, and `notes`, a list of texts.
 *
 * @param text The text.
 * @param file What messages call it.
 * @throws {AnswerError} naming the field that is wrong.
 */
export function parseAnswers(text: string, file: string): Answers {
  const refuse = (what: string): never => {
    throw new AnswerError(`Cannot use the answers of "${file}": ${what}`);
  };
  if (text.trim() === "") return refuse("it is empty");
  const { value, errors: [error], tooDeep } = readJsonc(text);
  if (tooDeep) return refuse("its lists or objects are nested too deeply to be read");
  if (error !== undefined) return refuse(`${printParseErrorCode(error.error)} at offset ${error.offset}`);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return refuse("expected an object");
  const answers: Record<string, string> = {};
  let notes: string[] = [];
  for (const [field, given] of Object.entries(value)) {
    if (field === "notes") {
      if (!Array.isArray(given) || !given.every((one): one is string => typeof one === "string" && one.trim() !== "")) {
        return refuse('expected "notes" to be a list of texts');
      }
      notes = given.map((one) => one.trim());
    } else if (!IDS.includes(field)) {
      const meant = nearest(field, [...IDS, "notes"]);
      return refuse(
        `unknown question "${field}"; ${
          meant === undefined ? `those asked are ${IDS.join(", ")}` : `did you mean "${meant}"?`
        }`,
      );
    } else if (typeof given !== "string" || given.trim() === "") {
      return refuse(`expected a text for "${field}", found ${foundText(given)}`);
    } else answers[field] = given.trim();
  }
  return { answers, notes };
}

/** Two sets of answers as one; what the second says counts. */
export function joinAnswers(first: Answers, second: Answers): Answers {
  return { answers: { ...first.answers, ...second.answers }, notes: [...first.notes, ...second.notes] };
}
