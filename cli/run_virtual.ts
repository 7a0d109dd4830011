import { join, relative } from "node:path";
import {
  loadSimulation,
  renderSimulationTerminal,
  type RunScenarioOptions,
  runSimulation,
  simulationJson,
  type SimulationRecord,
  summariseSimulation,
  type SummaryOptions,
  writeSimulationReport,
} from "../mod.ts";
import { UsageError } from "./exit_codes.ts";
import { checkPriced } from "./price_files.ts";
import { CLEAR_LINE, styleFor } from "./ui/ansi.ts";
import type { Terminal } from "./ui/terminal.ts";

/** Words of `tierbench run` that mean nothing in virtual time. */
const REAL = ["quick", "data", "require", "vouch", "resume"] as const;

/** Runs a simulation and writes its report: `tierbench run` with a file of kind "simulation". */
export async function runVirtual(
  file: string,
  { json, ...words }: RunScenarioOptions & { readonly json: boolean },
  terminal: Terminal,
  priced: SummaryOptions,
): Promise<void> {
  for (const word of REAL) {
    if (words[word] !== undefined) {
      throw new UsageError(
        `Cannot use --${word}: "${file}" is a simulation; it runs whole, in virtual time, within seconds`,
      );
    }
  }
  const style = styleFor(terminal.colors);
  let done = 0;
  const show = (record: SimulationRecord, cases: number) => {
    if (record.type !== "simulated" || json || !terminal.isTerminal) return;
    const line = `simulate ${++done}/${cases}  ${record.case}`.slice(0, terminal.width - 1);
    terminal.out(`${CLEAR_LINE}${style.dim(line)}`);
  };
  const limit = { limit: words.limit ?? true };
  const simulation = await loadSimulation(file, { ...limit, set: words.set });
  const money = Object.values(simulation.configurations).some(({ machine }) => machine !== undefined) ? {} : undefined;
  checkPriced(file, priced, { money });
  const folder = words.out ?? join("reports", "out", simulation.name);
  const result = await runSimulation(simulation, {
    out: folder,
    ...(words.seed === undefined ? {} : { seed: words.seed }),
    ...limit,
    threads: navigator.hardwareConcurrency,
    onRecord: show,
  });
  const summary = summariseSimulation(result, priced);
  const files = await writeSimulationReport(result, folder, priced);
  if (!json && terminal.isTerminal) terminal.out(CLEAR_LINE);
  if (json) terminal.out(simulationJson(summary));
  else {
    terminal.out(renderSimulationTerminal(summary, terminal.width));
    terminal.out(`\nreport   ${relative(Deno.cwd(), files.html) || files.html}\n`);
  }
}
