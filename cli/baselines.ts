// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { relative } from "node:path";
import { listBaselines, removeBaseline } from "../mod.ts";
import { answerText } from "./answers.ts";
import type { Context } from "./main.ts";
import { tableText } from "./ui/table.ts";

const HELP = `
"tierbench run --save-baseline main" keeps results under a name, which --baseline of run and compare takes. They are
results as any: reports/out/baselines/<scenario>/<name>.

Examples:
  tierbench baselines
  tierbench baselines --remove main
  tierbench baselines --remove pmem-modes/main   where several scenarios have one of that name`;

/** `tierbench baselines`: results that are kept under a name. */
export function addBaselines(program: Command, { terminal }: Context): void {
  program.command("baselines")
    .description("list the results that are kept as baselines, or remove one")
    .option("--remove <name>", "remove this one")
    .option("--json", "for machines: those that there are, or the one that was removed")
    .addHelpText("after", HELP)
    .action(async ({ remove, json }) => {
      const found = remove === undefined ? await listBaselines() : [await removeBaseline(remove)];
      if (json) return terminal.out(answerText("baselines", found));
      if (remove !== undefined) {
        return terminal.out(found.map(({ scenario, name }) => `removed  ${scenario}/${name}\n`).join(""));
      }
      if (found.length === 0) return terminal.out("none yet: tierbench run --save-baseline <name> keeps one\n");
      terminal.out(tableText([
        ["scenario", "name", "saved", "results"],
        ...found.map(({ scenario, name, saved, file }) => [
          scenario,
          name,
          `${saved.slice(0, 10)} ${saved.slice(11, 16)}`,
          relative(Deno.cwd(), file),
        ]),
      ]));
    });
}
