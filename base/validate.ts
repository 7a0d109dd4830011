/**
 * Turns the schema's findings into words for people: what was expected, what was found, what was probably meant.
 *
 * @module
 */

import * as v from "./valibot.ts";
import { type DocumentPath, foundText, type Problem } from "./diagnostics.ts";
import { nearest } from "./nearest.ts";
import { isReserved, own } from "./names.ts";
import { shownLine } from "./shown.ts";

/** What a valibot schema may carry, as far as it is walked here. */
interface SchemaNode {
  readonly type?: string;
  readonly entries?: Readonly<Record<string, SchemaNode>>;
  readonly value?: SchemaNode;
  readonly item?: SchemaNode;
  readonly wrapped?: SchemaNode;
  readonly getter?: (input: unknown) => SchemaNode;
  readonly options?: readonly unknown[];
}

/** Words for fields whose values are names of a list; `known` are names beside it, and why they cannot be used. */
interface ListWords {
  readonly noun: string;
  readonly all?: string;
  readonly known?: readonly { readonly names: RegExp; readonly why: string }[];
}

const LISTS: Readonly<Record<string, ListWords>> = {
  storage: {
    noun: "storage type",
    all: "all types: docs/scenarios.md#storage",
    known: [
      { names: /^NULL$/, why: "keeps no rows: nothing is trained on it, and no figure of it compares with others" },
    ],
  },
  pmem: { noun: "PMEM library" },
  hbm: { noun: "way to hold HBM" },
  synthetic: { noun: "data set" },
  skew: { noun: "skew", all: "all skews: docs/scenarios.md#skew" },
  initializer: { noun: "initializer" },
  wide: { noun: "optimizer" },
  embedding: { noun: "optimizer" },
  deep: { noun: "optimizer" },
  model: { noun: "model" },
  executor: { noun: "executor" },
};

function unwrap(node: SchemaNode | undefined, input: unknown): SchemaNode | undefined {
  let current = node;
  while (current?.wrapped !== undefined || current?.getter !== undefined) {
    current = current.wrapped ?? current.getter?.(input);
  }
  return current;
}

/** The schema at a path of a document, following the options that the document means. */
function schemaAt(schema: SchemaNode, path: DocumentPath, document: unknown): SchemaNode | undefined {
  let input = document;
  let node = unwrap(schema, input);
  for (const key of path) {
    input = typeof input === "object" && input !== null ? own(input as Record<string, unknown>, `${key}`) : undefined;
    const entry = own(node?.entries ?? {}, `${key}`);
    node = unwrap(entry ?? (node?.type === "record" ? node.value : node?.item), input);
  }
  return node;
}

/** Words for rules whose schema has no message of its own. */
const RULES: Readonly<Record<string, (requirement: unknown) => string>> = {
  integer: () => "a whole number",
  finite: () => "a finite number",
  min_value: (least) => `${least} or more`,
  max_value: (most) => `${most} or less`,
  min_length: (least) => `a length of ${least} or more`,
  max_length: (most) => `a length of ${most} or less`,
};

function expectedText(issue: v.BaseIssue<unknown>): string {
  if (issue.message.startsWith("expected ")) return issue.message;
  const rule = own(RULES, issue.type);
  if (rule !== undefined) return `expected ${rule(issue.requirement)}`;
  const words: Readonly<Record<string, string>> = {
    Object: "an object",
    Array: "a list",
    string: "text",
    number: "a number",
    boolean: "true or false",
  };
  const expected = issue.expected ?? "another value";
  return `expected ${own(words, expected) ?? expected.replace(/^\((.*)\)$/, "$1").replaceAll(" | ", ", ")}`;
}

function listed(choices: readonly string[]): string {
  return choices.map((choice) => `"${choice}"`).join(", ");
}

/** Choices that make a line long: they are told once a document. */
const MANY_CHOICES = 12;

/** The choices, or that they have been told already. */
function listedOnce(choices: readonly string[], told: Set<string>): string {
  const list = listed(choices);
  if (choices.length > MANY_CHOICES && told.has(list)) return `the ${choices.length} named above`;
  told.add(list);
  return list;
}

function unknownKey(schema: SchemaNode, path: DocumentPath, document: unknown): Problem {
  const key = String(path.at(-1));
  const known = Object.keys(schemaAt(schema, path.slice(0, -1), document)?.entries ?? {});
  const meant = nearest(key, known);
  return {
    path,
    message: `unknown field "${key}"`,
    hint: meant === undefined ? `known fields: ${known.join(", ")}` : `did you mean "${meant}"?`,
  };
}

function unknownName(path: DocumentPath, input: unknown, choices: readonly string[], told: Set<string>): Problem {
  const list = own(LISTS, String(path.at(-1)));
  if (typeof input !== "string") {
    return { path, message: `expected one of ${listedOnce(choices, told)}, found ${foundText(input)}` };
  }
  const known = list?.known?.find(({ names }) => names.test(input));
  if (known !== undefined) return { path, message: `${list?.noun} "${input}" ${known.why}` };
  const meant = nearest(input, choices);
  const message = list === undefined
    ? `expected one of ${listedOnce(choices, told)}, found ${foundText(input)}`
    : `unknown ${list.noun} ${foundText(input)}`;
  const hints = [
    ...(meant === undefined
      ? list === undefined ? [] : [`known: ${listedOnce(choices, told)}`]
      : [`did you mean "${meant}"?`]),
    ...(list?.all === undefined ? [] : [list.all]),
  ];
  return hints.length === 0 ? { path, message } : { path, message, hint: hints.join("  ") };
}

function problemOf(
  schema: SchemaNode,
  issue: v.BaseIssue<unknown>,
  document: unknown,
  told: Set<string>,
): Problem | undefined {
  const path = (issue.path ?? []).map((item) => item.key as string | number);
  if (issue.type === "strict_object" && issue.expected === "never") return unknownKey(schema, path, document);
  if (
    issue.type === "strict_object" && issue.received === "undefined" && path.length > 0 && issue.input === undefined
  ) {
    const missing = String(path.at(-1));
    const given = Object.keys((issue.path?.at(-1)?.input ?? {}) as object);
    const known = Object.keys(schemaAt(schema, path.slice(0, -1), document)?.entries ?? {});
    // A slip in the field's name is reported where it stands, as an unknown field.
    if (nearest(missing, given.filter((key) => !known.includes(key))) !== undefined) return undefined;
    return {
      path: path.slice(0, -1),
      message: `expected a field "${missing}", found ${given.length === 0 ? "none" : given.join(", ")}`,
    };
  }
  const node = schemaAt(schema, path, document);
  if (issue.type === "picklist" && node?.options !== undefined) {
    return unknownName(path, issue.input, node.options.map(String), told);
  }
  return { path, message: `${expectedText(issue)}, found ${foundText(issue.input)}` };
}

/** Objects in objects, more than any document of ours has. */
const DEEPEST = 64;

/** Names that no document may choose, and nesting without end, wherever they stand. */
function refusedFields(input: unknown, path: DocumentPath): Problem[] {
  if (typeof input !== "object" || input === null) return [];
  if (path.length > DEEPEST) return [{ path, message: `expected at most ${DEEPEST} objects or lists in one another` }];
  if (Array.isArray(input)) {
    const found: Problem[] = [];
    for (let i = 0; i < input.length; i++) { // a million step times are walked in no time
      if (typeof input[i] === "object") found.push(...refusedFields(input[i], [...path, i]));
    }
    return found;
  }
  return Object.entries(input).flatMap(([key, value]) =>
    isReserved(key)
      ? [{ path: [...path, key], message: `the name "${key}" cannot be used: every object has one of its own` }]
      : typeof value === "object"
      ? refusedFields(value, [...path, key])
      : []
  );
}

/** Lists that stand where objects are expected; valibot takes them for objects without fields. */
function misplacedLists(schema: SchemaNode, input: unknown, path: DocumentPath, document: unknown): Problem[] {
  const node = schemaAt(schema, path, document);
  const object = node?.entries !== undefined || node?.type === "record";
  if (object && Array.isArray(input)) return [{ path, message: `expected an object, found ${foundText(input)}` }];
  if (!object || typeof input !== "object" || input === null) return [];
  return Object.entries(input).flatMap(([key, value]) => misplacedLists(schema, value, [...path, key], document));
}

/** A valid document, or everything that its fields taken one by one have wrong. */
type Validation<T> = { readonly value: T } | { readonly problems: readonly Problem[] };

/** Checks a document against a schema. */
export function validate<T>(schema: v.GenericSchema<unknown, T>, document: unknown): Validation<T> {
  const node = schema as unknown as SchemaNode;
  const refused = refusedFields(document, []);
  if (refused.length > 0) return { problems: refused };
  const lists = misplacedLists(node, document, [], document);
  if (lists.length > 0) return { problems: lists };
  const result = v.safeParse(schema, document);
  if (result.success) return { value: result.output };
  const told = new Set<string>();
  const problems = result.issues.flatMap((issue) => problemOf(node, issue, document, told) ?? []);
  return { problems: problems.map((problem) => ({ ...problem, message: shownLine(problem.message) })) };
}
