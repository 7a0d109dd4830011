import type { TableConfigs } from "../mod.ts";

const TABLE = '"ids": { "rows": 1000000000, "dim": 64, "optimizer": "adagrad", "profile": "oe-retail", "lookups": 26 }';

/** Lines of tables that another tool's JSON described. @param profile How often their rows are used. */
export function tableLines({ tables }: TableConfigs, profile: string): string[] {
  return tables.map(({ name, rows, dim, dtype, lookups }) => {
    const fields = {
      rows,
      dim,
      ...(dtype === "fp32" ? {} : { dtype }),
      profile,
      ...(lookups === undefined ? {} : { lookups }),
    };
    const words = Object.entries(fields).map(([field, value]) => `${JSON.stringify(field)}: ${JSON.stringify(value)}`);
    return `${JSON.stringify(name)}: { ${words.join(", ")} }`;
  });
}

/**
 * The plan that `tierbench init --kind plan` writes: a small one that has an answer, and what its fields mean.
 *
 * @param name Name of the plan.
 * @param schema Path of the schema from the file's folder.
 * @param tables Lines of its tables; without, one of a kind that is common.
 */
export function planTemplate(name: string, schema: string, tables: readonly string[] = [TABLE]): string {
  return `// A plan: the tables of a model, how fast it must train, and the machines that may hold it; "tierbench plan" answers
// with the cheapest. All fields: docs/planner.md.
{
  "$schema": ${JSON.stringify(schema)},
  "kind": "plan",
  "name": ${JSON.stringify(name)},
  "about": "What this plan is to decide",

  "tables": {
    // "profile": one that ships ("tierbench list"), the path of yours, or { "s": 1.05, "q": 10 } for (rank + q)^-s.
${tables.map((line) => `    ${line}`).join(",\n")}
  },
  "batch": 4096, // samples of one worker's step
  "workers": 8,
  "computeMs": 10, // what the dense layers of a step take; measure it with a run of your own

  // At least one of: samples a second, milliseconds of the slowest step in a hundred, dollars an hour.
  "target": { "samplesPerSecond": 500000 },

  // Machines of the price book of this date, of these providers, and your own beside them.
  "prices": "2026-11",
  "machines": {
    "own with NVMe": {
      "pricePerHour": 2,
      "date": "2026-11",
      "threads": 32,
      "network": "12.5 GB",
      "tiers": [
        { "name": "DRAM", "medium": "ddr5-4800-8ch", "size": "256 GiB" },
        { "name": "SSD", "medium": "nvme-tlc", "size": "3.8 TB", "records": true }
      ]
    }
  }
}
`;
}
