// @ts-types="@commander-js/extra-typings"
import { Argument, type Command } from "commander";
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
      const { DOCUMENTS, schemaFile, schemaJson } = await import("../scenarios/emit_schema.ts");
      if (write !== true) return terminal.out(schemaJson(document));
      for (const each of DOCUMENTS) {
        await Deno.writeTextFile(schemaFile(each), schemaJson(each));
        terminal.out(`schema   ${schemaFile(each)}\n`);
      }
    });
}
