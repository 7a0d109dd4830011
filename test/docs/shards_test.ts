/** The examples of docs/shards.md: each is checked by a schema or run, and its words are those of a share. */

import "../native_library.ts";
import { parse } from "@std/yaml";
import { Ajv } from "ajv";
import { mostShards, parseShard } from "../../scenarios/shard.ts";
import { loadScenario } from "../../scenarios/load.ts";
import { planCases, planSamples } from "../../scenarios/plan.ts";
import { assert, assertEquals, assertMatch } from "../assert.ts";

const PAGES = new URL("../../docs/clusters/", import.meta.url);
const read = (name: string) => Deno.readTextFileSync(new URL(name, PAGES));

/** Checks the words of a share, and that the scenario has as many rounds. */
async function checkWords(words: readonly string[], shares: number): Promise<void> {
  assertEquals(words[0], "run");
  const shard = parseShard(words[words.indexOf("--shard") + 1] ?? "");
  assertEquals(shard.of, shares);
  const name = (words[1] ?? "").replace(/^scenarios\/|\.jsonc$/g, "");
  const scenario = await loadScenario(new URL(`../../scenarios/${name}.jsonc`, import.meta.url));
  const planned = planSamples(planCases(scenario), scenario.repetitions, scenario.seed);
  assert(mostShards(planned) >= shares, `${name} has ${mostShards(planned)} rounds for ${shares} shares`);
}

/** What a script of the shell makes of its `deno` or `tierbench`. */
async function wordsOf(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string[]> {
  const folder = await Deno.makeTempDir();
  try {
    for (const name of ["deno", "tierbench"]) {
      await Deno.writeTextFile(`${folder}/${name}`, `#!/bin/sh\nprintf '%s\\n' "$@"\n`);
      await Deno.chmod(`${folder}/${name}`, 0o755);
    }
    const { code, stdout, stderr } = await new Deno.Command("sh", {
      args: [...args],
      env: { PATH: `${folder}:${Deno.env.get("PATH")}`, SLURM_SUBMIT_DIR: folder, ...env },
      stdin: "null",
    }).output();
    assertEquals(code, 0, new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout).trimEnd().split("\n");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("shards-slurm.sh: each job of the array takes its share, and a part of the array run again keeps its number", async () => {
  const [, first, last] = /^#SBATCH --array=(\d+)-(\d+)$/m.exec(read("shards-slurm.sh")) ?? [];
  assertEquals(first, "1", "shares count from 1");
  const script = new URL("shards-slurm.sh", PAGES).pathname;
  for (const id of ["1", `${last}`]) {
    const words = await wordsOf([script, "scenarios/pmem-modes.jsonc"], { SLURM_ARRAY_TASK_ID: id });
    assertEquals(words.slice(0, 2), ["task", "tierbench"]);
    assertEquals(words[words.indexOf("--shard") + 1], `${id}/${last}`);
    assertEquals(words[words.indexOf("--out") + 1], `shards/shard-${id}`);
    await checkWords(words.slice(2), Number(last));
  }
});

interface Job {
  apiVersion: string;
  spec: {
    completions: number;
    parallelism: number;
    completionMode: string;
    template: {
      spec: {
        restartPolicy: string;
        containers: { image: string; command: string[]; args: string[]; volumeMounts: { mountPath: string }[] }[];
      };
    };
  };
}

const job = () => parse(read("shards-job.yaml")) as Job;

Deno.test("shards-job.yaml is a Job of batch/v1, and slips in it are found", () => {
  const schema = new URL("../fixtures/kubernetes/job-v1.schema.json", import.meta.url);
  const validate = new Ajv({ allErrors: true, strict: true }).compile(JSON.parse(Deno.readTextFileSync(schema)));
  assert(validate(job()), JSON.stringify(validate.errors));
  const slips: ((one: Job) => void)[] = [
    (one) => one.apiVersion = "batch/v2",
    (one) => one.spec.completions = 0,
    (one) => one.spec.completionMode = "indexed",
    (one) => Object.assign(one.spec, { completion: 4 }),
    (one) => one.spec.template.spec.restartPolicy = "Always",
    (one) => one.spec.template.spec.containers = [],
    (one) => Object.assign(one.spec.template.spec.containers[0] ?? {}, { mounts: [] }),
  ];
  for (const slip of slips) {
    const wrong = job();
    slip(wrong);
    assertEquals(validate(wrong), false, `${slip}`);
  }
});

Deno.test("shards-job.yaml: index 0 is share 1, the last index the last share, on the shared volume", async () => {
  const { completions, completionMode, template: { spec: { containers: [container] } } } = job().spec;
  assertEquals(completionMode, "Indexed");
  for (const index of [0, completions - 1]) {
    const [shell = "", ...words] = [...container?.command ?? [], ...container?.args ?? []];
    assertEquals(shell, "sh");
    const found = await wordsOf(words, { JOB_COMPLETION_INDEX: `${index}` });
    assertEquals(found[found.indexOf("--shard") + 1], `${index + 1}/${completions}`);
    const out = found[found.indexOf("--out") + 1] ?? "";
    assert(out.startsWith(`${container?.volumeMounts[0]?.mountPath}/`) && out.endsWith(`-${index + 1}`), out);
    await checkWords(found, completions);
  }
});

interface Workflow {
  jobs: Record<string, {
    "runs-on": string;
    needs?: string;
    if?: string;
    strategy?: { "fail-fast": boolean; matrix: { shard: number[] } };
    steps: { uses?: string; run?: string; with?: Record<string, string> }[];
  }>;
}

/** Keys that a job and a step of GitHub Actions may have, as its reference lists them (workflow syntax). */
const JOB_KEYS = ["runs-on", "timeout-minutes", "strategy", "steps", "needs", "if", "env", "container", "permissions"];
const STEP_KEYS = ["name", "uses", "run", "with", "if", "env", "id"];

Deno.test("shards-ci.yml: a job of the matrix takes a share, and merge names a lost one", async () => {
  const { jobs } = parse(read("shards-ci.yml")) as Workflow;
  const { share, merge } = jobs;
  assert(share !== undefined && merge !== undefined && Object.keys(jobs).length === 2);
  for (const one of Object.values(jobs)) {
    assertEquals(Object.keys(one).filter((key) => !JOB_KEYS.includes(key)), []);
    for (const step of one.steps) {
      assertEquals(Object.keys(step).filter((key) => !STEP_KEYS.includes(key)), []);
      assert((step.uses === undefined) !== (step.run === undefined));
      if (step.uses !== undefined) assertMatch(step.uses, /^actions\/[\w-]+@v\d+$/);
    }
  }
  const shares = share.strategy?.matrix.shard ?? [];
  assertEquals(shares, shares.map((_, i) => i + 1));
  assertEquals([share.strategy?.["fail-fast"], merge.needs, merge.if], [false, "share", "always()"]);
  const command = share.steps.find(({ run }) => run !== undefined)?.run ?? "";
  for (const index of [1, shares.length]) {
    const words = command.replaceAll("${{ matrix.shard }}", `${index}`).replaceAll('"', "").split(" ");
    await checkWords(words.slice(words.indexOf("tierbench") + 1), shares.length);
  }
  const kept = share.steps.at(-1)?.with ?? {};
  assertEquals([kept["name"], kept["path"]], ["shard-${{ matrix.shard }}", "shard-${{ matrix.shard }}/result.jsonl"]);
  assertMatch(
    merge.steps.find(({ run }) => run !== undefined)?.run ?? "",
    /tierbench merge shards\/shard-\* --out merged$/,
  );
});
