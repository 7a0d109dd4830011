// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { defaultPriceBook, loadPlan, plan, type PlanAnswer, planInputs, planRequest, planText } from "../mod.ts";
import { EXIT } from "./exit_codes.ts";
import type { Context } from "./main.ts";

/** `tierbench plan`: the cheapest machines that hold a model's tables and train it fast enough. */
export function addPlan(program: Command, { terminal, exit }: Context): void {
  program.command("plan")
    .description("find the cheapest machines for a model's tables: tier by table, hosts, speed, cost, with bands")
    .argument("<file>", "a plan file; scenarios/plans has examples")
    .option("--no-limit", "no bound on the number of tables and machines")
    .option("--json", "for machines: the whole answer")
    .addHelpText(
      "after",
      "\nExample:\n  tierbench plan scenarios/plans/retail.jsonc\n\ndocs/planner.md says what is modelled.",
    )
    .action(async (file, { json, limit }) => {
      const inputs = await planInputs(await loadPlan(file, { limit }));
      const answer = plan(planRequest(inputs, defaultPriceBook()));
      terminal.out(json === true ? `${JSON.stringify(answer, undefined, 2)}\n` : planText(answer));
      if (!met(answer)) exit(EXIT.failed);
    });
}

function met({ best }: PlanAnswer): boolean {
  return best !== undefined;
}
