// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { join, relative } from "node:path";
import { calibrate, type CalibratedSoftware, calibrateSoftware, CalibrationError, parseBytes } from "../mod.ts";
import { UsageError } from "./exit_codes.ts";
import type { Context } from "./main.ts";
import { listed } from "./price_files.ts";
import { CLEAR_LINE, styleFor } from "./ui/ansi.ts";
import { barText } from "./ui/progress.ts";
import { tableText } from "./ui/table.ts";

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
  ] as const;
  const ns = (seconds: number) => (seconds * 1e9).toPrecision(3);
  return whats.map(([what, { value, low, high }]) => [what, `${ns(value)} ns`, `${ns(low)} to ${ns(high)}`]);
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
      const style = styleFor(terminal.colors);
      const showLine = (line: string) => {
        if (options.json === true || !terminal.isTerminal) return;
        terminal.out(`${CLEAR_LINE}${style.dim(line.slice(0, terminal.width - 1))}`);
      };
      const media = await calibrate({
        out,
        files,
        drives,
        ...(options.node === undefined ? {} : { nodes }),
        nodeKind,
        quick: quick === true,
        force: force === true,
        ...(options.bytes === undefined ? {} : { bytes: parseBytes(options.bytes) }),
        command,
        onPoint: (medium, done, total, { query }) => {
          const what = `${query.ask} of ${query.operation}, ${query.bytes} B, ${query.threads}`;
          showLine(`${medium}  ${barText(done / total, 30)}  ${done}/${total}  ${what}`);
        },
      });
      // Our store is measured in the memory that its prices do not contain.
      const memory = media.find(({ kind }) => kind === "dram")?.path;
      let software: CalibratedSoftware | undefined, why: string | undefined;
      try {
        software = memory === undefined ? undefined : await calibrateSoftware({
          out,
          memory,
          quick: quick === true,
          force: force === true,
          command,
          onRound: (done, total) => showLine(`software  ${barText(done / total, 30)}  ${done}/${total}`),
        });
      } catch (error) {
        if (!(error instanceof CalibrationError)) throw error;
        why = error.message;
      }
      if (options.json === true) {
        terminal.out(`${JSON.stringify({ media, software: software ?? { why } }, undefined, 2)}\n`);
        return;
      }
      if (terminal.isTerminal) terminal.out(CLEAR_LINE);
      const within = (factor: number | undefined) => factor === undefined ? "" : `${((factor - 1) * 100).toFixed(0)} %`;
      terminal.out(tableText([
        ["medium", "a load", "loads, at most", "figures", "reads within", "writes within", "file"],
        ...media.map(({ name, latencyNs, readBandwidth, points, factors, path }) => [
          name,
          `${latencyNs.toPrecision(3)} ns`,
          `${(readBandwidth / 1e9).toPrecision(3)} GB/s`,
          String(points),
          within(factors["read"]),
          within(factors["write"]),
          relative(Deno.cwd(), path),
        ]),
      ]));
      terminal.out('\nA file is a medium by its path: "media": "<file>" in simulations, scenarios and plans.\n');
      if (why !== undefined) terminal.out(`\n${why}\n`);
      if (software !== undefined) {
        terminal.out(`\n${tableText([["our store", "core time", "90 %"], ...priceRows(software)])}`);
        terminal.out(`\n"software": "${relative(Deno.cwd(), software.path)}" in a simulation takes these prices.\n`);
      }
      if (media.some(({ virtual }) => virtual)) {
        terminal.out("This machine is a virtual one: what its memory and drives are made of, its host decides.\n");
      }
      if (quick === true) {
        terminal.out("Quick: shows that it works here; measure without --quick before you believe it.\n");
      }
    });
}
