// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import type { Context } from "./main.ts";

/** `tierbench schema`: the JSON Schema of scenario files. */
export function addSchema(program: Command, { terminal }: Context): void {
  program.command("schema")
    .description("print the JSON Schema of scenario files, for editors")
    .option("--simulation", "that of simulations instead")
    .option("--write", "write both to scenarios/scenario.schema.json and simulation.schema.json instead")
    .action(async ({ write, simulation }) => {
      const { SCHEMA_FILE, scenarioSchemaJson, SIMULATION_SCHEMA_FILE, simulationSchemaJson } = await import(
        "../scenarios/emit_schema.ts"
      );
      if (write !== true) return terminal.out(simulation === true ? simulationSchemaJson() : scenarioSchemaJson());
      for (
        const [file, text] of [[SCHEMA_FILE, scenarioSchemaJson()], [SIMULATION_SCHEMA_FILE, simulationSchemaJson()]]
      ) {
        await Deno.writeTextFile(file as string, text as string);
        terminal.out(`schema   ${file}\n`);
      }
    });
}
