/**
 * `numactl --hardware`: nodes, their CPUs, memory and distances. Nodes without CPUs have an empty list; numbers of nodes
 * may have gaps.
 *
 * @module
 */

import type { NumactlNode } from "../inventory/inventory.ts";
import { known, type Parsed, unknown } from "../inventory/tool.ts";

/** Distance of a node to itself; ACPI 6.5, 5.2.17 (SLIT). */
const SELF = 10;

/** `0-1,3` as numbers; undefined: it is no such list. */
function numbers(list: string): number[] | undefined {
  const all: number[] = [];
  for (const part of list.split(",")) {
    const match = /^(\d{1,4})(?:-(\d{1,4}))?$/.exec(part);
    if (match === null) return undefined;
    const [from, to] = [Number(match[1]), Number(match[2] ?? match[1])];
    if (to < from || from <= (all.at(-1) ?? -1)) return undefined;
    for (let one = from; one <= to; one++) all.push(one);
  }
  return all;
}

/** The rows below `node distances:`; a text says what is wrong. */
function distancesOf(lines: readonly string[], nodes: readonly number[]): Map<number, number[]> | string {
  const [header = "", ...rows] = lines;
  if (header.trim().split(/\s+/).join(" ") !== `node ${nodes.join(" ")}`) {
    return "the head of the distances does not name the nodes";
  }
  if (rows.length !== nodes.length) return "the table of distances is not complete";
  const table = new Map<number, number[]>();
  for (const [i, row] of rows.entries()) {
    const match = /^\s*(\d+):((?:\s+[1-9]\d*)+)\s*$/.exec(row);
    const values = match?.[2]?.trim().split(/\s+/).map(Number) ?? [];
    if (Number(match?.[1] ?? NaN) !== nodes[i] || values.length !== nodes.length) {
      return `the distances of node ${nodes[i]} are not complete`;
    }
    // Less than 10 is reserved, 255 means that there is no way.
    if (values[i] !== SELF || values.some((value) => value < SELF || value > 255)) {
      return `the distances of node ${nodes[i]} are no distances`;
    }
    table.set(nodes[i] ?? 0, values);
  }
  return table;
}

/** Parses what `numactl --hardware` printed. */
export function parseNumactl(text: string): Parsed<readonly NumactlNode[]> {
  const lines = text.split("\n");
  if (lines.pop() !== "") return unknown("its last line is not complete", text);
  const head = /^available: (\d+) nodes? \(([\d,-]+)\)$/.exec(lines[0] ?? "");
  const nodes = numbers(head?.[2] ?? "");
  if (nodes === undefined || nodes.length !== Number(head?.[1])) {
    return unknown('its first line is not "available: N nodes (…)" with as many nodes', text);
  }
  const memory = nodes.length * 3;
  if (lines[memory + 1] !== "node distances:") return unknown("the lines of the nodes are not complete", text);
  const distances = distancesOf(lines.slice(memory + 2), nodes);
  if (typeof distances === "string") return unknown(distances, text);
  const found: NumactlNode[] = [];
  for (const [i, node] of nodes.entries()) {
    const [cpus = "", size = "", free = ""] = lines.slice(1 + 3 * i, 4 + 3 * i);
    const list = new RegExp(`^node ${node} cpus:((?: (?:0|[1-9]\\d{0,3}))*) ?$`).exec(cpus)?.[1];
    const [sizeMiB, freeMiB] = [[size, "size"], [free, "free"]].map(([line = "", word]) =>
      Number(new RegExp(`^node ${node} ${word}: (0|[1-9]\\d*) MB$`).exec(line)?.[1] ?? NaN)
    );
    if (list === undefined) return unknown(`the CPUs of node ${node} are not listed`, text);
    if (sizeMiB === undefined || freeMiB === undefined || !Number.isSafeInteger(sizeMiB * 2 ** 20)) {
      return unknown(`the memory of node ${node} is not listed`, text);
    }
    if (!(freeMiB <= sizeMiB)) return unknown(`node ${node} has more free memory than memory`, text);
    const row = distances.get(node) ?? [];
    found.push({
      node,
      cpus: list.trim() === "" ? [] : list.trim().split(" ").map(Number),
      sizeMiB,
      freeMiB,
      distances: Object.fromEntries(nodes.map((other, j) => [other, row[j] ?? 0])),
    });
  }
  const cpus = found.flatMap((node) => node.cpus);
  return new Set(cpus).size === cpus.length ? known(found) : unknown("a CPU belongs to two nodes", text);
}
