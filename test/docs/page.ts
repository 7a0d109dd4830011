/** Markdown pages as tests see them: headings, and fenced blocks below them. */

/** A fenced block. */
export interface Block {
  /** What stands behind the fence, e.g. `sh`. */
  readonly language: string;
  readonly text: string;
  /** Line of its fence. */
  readonly line: number;
}

/** A heading with the blocks up to the next one. */
export interface Section {
  /** Headings from the second level down to this one, e.g. `Cloud VM / Virtual NVDIMMs`; `""` above the first. */
  readonly path: string;
  readonly blocks: readonly Block[];
}

/** The sections of a page, in order. */
export function sectionsOf(markdown: string): Section[] {
  const sections: { path: string; blocks: Block[] }[] = [{ path: "", blocks: [] }];
  const headings: string[] = [];
  let block: { language: string; lines: string[]; line: number } | undefined;
  for (const [index, line] of markdown.split("\n").entries()) {
    if (block !== undefined) {
      if (line !== "```") {
        block.lines.push(line);
        continue;
      }
      const { language, lines, line: at } = block;
      sections.at(-1)?.blocks.push({ language, text: lines.join("\n"), line: at });
      block = undefined;
      continue;
    }
    const fence = /^```(.*)$/.exec(line);
    if (fence !== null) block = { language: fence[1] ?? "", lines: [], line: index + 1 };
    const [, marks = "", title = ""] = /^(##+) (.*)$/.exec(line) ?? [];
    if (marks === "") continue;
    headings.splice(marks.length - 2, headings.length, title);
    sections.push({ path: headings.join(" / "), blocks: [] });
  }
  if (block !== undefined) throw new Error(`The block in line ${block.line} has no end`);
  return sections;
}

/** The text of all blocks of a language in a section. */
export function blocksOf(markdown: string, path: string, language: string): string[] {
  const found = sectionsOf(markdown).filter((section) => section.path === path);
  const [section] = found;
  if (section === undefined || found.length > 1) throw new Error(`There are ${found.length} sections "${path}"`);
  return section.blocks.filter((block) => block.language === language).map(({ text }) => text);
}
