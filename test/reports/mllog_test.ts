// Results as MLPerf's log lines, by what the logs' own rules want of times and intervals, and in MLPerf's parser where it is installed.

import "../native_library.ts";
import { mlLogs } from "../../reports/export/mllog.ts";
import { fixtureResult, toJsonLines } from "../fixtures/result_fixture.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { inFolder, runCommand } from "../cli/command.ts";
import { pythonSays, pythonWith } from "../python_with.ts";

/** Keys of `mlperf_logging.mllog.constants` (mlperf-logging 4.1.68). */
const KEYS = [
  ...["submission_benchmark", "submission_platform", "seed", "global_batch_size", "train_samples", "eval_samples"],
  ...["trained_samples", "eval_accuracy", "opt_name", "opt_base_learning_rate", "opt_sparse_name"],
  "opt_sparse_base_learning_rate",
];
const INTERVALS = ["init", "run", "block", "eval"];

interface Line {
  namespace: string;
  time_ms: number;
  event_type: string;
  key: string;
  value: unknown;
  metadata: Record<string, unknown>;
}
const linesOf = (text: string): Line[] =>
  text.trimEnd().split("\n").map((line) => {
    assert(line.startsWith(":::MLLOG {"), line);
    return JSON.parse(line.slice(":::MLLOG ".length));
  });

const RESULT = fixtureResult({ samples: 2, steps: 30, failed: true, quality: true, virtual: ["fsdax"] });
const optimizer = { deep: { adam: { learningRate: 0.002 } }, embedding: { rowwiseAdagrad: { learningRate: 0.01 } } };
const { scenario } = RESULT.run;
const TOLD = {
  ...RESULT,
  run: { ...RESULT.run, scenario: { ...scenario, workload: { ...scenario.workload, optimizer } } },
} as unknown as typeof RESULT;

Deno.test("mlLogs() has a log a run: known keys, times that rise, intervals that end where they began", () => {
  const { logs, lost } = mlLogs(TOLD);
  assertEquals([logs[0]?.id, logs.length, lost.length], ["quality", 1 + 2 * 3, 2]);
  for (const { id, text } of logs) {
    const lines = linesOf(text), open = new Set<string>();
    lines.forEach((line, i) => {
      assertEquals(Object.keys(line), ["namespace", "time_ms", "event_type", "key", "value", "metadata"]);
      assertEquals([line.namespace, Number.isInteger(line.time_ms)], [id, true]);
      assert(line.time_ms >= (lines[i - 1]?.time_ms ?? 0), `${id}: line ${i} is before the one above it`);
      const [, name, end] = /^(\w+)_(start|stop)$/.exec(line.key) ?? [];
      if (name === undefined) return assert(line.event_type === "POINT_IN_TIME" && KEYS.includes(line.key), line.key);
      assert(INTERVALS.includes(name), name);
      assertEquals(line.event_type, end === "start" ? "INTERVAL_START" : "INTERVAL_END");
      assertEquals(open.has(name), end === "stop", `${id}: ${line.key}`);
      if (end === "start") open.add(name);
      else open.delete(name);
    });
    assertEquals(open.size, 0);
  }
});

Deno.test("mlLogs() has the times, batches and AUCs of the records", () => {
  const [quality, sample] = mlLogs(TOLD).logs.map(({ text }) => linesOf(text));
  const [{ curve = [], seconds = NaN } = {}] = RESULT.qualities, [first] = RESULT.samples;
  const valuesOf = (lines: Line[] | undefined, key: string) =>
    (lines ?? []).filter((line) => line.key === key).map(({ value, metadata }) => [value, metadata["samples_count"]]);
  assertEquals(valuesOf(quality, "eval_accuracy"), curve.map(({ auc, samples }) => [auc, samples]));
  const timeOf = (lines: Line[] | undefined, key: string) => lines?.find((line) => line.key === key)?.time_ms ?? NaN;
  assertEquals(timeOf(quality, "run_stop") - timeOf(quality, "run_start"), Math.round(1e3 * seconds));
  const steps = first?.stepNs.reduce((sum, ns) => sum + ns, 0) ?? NaN;
  assert(Math.abs(timeOf(sample, "run_stop") - timeOf(sample, "run_start") - steps / 1e6) <= 1);
  assertEquals(valuesOf(sample, "trained_samples"), [[2048 * 30, undefined]]);
  assertEquals(
    ["global_batch_size", "opt_name", "opt_sparse_name", "opt_sparse_base_learning_rate"].map((key) =>
      valuesOf(sample, key)[0]?.[0]
    ),
    [2048, "adam", "RowWiseAdagrad", 0.01],
  );
  // Results of earlier versions do not say what the optimizers were.
  assertEquals(valuesOf(linesOf(mlLogs(RESULT).logs[0]?.text ?? ""), "opt_name"), []);
});

Deno.test("tierbench export mllog writes a file a run", async () => {
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/result.jsonl`, toJsonLines(TOLD));
    const { code, out } = await runCommand(["export", "mllog", folder, "--out", `${folder}/logs`], 120);
    assertEquals(code, 0);
    assertStringIncludes(out, "2 samples on virtual media");
    const names = [...Deno.readDirSync(`${folder}/logs`)].map(({ name }) => name).sort();
    assertEquals(names, Array.from({ length: 7 }, (_, i) => `result_${i}.txt`));
    const { out: all } = await runCommand(["export", "mllog", folder], 120);
    const texts = names.map((name) => Deno.readTextFileSync(`${folder}/logs/${name}`));
    assertEquals(all, texts.join(""));
    assertEquals((await runCommand(["export", "mllog", folder, "--json"], 120)).code, 0);
  });
});

const SCRIPT = `
import json, sys
from mlperf_logging.compliance_checker.mlp_parser import parse_file
from mlperf_logging.mllog import constants
known = {value for name, value in vars(constants).items() if name.isupper()}
lines, errors = parse_file(sys.argv[1], ruleset="5.1.0")
print(json.dumps([[[line.timestamp, line.key, line.value["value"]] for line in lines], errors,
                  sorted({line.key for line in lines} - known)]))
`;

Deno.test("MLPerf's own parser takes every line, and knows every key, where it is installed", async () => {
  const python = await pythonWith("mlperf_logging.compliance_checker.mlp_parser");
  if (python === undefined) return;
  await inFolder(async (folder) => {
    for (const { text } of mlLogs(TOLD).logs) {
      await Deno.writeTextFile(`${folder}/log`, text);
      const [lines, errors, unknown] = await pythonSays(python, SCRIPT, [`${folder}/log`], folder) as unknown[];
      assertEquals([errors, unknown], [[], []]);
      assertEquals(lines, linesOf(text).map(({ time_ms, key, value }) => [time_ms, key, value]));
    }
  });
});
