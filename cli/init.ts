// @ts-types="@commander-js/extra-typings"
import type { Command } from "commander";
import { basename, dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { UsageError } from "./exit_codes.ts";
import { scenarioTemplate } from "./init_template.ts";
import type { Context } from "./main.ts";
import { writing } from "../mod.ts";

/** `tierbench init`: writes a commented scenario to begin with. */
export function addInit(program: Command, { terminal }: Context): void {
  program.command("init")
    .description("write a commented scenario to begin with; never overwrites")
    .argument("[file]", "the file to write", "scenario.jsonc")
    .addHelpText("after", "\nExample:\n  tierbench init mine.jsonc")
    .action(async (file) => {
      const path = resolve(file);
      const schema = fileURLToPath(new URL("../scenarios/scenario.schema.json", import.meta.url));
      const near = relative(dirname(path), schema);
      const name = basename(path).replace(/\.jsonc?$/, "").replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^[-_]+/, "");
      const text = scenarioTemplate(name === "" ? "mine" : name, near.startsWith(".") ? near : `./${near}`);
      await writing(file, () => writeNew(file, text));
      terminal.out(`wrote    ${file}\nnext     deno task tierbench run ${file} --quick\n`);
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
