/**
 * JSON with comments as a value and as a tree with places. Every field of the text is a field of the value, `__proto__`
 * included, which is an ordinary field of its object and never its prototype.
 *
 * @module
 */

import { type Node, type ParseError, parseTree } from "./jsonc_parser.ts";
import { put } from "./names.ts";
import { withoutMark } from "./user_file.ts";

/** What a text was read as. */
interface Jsonc {
  /** The value; undefined for a text without one. */
  readonly value: unknown;
  /** The same with places; undefined for a text without a value, and for one that is nested too deeply. */
  readonly tree: Node | undefined;
  /** What is wrong with the text, in its order, as far as it was read. */
  readonly errors: readonly ParseError[];
  /** Whether it is nested more deeply than anything people write, and was not read. */
  readonly tooDeep: boolean;
}

/** Reads JSON with comments and trailing commas, as far as it can be read. */
export function readJsonc(text: string): Jsonc {
  const errors: ParseError[] = [];
  try {
    const tree = parseTree(withoutMark(text), errors, { allowTrailingComma: true });
    return { value: tree === undefined ? undefined : valueOf(tree), tree, errors, tooDeep: false };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error; // the stack is full
    return { value: undefined, tree: undefined, errors, tooDeep: true };
  }
}

function valueOf(node: Node): unknown {
  if (node.type === "array") return (node.children ?? []).map(valueOf);
  if (node.type !== "object") return node.value;
  const object = {};
  for (const { children: [key, value] = [] } of node.children ?? []) {
    if (key !== undefined && value !== undefined) put(object, key.value as string, valueOf(value));
  }
  return object;
}
