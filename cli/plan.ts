// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import {
  defaultPriceBook,
  loadPlan,
  plan,
  type PlanAnswer,
  planInputs,
  planQuestionsText,
  planRequest,
  planRowRule,
  planText,
  planWin,
  planWinText,
  runnerUp,
  simulatedText,
  withOwnPrices,
} from "../mod.ts";
import { answerText } from "./answers.ts";
import { EXIT } from "./exit_codes.ts";
import type { Context } from "./main.ts";
import { warnOfPlanProfiles } from "./profile_warnings.ts";
import { SET_HELP, setField } from "./set_option.ts";
import { priceOptions, withPriceOptions } from "./price_files.ts";

/** `tierbench plan`: the cheapest machines that hold a model's tables and train it fast enough. */
export function addPlan(program: Command, { terminal, exit }: Context): void {
  withPriceOptions(
    program.command("plan")
      .description("find the cheapest machines for a model's tables: tier by table, hosts, speed, cost, with bands")
      .argument("<file>", "a plan file; scenarios/plans has examples"),
  )
    .option("--no-limit", "no bound on the number of tables and machines")
    .option("--set <field=value>", SET_HELP, setField)
    .option("--simulate", "run the best plan and the runner-up in virtual time, beside the planner's figures")
    .option("--json", "for machines: the whole answer")
    .addHelpText(
      "after",
      "\nExample:\n  tierbench plan scenarios/plans/retail.jsonc\n\ndocs/planner.md says what is modelled.",
    )
    .action(async (file, { json, limit, set, simulate, ...words }) => {
      const { priceFiles = [], asOf, boundary, currency } = await priceOptions(words);
      const written = await loadPlan(file, { limit, set });
      await warnOfPlanProfiles(terminal, written);
      const inputs = await planInputs(written);
      const book = priceFiles.length === 0 ? defaultPriceBook() : withOwnPrices(defaultPriceBook(), priceFiles);
      const rowRule = planRowRule(written, book, asOf ?? inputs.prices, currency);
      const request = planRequest(
        asOf === undefined ? inputs : { ...inputs, prices: asOf },
        book,
        { ...(currency === undefined ? {} : { currency }), serversAlone: boundary === "parameter-servers" },
      );
      const { unpriced } = request;
      const answer = plan(request);
      const shown = simulate !== true
        ? []
        : [answer.best, runnerUp(answer, request)].filter((one) => one !== undefined);
      const questions = answer.best === undefined ? [] : await inputs.questions(answer.best);
      const simulated = shown.map((one) => [one, inputs.simulate(one)] as const);
      if (json === true) {
        const extra = simulate === true
          ? { simulated: simulated.map(([{ machine, hosts }, of]) => ({ machine: machine.name, hosts, ...of })) }
          : {};
        const named = unpriced.map((one) => {
          const { plan: _, ...win } = planWin(one, request, answer) ?? { plan: undefined };
          return { name: one.name, why: one.why, ...("hosts" in win ? { win } : {}) };
        });
        terminal.out(
          answerText("plan", {
            ...answer,
            ...extra,
            questions,
            unpriced: named,
            ...(rowRule === undefined ? {} : { rowRule }),
          }),
        );
      } else terminal.out(planText(answer));
      for (const one of json === true ? [] : unpriced) {
        const win = planWinText(one, request, answer);
        terminal.out(`  ${one.name}  ${one.why}${win === undefined ? "" : `; ${win}`}\n`);
      }
      if (json !== true && questions.length > 0) terminal.out(planQuestionsText(questions));
      if (json !== true && simulated.length > 0) terminal.out(simulatedText(simulated));
      if (json !== true && rowRule !== undefined) terminal.out(`\n${rowRule}.\n`);
      if (!met(answer)) exit(EXIT.failed);
    });
}

function met({ best }: PlanAnswer): boolean {
  return best !== undefined;
}
