/**
 * `ipmctl show -memoryresources` and `ipmctl show -dimm`. Version 1 lists capacities, later ones print tables whose
 * columns are as wide as their content; the column of the modules is `DCPMM` in version 2 and `PMemModule` in version 3
 * (ipmctl-show-memory-resources(1), ipmctl-show-device(1)).
 *
 * @module
 */

import type { IpmctlModule, IpmctlResources } from "../inventory/inventory.ts";
import { UNITS } from "./json.ts";
import { known, type Parsed, unknown } from "../inventory/tool.ts";

/** What version 3 says, with exit status 1, on a machine without modules. */
const NO_MODULES = /^Initialization failed\. No PMem modules in the system\.$/;

/** Bytes of `756.000 GiB`; undefined for `-`; NaN: it is no capacity. */
function capacity(text: string): number | undefined {
  if (text === "-") return undefined;
  const match = /^(\d+(?:\.\d+)?) ([KMGT]?i?B)$/.exec(text);
  const unit = UNITS[match?.[2] ?? ""];
  const value = Math.round(Number(match?.[1] ?? NaN) * (unit ?? NaN));
  return Number.isSafeInteger(value) ? value : NaN;
}

/** Half a unit of the last digit that a capacity was printed with, in bytes. */
function rounding(text: string): number {
  const match = /^\d+(?:\.(\d+))? (\w+)$/.exec(text);
  return match === null ? 0 : 0.5 * (UNITS[match[2] ?? ""] ?? 0) / 10 ** (match[1]?.length ?? 0);
}

/** A table's columns and rows; a text says what is wrong with it. */
function table(text: string): { columns: string[]; rows: string[][] } | string {
  const lines = text.split("\n");
  if (lines.pop() !== "") return "its last line is not complete";
  const [head = "", rule = "", ...rest] = lines.map((line) => line.replace(/\r$/, ""));
  if (!/^=+$/.test(rule)) return "it is no table: its second line is no rule of =";
  const cells = (line: string) => line.split("|").map((cell) => cell.trim());
  const columns = cells(head);
  const rows = rest.map(cells);
  const broken = rows.findIndex((row) => row.length !== columns.length || row.some((cell) => cell === ""));
  return broken < 0 ? { columns, rows } : `its line ${broken + 3} does not have ${columns.length} cells`;
}

/** Attributes of version 1, one a line. */
function attributes(text: string): Map<string, string> | string {
  const lines = text.split("\n");
  if (lines.pop() !== "") return "its last line is not complete";
  const found = new Map<string, string>();
  for (const line of lines) {
    const match = /^\s*([A-Z][A-Za-z]+)=(.*?)\s*$/.exec(line);
    if (match === null || found.has(match[1] ?? "")) return `"${line}" is no attribute, or comes twice`;
    found.set(match[1] ?? "", match[2] ?? "");
  }
  return found;
}

function resourcesOfList(text: string): Parsed<IpmctlResources> {
  const list = attributes(text);
  if (typeof list === "string") return unknown(list, text);
  const names = [
    "Capacity",
    "MemoryCapacity",
    "AppDirectCapacity",
    "InaccessibleCapacity",
    "UnconfiguredCapacity",
    "ReservedCapacity",
  ];
  const extra = [...list.keys()].find((name) => !names.includes(name));
  if (extra !== undefined) return unknown(`"${extra}" is no capacity of memory resources`, text);
  const values: (number | undefined)[] = [];
  for (const name of names) {
    const printed = list.get(name);
    if (printed === undefined) return unknown(`${name} is missing`, text);
    const value = capacity(printed);
    if (Number.isNaN(value)) return unknown(`${name} is no capacity`, text);
    values.push(value);
  }
  const [all, memory, appDirect, inaccessible] = values;
  const parts = values.slice(1).reduce<number>((sum, value) => sum + (value ?? 0), 0);
  const slack = names.reduce((sum, name) => sum + 2 * rounding(list.get(name) ?? ""), 0);
  if (all !== undefined && parts > all + slack) return unknown("its parts are more than Capacity", text);
  return known({
    layout: "1.x",
    volatilePmem: memory,
    volatileDdr: undefined,
    appDirect,
    cacheDdr: undefined,
    inaccessible,
    physicalPmem: all,
    physicalDdr: undefined,
  });
}

/** Why a row does not add up; undefined: it does, or parts of it are `-`. */
function wrongTotal(row: readonly string[]): string | undefined {
  const [name = "", ddr = "", pmem = "", total = ""] = row;
  const values = [ddr, pmem, total].map(capacity);
  if (values.some((value) => Number.isNaN(value))) return `${name} is not in bytes`;
  const [a, b, sum] = values;
  const slack = 2 * [ddr, pmem, total].reduce((all, text) => all + rounding(text), 0);
  if (sum === undefined) return undefined;
  const parts = (a ?? 0) + (b ?? 0);
  // A part that is `-` may still count in the total.
  const wrong = a === undefined || b === undefined ? parts > sum + slack : Math.abs(parts - sum) > slack;
  return wrong ? `the total of ${name} is not the sum of its parts` : undefined;
}

/** Parses what `ipmctl show -memoryresources` printed. */
export function parseMemoryResources(text: string): Parsed<IpmctlResources> {
  if (NO_MODULES.test(text.trim())) {
    return known({
      layout: "3.x",
      volatilePmem: 0,
      volatileDdr: undefined,
      appDirect: 0,
      cacheDdr: 0,
      inaccessible: 0,
      physicalPmem: 0,
      physicalDdr: undefined,
    });
  }
  if (/^\s*[A-Z][A-Za-z]*Capacity=|^\s*Capacity=/.test(text)) return resourcesOfList(text);
  const found = table(text);
  if (typeof found === "string") return unknown(found, text);
  const { columns: [first, ddr, modules, total], columns, rows } = found;
  const layout = modules === "PMemModule" ? "3.x" : modules === "DCPMM" ? "2.x" : undefined;
  if (first !== "MemoryType" || ddr !== "DDR" || layout === undefined || total !== "Total" || columns.length !== 4) {
    return unknown("its columns are not MemoryType, DDR, PMemModule or DCPMM, Total", text);
  }
  const names = ["Volatile", "AppDirect", "Cache", "Inaccessible", "Physical"];
  if (rows.length !== names.length || rows.some((row, i) => row[0] !== names[i])) {
    return unknown(`its rows are not ${names.join(", ")}`, text);
  }
  const problem = rows.map(wrongTotal).find((one) => one !== undefined);
  if (problem !== undefined) return unknown(problem, text);
  const cell = (name: string, column: number) => capacity(rows[names.indexOf(name)]?.[column] ?? "");
  const resources: IpmctlResources = {
    layout,
    volatilePmem: cell("Volatile", 2),
    volatileDdr: cell("Volatile", 1),
    appDirect: cell("AppDirect", 2),
    cacheDdr: cell("Cache", 1),
    inaccessible: cell("Inaccessible", 2),
    physicalPmem: cell("Physical", 2),
    physicalDdr: cell("Physical", 1),
  };
  // Each column adds up to what is there; shares that are `-` count nothing.
  for (const column of [1, 2, 3]) {
    const physical = cell("Physical", column);
    const parts = names.slice(0, -1).reduce((sum, name) => sum + (cell(name, column) ?? 0), 0);
    const slack = 2 * rows.reduce((sum, row) => sum + rounding(row[column] ?? ""), 0);
    if (physical !== undefined && parts > physical + slack) {
      return unknown(`the parts of ${columns[column]} are more than its Physical`, text);
    }
  }
  return known(resources);
}

const HEALTH = [
  "Healthy",
  "Minor Failure",
  "Noncritical failure",
  "Non-critical failure",
  "Critical failure",
  "Critical Failure",
  "Fatal failure",
  "Fatal Failure",
  "Unmanageable",
  "Non-functional",
  "Unknown",
];

/** Parses what `ipmctl show -dimm` printed. */
export function parseModules(text: string): Parsed<readonly IpmctlModule[]> {
  if (NO_MODULES.test(text.trim())) return known([]);
  const found = table(text);
  if (typeof found === "string") return unknown(found, text);
  const { columns, rows } = found;
  const at = (name: string) => columns.indexOf(name);
  const names = ["DimmID", "Capacity", "HealthState", "LockState"];
  const missing = names.find((name) => at(name) < 0);
  if (missing !== undefined) return unknown(`it has no column ${missing}`, text);
  if (new Set(columns).size !== columns.length) return unknown("a column comes twice", text);
  if (rows.length === 0) return unknown("it has no rows", text);
  const modules: IpmctlModule[] = [];
  for (const row of rows) {
    const [id = "", size = "", health = "", lock = ""] = names.map((name) => row[at(name)]);
    const bytes = capacity(size);
    if (!/^0x[0-9A-Fa-f]{4}$/.test(id)) return unknown(`"${id}" is no DimmID`, text);
    if (Number.isNaN(bytes)) return unknown(`the capacity of ${id} is not in bytes`, text);
    if (health !== "-" && !HEALTH.includes(health)) return unknown(`"${health}" is no HealthState`, text);
    if (
      lock !== "-" &&
      !/^(Disabled|Unlocked|Locked|Not Supported|Unknown)(, (Frozen|Exceeded|Countdown Exceeded))?$/.test(lock)
    ) {
      return unknown(`"${lock}" is no LockState`, text);
    }
    modules.push({
      id,
      capacity: bytes,
      health: health === "-" ? undefined : health,
      lock: lock === "-" ? undefined : lock,
    });
  }
  return new Set(modules.map((one) => one.id)).size === modules.length
    ? known(modules)
    : unknown("a DimmID comes twice", text);
}
