// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import type { Context } from "./main.ts";
import { tableText } from "./ui/table.ts";

/** `tierbench validate-models`: the media models against every published figure. */
export function addValidateModels(program: Command, { terminal }: Context): void {
  program.command("validate-models")
    .description("compare the media models with every published figure and write the comparison as a report")
    .option("--write", "write docs/accuracy.md and the residuals that error bands are made of, too")
    .option("--leave-out", "fit the models again without each curve, about a minute, and write what they say of it")
    .action(async ({ write, leaveOut }) => {
      const { validateMediaModels } = await import("../mod.ts");
      const { media, targets, files } = await validateMediaModels({
        write: write === true,
        leaveOut: leaveOut === true,
        log: (text) => terminal.out(`left out  ${text}\n`),
      });
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
