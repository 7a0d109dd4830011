// @ts-types="@commander-js/extra-typings"
import { Argument, type Command } from "commander";
import { documentSchema, nearest, writeDocumentSchemas } from "../mod.ts";
import { answerSchema, readAnswerSchemas } from "./answers_schema.ts";
import { UsageError } from "./exit_codes.ts";
import type { Context } from "./main.ts";

/** The schema of what a verb prints with `--json`, as text. @throws {UsageError} if there is no such verb. */
async function schemaOf(verb: string): Promise<string> {
  const schemas = await readAnswerSchemas();
  const schema = answerSchema(verb, schemas);
  if (schema !== undefined) return `${JSON.stringify(schema, undefined, 2)}\n`;
  const verbs = Object.keys(schemas.verbs), meant = nearest(verb, verbs);
  throw new UsageError(
    `Cannot print the schema of "${verb}": it is no verb that has --json; ${
      meant === undefined ? `those are ${verbs.join(", ")}` : `did you mean "${meant}"?`
    }`,
  );
}

/** `tierbench schema`: the JSON Schemas of the files that people write, and of what verbs print for machines. */
export function addSchema(program: Command, { terminal }: Context): void {
  program.command("schema")
    .description("print the JSON Schema of scenario, simulation or plan files, or of what a verb prints with --json")
    .addArgument(
      new Argument("[document]", "whose schema").choices(["scenario", "simulation", "plan"] as const),
    )
    .option("--of <verb>", 'of what this verb prints with --json: "run" of each of its lines; "version" of --version')
    .option("--write", "write those of the documents to scenarios/<document>.schema.json instead")
    .addHelpText("after", "\nExamples:\n  tierbench schema plan\n  tierbench schema --of report > report.schema.json")
    .action(async (document, { of, write }) => {
      if (of !== undefined && (document !== undefined || write === true)) {
        throw new UsageError(`Cannot use --of with ${write === true ? "--write" : `"${document}"`}: give one of them`);
      }
      if (of !== undefined) return terminal.out(await schemaOf(of));
      if (write !== true) return terminal.out(await documentSchema(document ?? "scenario"));
      for (const file of await writeDocumentSchemas()) terminal.out(`schema   ${file}\n`);
    });
}
