// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { join } from "node:path";
import {
  analyseClaim,
  kindText,
  nearest,
  PUBLISHED_CLAIMS,
  readPage,
  readResult,
  renderClaim,
  type Result,
  savingText,
  summarise,
  type SummaryOptions,
  unpricedText,
} from "../mod.ts";
import { answerText } from "./answers.ts";
import { UsageError } from "./exit_codes.ts";
import type { Context } from "./main.ts";
import { priceOptions, withPriceOptions } from "./price_files.ts";

/** A claim to print: what is known of it, and what it is taken apart into. */
interface Shown {
  readonly head: readonly string[];
  readonly analysis: ReturnType<typeof analyseClaim> & { readonly claim: Parameters<typeof analyseClaim>[0] };
}

/** `tierbench claim`: takes the savings of a report, or a published one, apart. */
export function addClaim(program: Command, { terminal }: Context): void {
  const names = Object.keys(PUBLISHED_CLAIMS);
  withPriceOptions(
    program.command("claim")
      .description("take a saving apart: where it comes from, what it hangs on, where it would turn around")
      .argument("[results]", "a result.jsonl, its folder, or a report's page", join("reports", "out", "pmem-modes")),
  )
    .option("--published <name>", `a published saving instead: ${names.join(", ")}`)
    .option("--case <name>", "this case alone (default: every case with a saving)")
    .option("--json", "for machines: a list of claims")
    .addHelpText(
      "after",
      "\nExamples:\n  tierbench claim --published openembedding\n  tierbench claim reports/out/pmem-modes",
    )
    .action(async (results, { published, json, case: only, ...words }) => {
      const options = await priceOptions(words);
      const found = published === undefined
        ? ofResult(await resultAt(results), options, only)
        : [ofPublication(published, names)];
      if (json) terminal.out(answerText("claim", found.map(({ analysis }) => analysis)));
      else terminal.out(found.map(({ head, analysis }) => renderClaim(analysis, head)).join("\n"));
    });
}

/** Results from a file, a folder, or a report's page. */
async function resultAt(path: string): Promise<Result> {
  if (/\.html?$/.test(path)) return (await readPage(path)).result;
  return await readResult(path.endsWith(".jsonl") ? path : join(path, "result.jsonl"));
}

function ofPublication(name: string, names: readonly string[]): Shown {
  const found = Object.hasOwn(PUBLISHED_CLAIMS, name) ? PUBLISHED_CLAIMS[name] : undefined;
  if (found === undefined) {
    const meant = nearest(name, names);
    const hint = meant === undefined ? `those there are: ${names.join(", ")}` : `did you mean "${meant}"?`;
    throw new UsageError(`Unknown published saving "${name}": ${hint}`);
  }
  const { claim, source, published, notes } = found;
  return {
    head: [source, `as published, or computed from what is: ${savingText(published)}`, ...notes],
    analysis: { claim, ...analyseClaim(claim) },
  };
}

function ofResult(result: Result, options: SummaryOptions, only: string | undefined): Shown[] {
  const { claims, pricing, cases } = summarise(result, options);
  const found = claims.filter((claim) => only === undefined || claim.case === only);
  if (found.length === 0) {
    const why = cases.flatMap(({ name, costMissing }) => costMissing === undefined ? [] : [`${name}: ${costMissing}`]);
    const reason = only !== undefined && claims.length > 0
      ? `there is no saving of a case "${only}"; there are ${claims.map((claim) => claim.case).join(", ")}`
      : `no case has a saving against DRAM${why.length === 0 ? "" : ` (${why.join("; ")})`}`;
    throw new UsageError(`Cannot take a saving apart: ${reason}`);
  }
  const dates = `prices of ${pricing?.dates}, as of ${pricing?.asOf}${
    pricing?.stale === true ? ": over a year old" : ""
  }`;
  const unpriced = unpricedText(pricing?.bill ?? []);
  const head = (evidence: string) => [`${evidence}; ${dates}`, ...(unpriced === undefined ? [] : [unpriced])];
  return found.map((claim) => ({ head: head(kindText(claim)), analysis: claim }));
}
