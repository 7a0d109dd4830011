// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { shippedScenarios } from "../mod.ts";
import { answerText } from "./answers.ts";
import type { Context } from "./main.ts";
import { tableText } from "./ui/table.ts";

/** `tierbench list`: the shipped scenarios. */
export function addList(program: Command, { terminal }: Context): void {
  program.command("list")
    .description("list the shipped scenarios")
    .option("--json", "for machines: a list of name, about, file")
    .action(async ({ json }) => {
      const scenarios = await shippedScenarios();
      if (json) terminal.out(answerText("list", scenarios));
      else terminal.out(tableText(scenarios.map(({ name, about }) => [name, about])));
    });
}
