// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import type { Context } from "./main.ts";

/** `tierbench schema`: the JSON Schema of scenario files. */
export function addSchema(program: Command, { terminal }: Context): void {
  program.command("schema")
    .description("print the JSON Schema of scenario files, for editors")
    .option("--write", "write it to scenarios/scenario.schema.json instead")
    .action(async ({ write }) => {
      const { SCHEMA_FILE, scenarioSchemaJson } = await import("../scenarios/emit_schema.ts");
      const text = scenarioSchemaJson();
      if (write !== true) return terminal.out(text);
      await Deno.writeTextFile(SCHEMA_FILE, text);
      terminal.out(`schema   ${SCHEMA_FILE}\n`);
    });
}
