// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { basename, dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { answerText } from "./answers.ts";
import { UsageError } from "./exit_codes.ts";
import { planTemplate, tableLines } from "./init_plan.ts";
import { simulationTemplate } from "./init_simulation.ts";
import { scenarioTemplate } from "./init_template.ts";
import type { Context } from "./main.ts";
import { parseTableConfigs, readUserText, writing } from "../mod.ts";

/** What can be begun: its text, the schema of its fields, and the command that uses it. */
const KINDS = {
  run: { template: scenarioTemplate, schema: "scenario.schema.json", next: (file: string) => `run ${file} --quick` },
  simulation: { template: simulationTemplate, schema: "simulation.schema.json", next: (file: string) => `run ${file}` },
  plan: { template: planTemplate, schema: "plan.schema.json", next: (file: string) => `plan ${file}` },
} as const;

function kindOf(text: string): keyof typeof KINDS {
  if (Object.hasOwn(KINDS, text)) return text as keyof typeof KINDS;
  throw new UsageError(`Cannot begin a "${text}": expected run, simulation or plan`);
}

/** The path of a schema of ours from a folder, as files name it for editors. */
export function schemaFrom(folder: string, schema: string): string {
  const near = relative(folder, fileURLToPath(new URL(`../scenarios/${schema}`, import.meta.url)));
  return near.startsWith(".") ? near : `./${near}`;
}

/** `tierbench init`: writes a commented scenario, simulation or plan to begin with. */
export function addInit(program: Command, { terminal }: Context): void {
  program.command("init")
    .description("write a commented scenario, simulation or plan to begin with; never overwrites")
    .argument("[file]", "the file to write", "scenario.jsonc")
    .option(
      "--kind <kind>",
      "run (on this machine), simulation (in virtual time) or plan (which machines)",
      kindOf,
      "run",
    )
    .option("--tables <json>", "of a plan: tables as TorchRec, NeuroShard or FBGEMM describe them in JSON")
    .option("--profile <name>", "of --tables: how often rows are used; a shipped profile or the path of yours")
    .option("--json", "for machines: the file, what it is, the command that uses it")
    .addHelpText(
      "after",
      "\nExamples:\n  tierbench init mine.jsonc\n  tierbench init --kind plan mine.jsonc" +
        "\n  tierbench init --kind plan --tables tables.json --profile torchrec-zipf-1.1 mine.jsonc",
    )
    .action(async (file, { kind, json, tables, profile }) => {
      const { template, schema: schemaFile, next } = KINDS[kind];
      const path = resolve(file);
      const name = basename(path).replace(/\.jsonc?$/, "").replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^[-_]+/, "");
      const begun = await tablesOf(kind, tables, profile), schema = schemaFrom(dirname(path), schemaFile);
      const text = begun === undefined
        ? template(name === "" ? "mine" : name, schema)
        : planTemplate(name === "" ? "mine" : name, schema, begun.lines);
      await writing(file, () => writeNew(file, text));
      const command = `deno task tierbench ${next(file)}`;
      terminal.out(
        json === true
          ? answerText("init", { file, kind, next: command })
          : `wrote    ${file}\n${begun?.said ?? ""}next     ${command}\n`,
      );
    });
}

/** Lines of tables of another tool's JSON, and what is said of them. */
async function tablesOf(
  kind: keyof typeof KINDS,
  path: string | undefined,
  profile: string | undefined,
): Promise<{ lines: string[]; said: string } | undefined> {
  if (path === undefined && profile === undefined) return undefined;
  if (kind !== "plan") throw new UsageError("Cannot use --tables or --profile here: they belong to --kind plan");
  if (path === undefined) throw new UsageError("Cannot use --profile without --tables");
  if (profile === undefined) {
    throw new UsageError(
      `Cannot plan with the tables of "${path}" alone: they do not say how often which row is used; add --profile with a ` +
        "name of tierbench profile --list, or the path of one that tierbench profile fitted",
    );
  }
  const found = parseTableConfigs(await readUserText(path, "tables"), path);
  if (found === undefined) {
    throw new UsageError(
      `Cannot read the tables of "${path}": it is no JSON of TorchRec (num_embeddings, embedding_dim), NeuroShard (row, dim) ` +
        "or FBGEMM (embedding_specs, or Es and Ds)",
    );
  }
  const notes = found.notes.map((note) => `note     ${note}\n`).join("");
  return { lines: tableLines(found, profile), said: `tables   ${found.tables.length} of ${found.form}\n${notes}` };
}

async function writeNew(file: string, text: string): Promise<void> {
  try {
    await Deno.writeTextFile(file, text, { createNew: true });
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) {
      throw new UsageError(`Cannot write "${file}": it exists; choose another name or remove it`);
    }
    if (error instanceof Deno.errors.NotFound) {
      throw new UsageError(`Cannot write "${file}": the folder "${dirname(file)}" does not exist`);
    }
    throw error;
  }
}
