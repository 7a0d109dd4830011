// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { join, relative } from "node:path";
import {
  type CalibratedMachine,
  type CalibratedSoftware,
  calibrateMachine,
  type CalibrationProgress,
  inspectMachine,
  parseBytes,
  writeCalibration,
} from "../mod.ts";
import { answerText } from "./answers.ts";
import { UsageError } from "./exit_codes.ts";
import type { Context } from "./main.ts";
import { listed } from "./price_files.ts";
import { interruptible } from "./run.ts";
import { CLEAR_LINE, styleFor } from "./ui/ansi.ts";
import { barText, secondsText } from "./ui/progress.ts";
import { tableText } from "./ui/table.ts";
import type { Terminal } from "./ui/terminal.ts";

const NODE_KINDS = ["dram", "pmem", "cxl", "hbm"] as const;

/** Rows of the table of prices: core nanoseconds with their intervals. */
function priceRows({ prices }: CalibratedSoftware): string[][] {
  const whats = [
    ["a key", prices.perKey],
    ["a row looked up", prices.perRow],
    ["a row updated", prices.perUpdate],
    ["a key told to the policy", prices.track],
    ["a row kept in order", prices.upkeep],
    ["a row brought up", prices.perMiss],
    ["a row, for each other thread", prices.perLock],
    ["a message", prices.perMessage],
  ] as const;
  const ns = (seconds: number) => (seconds * 1e9).toPrecision(3);
  return whats.flatMap(([what, price]) =>
    price === undefined ? [] : [[what, `${ns(price.value)} ns`, `${ns(price.low)} to ${ns(price.high)}`]]
  );
}

/** Bytes as `--bytes` has them. */
function bytesOf(text: string): number {
  try {
    return parseBytes(text);
  } catch (error) {
    throw new UsageError(`Cannot use --bytes: ${error instanceof Error ? error.message : error}`);
  }
}

/** Seconds after which what is left can be told from what was done. */
const TELLS_AFTER = 2;

/** Shows how far a calibration is: on a terminal one line that moves, elsewhere a line for each part, on standard error. */
class CalibrationView {
  readonly #terminal: Terminal;
  #part = "";
  #since = 0;

  /** @param terminal Where it is shown. */
  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Shows a step of it. */
  show({ part, done, total, what }: CalibrationProgress): void {
    const { isTerminal, width, colors } = this.#terminal;
    if (part !== this.#part) {
      [this.#part, this.#since] = [part, performance.now()];
      if (!isTerminal) {
        this.#terminal.err(`calibrate  ${part}: ${total} ${part === "software" ? "runs" : "questions"}\n`);
      }
    }
    if (!isTerminal) return;
    const seconds = (performance.now() - this.#since) / 1e3;
    const left = seconds < TELLS_AFTER || done === 0 ? "" : `  left ${secondsText(seconds / done * (total - done))}`;
    // The line must not break, or the next one could not take its place.
    const line = `${part}  ${barText(done / total, width < 60 ? 10 : 24)}  ${done}/${total}${left}  ${what}`;
    this.#terminal.out(`${CLEAR_LINE}${styleFor(colors).dim(line.slice(0, width - 1))}`);
  }

  /** Removes the moving line. */
  end(): void {
    if (this.#terminal.isTerminal && this.#part !== "") this.#terminal.out(CLEAR_LINE);
    this.#part = "";
  }
}

/** `17 %`, `2.4 times`: how far nine of ten figures are from the model. */
function withinText(factor: number | undefined): string {
  if (factor === undefined) return "";
  return factor < 2 ? `${((factor - 1) * 100).toFixed(0)} %` : `${factor.toPrecision(2)} times`;
}

const threeDigits = (value: number): string => String(Number(value.toPrecision(3)));

/** What was measured, as a terminal shows it. */
function calibratedText({ media, software, noPrices }: CalibratedMachine, quick: boolean, width: number): string {
  const parts = [
    tableText(
      [
        ["medium", "a load", "loads, at most", "figures", "reads within", "writes within", "file"],
        ...media.map(({ name, latencyNs, readBandwidth, points, factors, path }) => [
          name,
          `${threeDigits(latencyNs)} ns`,
          `${threeDigits(readBandwidth / 1e9)} GB/s`,
          String(points),
          withinText(factors["read"]),
          withinText(factors["write"]),
          relative(Deno.cwd(), path),
        ]),
      ],
      "",
      width,
    ),
    '\nA file is a medium by its path: "media": "<file>" in simulations, scenarios and plans.\n',
    ...(noPrices === undefined ? [] : [`\n${noPrices}\n`]),
    ...(software === undefined ? [] : [
      `\n${tableText([["our store", "core time", "90 %"], ...priceRows(software)])}`,
      `\n"software": "${relative(Deno.cwd(), software.path)}" in a simulation or a plan takes these prices.\n`,
    ]),
    ...(media.some(({ virtual }) => virtual)
      ? ["This machine is a virtual one: what its memory and drives are made of, its host decides.\n"]
      : []),
    ...(quick ? ["Quick: shows that it works here; measure without --quick before you believe it.\n"] : []),
  ];
  return parts.join("");
}

/** Writes a page of each memory beside its file: latency against bandwidth. */
async function writePages({ media }: CalibratedMachine, quick: boolean, command: string): Promise<string[]> {
  const { cpu } = inspectMachine(), date = new Date().toISOString().slice(0, 10);
  const drawn = media.filter(({ loaded }) => loaded.length > 0);
  return await Promise.all(drawn.map(async (medium) => {
    const path = medium.path.replace(/\.jsonc$/, ".html");
    await writeCalibration(path, medium, { date, cpu, virtual: medium.virtual, quick, command });
    return relative(Deno.cwd(), path);
  }));
}

/** `tierbench calibrate`: measures memory and drives of this machine, and what our store costs on it. */
export function addCalibrate(program: Command, { terminal }: Context): void {
  program.command("calibrate")
    .description(
      "measure memory and drives of this machine and our store on it, and write each as a file to be named by path",
    )
    .option("--node <n>", "a NUMA node; may be repeated; default: all with memory", listed)
    .option("--file <folder>", "a folder of a file system that maps memory (DAX); may be repeated", listed)
    .option("--drive <folder>", "a folder on a drive: a file without a name is put there; may be repeated", listed)
    .option("--node-kind <kind>", "what nodes without CPUs are made of: dram, pmem, cxl, hbm", "cxl")
    .option("-o, --out <folder>", "where the files go; default: reports/out/calibration-<date>")
    .option("--bytes <size>", 'that accesses fall on, as "4 GiB"; several times the last-level cache')
    .option("--quick", "seconds instead of minutes: shows that it works, not how fast the medium is")
    .option("--force", "write over files of an earlier calibration")
    .option("--json", "for machines: what was measured")
    .addHelpText(
      "after",
      "\nExamples:\n  tierbench calibrate                                  the nodes of this machine, minutes\n" +
        "  tierbench calibrate --file /mnt/pmem0 --drive /data  PMEM behind a DAX file system, and a drive\n" +
        "  tierbench calibrate --quick --out /tmp/mine          does it work here?",
    )
    .action(async (options) => {
      const nodes = (options.node ?? []).map((text) => {
        if (/^\d+$/.test(text)) return Number(text);
        throw new UsageError(`Cannot measure --node ${text}: give the number of a NUMA node`);
      });
      const nodeKind = NODE_KINDS.find((kind) => kind === options.nodeKind);
      if (nodeKind === undefined) {
        throw new UsageError(`Cannot use --node-kind ${options.nodeKind}: expected one of ${NODE_KINDS.join(", ")}`);
      }
      const { file: files = [], drive: drives = [], quick, force } = options;
      const out = options.out ?? join("reports", "out", `calibration-${new Date().toISOString().slice(0, 10)}`);
      const words = [
        ...nodes.map((node) => `--node ${node}`),
        ...files.map((folder) => `--file ${folder}`),
        ...drives.map((folder) => `--drive ${folder}`),
        ...(options.bytes === undefined ? [] : [`--bytes "${options.bytes}"`]),
        ...(quick === true ? ["--quick"] : []),
      ];
      const command = ["tierbench calibrate", ...words].join(" ");
      const view = new CalibrationView(options.json === true ? { ...terminal, isTerminal: false } : terminal);
      const measured = await interruptible(
        (signal) =>
          calibrateMachine({
            out,
            files,
            drives,
            ...(options.node === undefined ? {} : { nodes }),
            nodeKind,
            quick: quick === true,
            force: force === true,
            ...(options.bytes === undefined ? {} : { bytes: bytesOf(options.bytes) }),
            command,
            signal,
            onProgress: (progress) => view.show(progress),
          }),
        () => view.end(),
      );
      const pages = await writePages(measured, quick === true, command);
      terminal.out(
        options.json === true
          ? answerText("calibrate", measured)
          : calibratedText(measured, quick === true, terminal.width) +
            pages.map((page) => `page     ${page}\n`).join(""),
      );
    });
}
