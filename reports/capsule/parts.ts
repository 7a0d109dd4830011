/**
 * Cuts a page into its parts: every byte of the page is in exactly one of them, so that a changed byte has a name. A
 * part is what a reader can be told of: the style sheet, the script, the text of a section, one line of the data.
 *
 * @module
 */

/** A piece of a page. */
interface Piece {
  /** What messages call it; several pieces may have the same name. */
  readonly name: string;
  /** Its text. */
  readonly text: string;
}

/** What stands on the page until the root hash is known, and what is compared with it instead of being summed. */
export const ROOT_SLOT: string = "0".repeat(64);
/** Name of that piece. */
export const ROOT_NAME = "the root hash on the page";
/** What stands before it. No text of a result can hold it: quotes are escaped. */
export const BEFORE_ROOT = 'id="capsule-root">';

/** What the data scripts of a page are called. */
const DATA_NAMES: Readonly<Record<string, string>> = {
  "chart-data": "the data of the charts",
  contribution: "the checklist",
  options: "the options",
};

/** What data in lines is called. */
const LINE_NAMES: Readonly<Record<string, string>> = {
  result: "the records",
  prices: "the price book",
  "own-prices": "the user's prices",
};

/** Cuts a page that is whole. The texts of the pieces, joined, are the page. */
export function cutPage(page: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const element of page.matchAll(/<(style|script)\b([^>]*)>([\s\S]*?)<\/\1>/g)) {
    pieces.push(...markup(page.slice(at, element.index), at === 0));
    pieces.push(...inline(element as unknown as [string, string, string, string]));
    at = element.index + element[0].length;
  }
  pieces.push(...markup(page.slice(at), at === 0));
  return pieces.filter(({ text }) => text !== "");
}

/** A style sheet, a script, or data: JSON as one piece, lines one by one. */
function inline([whole, tag, attributes, content]: [string, string, string, string]): Piece[] {
  if (tag === "style") return [{ name: "the style sheet", text: whole }];
  const id = / id="([^"]+)"/.exec(attributes)?.[1];
  if (id === undefined) return [{ name: "the script", text: whole }];
  if (!attributes.includes("ndjson")) return [{ name: DATA_NAMES[id] ?? `the data "${id}"`, text: whole }];
  const what = LINE_NAMES[id] ?? `the data "${id}"`;
  const [first = "", ...lines] = content.split("\n");
  const frame = `the frame around ${what}`;
  const last = lines.pop() ?? "";
  return [
    { name: frame, text: `<script${attributes}>${first}\n` },
    ...lines.flatMap((line, i) => lineOf(id, line, i)),
    { name: frame, text: `${last}</script>` },
  ];
}

function lineOf(id: string, line: string, i: number): Piece[] {
  const value = JSON.parse(line) as Record<string, unknown>;
  if (id === "result") {
    return value["type"] === "run" ? runPieces(value, line) : [{ name: recordName(value), text: `${line}\n` }];
  }
  const name = id === "prices"
    ? priceName(value, i)
    : id === "own-prices"
    ? `line ${i + 1} of the user's prices ("${String(value["file"])}")`
    : `line ${i + 1} of the data "${id}"`;
  return [{ name, text: `${line}\n` }];
}

/** Members of the run record that have a name of their own. */
const RUN_MEMBERS: Readonly<Record<string, string>> = {
  scenario: "the scenario",
  machine: "the machine",
  versions: "the versions",
  data: "the data set's description",
  priceFiles: "the user's prices",
};

/** The run record by its members: `{"type":…,` and so on, `"scenario":{…},`, … */
function runPieces(run: Readonly<Record<string, unknown>>, line: string): Piece[] {
  const names = Object.keys(run);
  const texts = names.map((name, i) => {
    const member = `${escaped(name)}:${escaped(run[name])}`;
    return `${i === 0 ? "{" : ""}${member}${i === names.length - 1 ? "}\n" : ","}`;
  });
  if (texts.join("") !== `${line}\n`) return [{ name: "the run record", text: `${line}\n` }];
  return names.map((name, i) => ({ name: RUN_MEMBERS[name] ?? "the run record", text: texts[i] as string }));
}

/** JSON as it stands in a script; see `scriptJson`. */
function escaped(value: unknown): string {
  return JSON.stringify(value).replaceAll("<", "\\u003c").replaceAll("\u2028", "\\u2028")
    .replaceAll("\u2029", "\\u2029");
}

/** What a record is called. */
function recordName(record: Readonly<Record<string, unknown>>): string {
  const { type, status, id } = record as { type?: string; status?: string; id?: string };
  if (type === "run") return "the run record";
  if (type === "curve") return `the miss-ratio curve ${JSON.stringify((record as { point?: unknown }).point ?? {})}`;
  if (type === "simulated") return `the case "${String(record["case"])}"`;
  if (type === "explanation") return `the difference from "${String(record["from"])}" to "${String(record["to"])}"`;
  if (type === "quality") {
    return id === undefined || id === "quality" ? "the quality record" : `the quality record "${id}"`;
  }
  return status === "failed" ? `the failed sample "${id}"` : `the sample "${id}"`;
}

/** What a line of the price book is called: by what it prices, and from when. */
function priceName({ list, row, field }: Readonly<Record<string, unknown>>, i: number): string {
  if (typeof row !== "object" || row === null) return `the price book's "${String(field ?? i + 1)}"`;
  const { provider, name, item, from } = row as Readonly<Record<string, unknown>>;
  const what = [provider, name ?? item].filter((text) => typeof text === "string").join(" ");
  const since = typeof from === "string" ? ` of ${from}` : "";
  return what === "" ? `row ${i + 1} of the price book (${String(list)})` : `the price of "${what}"${since}`;
}

/** Markup by sections. */
function markup(text: string, isHead: boolean): Piece[] {
  return text.split(/(?=<\/head>|<section\b|<footer>)/).flatMap((part) => slots(part, placeName(part, isHead)));
}

function placeName(text: string, isHead: boolean): string {
  if (text.startsWith("<section")) {
    const tag = text.slice(0, text.indexOf(">"));
    const id = / aria-labelledby="([^"]+)"/.exec(tag)?.[1] ?? / class="([^" ]+)/.exec(tag)?.[1] ??
      / id="([^"]+)"/.exec(tag)?.[1];
    return id === undefined ? "the text of a section" : `the text of the section "${id}"`;
  }
  if (text.startsWith("<footer>")) return "the text of the footer";
  if (text.startsWith("</head>")) return text.includes("<main>") ? "the text of the heading" : "the head of the page";
  return isHead ? "the head of the page" : "the frame of the page";
}

/** The root hash is a piece of its own. */
function slots(text: string, name: string): Piece[] {
  const at = text.indexOf(`${BEFORE_ROOT}${ROOT_SLOT}`);
  if (at < 0) return [{ name, text }];
  const [from, to] = [at + BEFORE_ROOT.length, at + BEFORE_ROOT.length + ROOT_SLOT.length];
  return [{ name, text: text.slice(0, from) }, { name: ROOT_NAME, text: ROOT_SLOT }, { name, text: text.slice(to) }];
}
