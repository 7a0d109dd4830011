/**
 * From a simulation as a file writes it to the one form that everything else reads: tables as a list, and fields of them that
 * studies, explanations and published figures name.
 *
 * @module
 */

import type { DocumentPath, Problem } from "../../base/diagnostics.ts";
import type { MatrixPoint } from "../../base/matrix.ts";
import { listedTables, tableKeys } from "../workloads/table_forms.ts";
import type { Simulation, WrittenSimulation } from "./simulation.ts";

const TABLES = "workload.tables.";

/** A dotted field with a table's name in the place of its position. */
function listedField(field: string, names: readonly string[]): string {
  if (!field.startsWith(TABLES)) return field;
  const rest = field.slice(TABLES.length);
  // Names may have dots, and one may be the beginning of another.
  const found =
    names.filter((name) => rest === name || rest.startsWith(`${name}.`)).sort((a, b) => b.length - a.length)[0];
  return found === undefined ? field : `${TABLES}${names.indexOf(found)}${rest.slice(found.length)}`;
}

/** The simulation with its tables as a list. */
export function listedSimulation(written: WrittenSimulation): Simulation {
  const { tables } = written.workload;
  if (Array.isArray(tables)) return written as Simulation;
  const names = Object.keys(tables);
  const listed = <T>(fields: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(fields).map(([field, value]) => [listedField(field, names), value]));
  const at = <T extends { readonly at?: MatrixPoint }>(one: T): T =>
    one.at === undefined ? one : { ...one, at: listed(one.at) };
  return {
    ...written,
    workload: { ...written.workload, tables: listedTables(tables) },
    ...(written.studies === undefined ? {} : {
      studies: written.studies.map((study) =>
        study.vary === undefined ? study : { ...study, vary: listed(study.vary) }
      ),
    }),
    ...(written.explain === undefined ? {} : { explain: written.explain.map(at) }),
    ...(written.published === undefined ? {} : {
      published: written.published.map((figure) => ({
        ...at(figure),
        ...(figure.relativeTo === undefined ? {} : { relativeTo: at(figure.relativeTo) }),
      })),
    }),
  };
}

/** A problem of the list where the document writes what it is about. */
export function asWritten<P extends Problem>(problem: P, { workload }: WrittenSimulation): P {
  const [first, second, index, ...rest] = problem.path;
  if (first !== "workload" || second !== "tables" || typeof index !== "number") return problem;
  const path: DocumentPath = ["workload", "tables", tableKeys(workload.tables)[index] ?? index, ...rest];
  return { ...problem, path };
}
