// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { basename, dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { answerText } from "./answers.ts";
import { UsageError } from "./exit_codes.ts";
import { planTemplate } from "./init_plan.ts";
import { simulationTemplate } from "./init_simulation.ts";
import { scenarioTemplate } from "./init_template.ts";
import type { Context } from "./main.ts";
import { writing } from "../mod.ts";

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
    .option("--json", "for machines: the file, what it is, the command that uses it")
    .addHelpText("after", "\nExamples:\n  tierbench init mine.jsonc\n  tierbench init --kind plan mine.jsonc")
    .action(async (file, { kind, json }) => {
      const { template, schema: schemaFile, next } = KINDS[kind];
      const path = resolve(file);
      const name = basename(path).replace(/\.jsonc?$/, "").replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^[-_]+/, "");
      const text = template(name === "" ? "mine" : name, schemaFrom(dirname(path), schemaFile));
      await writing(file, () => writeNew(file, text));
      const command = `deno task tierbench ${next(file)}`;
      terminal.out(
        json === true ? answerText("init", { file, kind, next: command }) : `wrote    ${file}\nnext     ${command}\n`,
      );
    });
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
