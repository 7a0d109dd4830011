// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { answerText } from "./answers.ts";
import type { Context } from "./main.ts";
import { tableText } from "./ui/table.ts";

/** `tierbench validate-models`: the media models against every published figure. */
export function addValidateModels(program: Command, { terminal }: Context): void {
  program.command("validate-models")
    .description("compare the media models with every published figure and write the comparison as a report")
    .option("--write", "write docs/accuracy.md and the residuals that error bands are made of, too")
    .option("--leave-out", "fit the models again without each curve, about a minute, and write what they say of it")
    .option("--json", "for machines: errors by medium, targets, files written")
    .action(async ({ write, leaveOut, json }) => {
      const { validateMediaModels } = await import("../mod.ts");
      const found = await validateMediaModels({
        write: write === true,
        leaveOut: leaveOut === true,
        log: (text) => (json ? terminal.err : terminal.out)(`left out  ${text}\n`),
      });
      if (json) return terminal.out(answerText("validate-models", found));
      const { media, targets, files } = found;
      terminal.out(tableText([
        ["medium", "figures", "mean error", "90th percentile"],
        ...media.map(({ name, points, mean, p90 }) => [
          name,
          String(points),
          `${(mean * 100).toFixed(1)} %`,
          `${(p90 * 100).toFixed(1)} %`,
        ]),
      ]));
      terminal.out("\n");
      terminal.out(tableText(targets));
      for (const file of files) terminal.out(`report   ${file}\n`);
    });
}
