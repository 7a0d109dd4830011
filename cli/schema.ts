// @ts-types="@commander-js/extra-typings"
import { Argument, type Command } from "commander";
import { documentSchema, writeDocumentSchemas } from "../mod.ts";
import type { Context } from "./main.ts";

/** `tierbench schema`: the JSON Schemas of the files that people write. */
export function addSchema(program: Command, { terminal }: Context): void {
  program.command("schema")
    .description("print the JSON Schema of scenario, simulation or plan files, for editors")
    .addArgument(
      new Argument("[document]", "whose schema").choices(["scenario", "simulation", "plan"] as const)
        .default("scenario" as const),
    )
    .option("--write", "write all of them to scenarios/<document>.schema.json instead")
    .action(async (document, { write }) => {
      if (write !== true) return terminal.out(await documentSchema(document));
      for (const file of await writeDocumentSchemas()) terminal.out(`schema   ${file}\n`);
    });
}
