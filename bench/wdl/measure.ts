/**
 * Runs the contenders of the trainer's bench, round by round.
 *
 * @module
 */

import { generateData } from "../../ffi/data.ts";
import { NATIVE_FOLDER } from "../../base/native_build.ts";
import { cpuFlags, type Fbgemm, fbgemmHere, makeFbgemm, mklProblem } from "./fbgemm.ts";
import { pythonWithTorch } from "./python.ts";
import { type Answer, Contender, ContenderError, numberOf } from "../contender.ts";
import { type Options, WrongResultError } from "../setting.ts";
import { BATCH, type Model, type Plan, SEED } from "./plan.ts";
import { contendersOf, type EmbeddingWho, type Measured, type Round, type Times, type Who } from "./rows.ts";

const PROGRAMS = `${NATIVE_FOLDER}/build/bench`;
const SCRIPT = new URL("torch_wdl.py", import.meta.url).pathname;
const FBGEMM_SCRIPT = new URL("torch_fbgemm.py", import.meta.url).pathname;

/** Optimizers of the default scenario (scenarios/pmem-modes.jsonc). */
const RATES = { wide: 0.02, wideFirst: 1e-7, deep: 0.005, deepFirst: 1e-8 };

/** Every switch that keeps results. */
const KEEP: Options = {
  "trainer.stage": 2,
  "trainer.stage_what": "auto",
  "trainer.readers": 2,
  "trainer.embedding_fusion": 1,
  "trainer.graph_fusion": 1,
  "trainer.memory_reuse": 1,
  "trainer.executor": "cost_model",
};

/** With the products of every sample in the first layer, as the floor has them. */
const SAMPLES: Options = { "trainer.first_layer": "samples" };

/** None of them. The executor is `pool`: `inline` would be another number of threads. */
const NONE: Options = {
  ...SAMPLES,
  "trainer.stage": 0,
  "trainer.embedding_fusion": 0,
  "trainer.graph_fusion": 0,
  "trainer.memory_reuse": 0,
  "trainer.executor": "pool",
};

/** Switches of our contenders. */
const OURS: Readonly<Partial<Record<Who, Options>>> = {
  keep: KEEP,
  bf16: { ...KEEP, "trainer.bf16": "dense" },
  samples: { ...KEEP, ...SAMPLES },
  "samples-bf16": { ...KEEP, ...SAMPLES, "trainer.bf16": "dense" },
  none: NONE,
  all: { ...KEEP, "trainer.bf16": "all", "trainer.async_embedding": 1 },
};

/** Milliseconds before each command, which takes most of a second at most: threads of the one before go to sleep, and the
 * kernel's limit on real-time tasks (95 % of each second) does not strike. */
const PAUSE_MS = 150;

/** Steps before AUC is taken: one pass over the default data. Earlier, runs that differ in rounding alone differ by more
 * than the bar (by 0.0014 after 92 steps, once). */
const QUALITY_STEPS = 300;

/** Loss of ours and of PyTorch over the last rounds must be this close: else they do not train the same. */
const LOSS_TOLERANCE = 0.05;

/** What a run needs beside its plan. */
export interface Setting {
  /** What to do. */
  readonly plan: Plan;
  /** Folder for data. */
  readonly scratch: string;
  /** Tells the person that waits what is going on. */
  readonly say: (text: string) => void;
  /** PyTorch with FBGEMM and its MKL, or why they are not here. */
  readonly fbgemm: Found;
}

/** Where PyTorch with FBGEMM is, or why it is not. */
type Found = { readonly here: Fbgemm } | { readonly missing: string };

/** PyTorch with FBGEMM, made if the plan has it: the floor takes its MKL wherever it is. */
export function findFbgemm(plan: Plan, say: (text: string) => void): Found {
  try {
    const here = plan.parts.includes("fbgemm") ? makeFbgemm({ say }) : fbgemmHere();
    return here === undefined ? { missing: "MKL is not here, --only=fbgemm brings it" } : { here };
  } catch (error) {
    if (!(error instanceof ContenderError)) throw error;
    say(`  fbgemm is left out: ${error.message}`);
    return { missing: error.message };
  }
}

/** A size of the model with its data. */
interface Case {
  readonly model: Model;
  readonly train: string;
  readonly test: string;
}

async function makeData({ plan, scratch, say }: Setting, model: Model): Promise<Case> {
  const options = { scale: model.scale, seed: SEED, threads: plan.threads };
  const [train, test] = [`${scratch}/${model.scale}.train`, `${scratch}/${model.scale}.test`];
  await generateData({ ...options, out: train, rows: plan.rows });
  await generateData({ ...options, out: test, rows: plan.testRows, split: "test" });
  say(`  data: ${plan.rows} rows`);
  return { model, train, test };
}

/** How PyTorch can be started, or why not. */
function findTorch(): { readonly python: string } | { readonly missing: string } {
  const python = pythonWithTorch();
  return python === undefined
    ? { missing: "PyTorch is not installed: apt-get install python3-torch libopenblas0-openmp" }
    : { python };
}

/** Why a BLAS does not count, or `undefined`. */
export function blasProblem(blas: string): string | undefined {
  if (/openblas|mkl|blis|atlas/i.test(blas)) return undefined;
  return `PyTorch multiplies with ${blas}, which is no fast BLAS: apt-get install libopenblas0-openmp`;
}

/** Why the products of one of PyTorch's contenders do not count, or `undefined`. */
function problemOf(who: Who, blas: string): string | undefined {
  if (who.startsWith("fbgemm")) return mklProblem(blas, cpuFlags());
  return who.startsWith("torch") ? blasProblem(blas) : undefined;
}

/** Starts PyTorch, with FBGEMM or as this machine has it. */
function startTorch({ fbgemm }: Setting, who: Who): Contender {
  if (who.startsWith("fbgemm")) {
    if ("missing" in fbgemm) throw new ContenderError(fbgemm.missing);
    return new Contender(who, fbgemm.here.python, [FBGEMM_SCRIPT], fbgemm.here.env);
  }
  const torch = findTorch();
  if ("missing" in torch) throw new ContenderError(torch.missing);
  return new Contender(who, torch.python, [SCRIPT]);
}

/** Steps of every contender in a whole run. */
function stepsOf(plan: Plan): number {
  return plan.warmUp + 1 + plan.rounds * (plan.steps + 1);
}

/** Starts one and prepares it; ends it again if that fails. */
async function start(setting: Setting, one: Case, who: Who): Promise<{ contender: Contender; answer: Answer }> {
  const { plan, say } = setting;
  const batches = stepsOf(plan);
  const { fbgemm } = setting;
  const common = { data: one.train, dims: one.model.dims, threads: plan.threads, batch: BATCH, seed: SEED, batches };
  const launch = (): [Contender, Options] => {
    if (who === "floor" || who === "floor-bf16") {
      const bf16 = who === "floor" ? 0 : 1;
      const program = `${PROGRAMS}/wdl_floor`;
      if ("missing" in fbgemm) return [new Contender(who, program), { bf16 }];
      return [new Contender(who, program, [], fbgemm.here.env), { bf16, mkl: fbgemm.here.mkl }];
    }
    const switches = OURS[who];
    if (switches === undefined) {
      return [startTorch(setting, who), {
        dtype: who.endsWith("bf16") ? "bf16" : "fp32",
        rate: RATES.deep,
        accumulator: RATES.deepFirst,
        wide_rate: RATES.wide,
        wide_accumulator: RATES.wideFirst,
      }];
    }
    return [new Contender(who, `${PROGRAMS}/wdl_ours`), {
      library: plan.library,
      "store.storage": "DRAM",
      "store.size": 4 * 2 ** 30,
      ...one.model.dims.includes(",") ? { "trainer.dims": one.model.dims } : { "trainer.dim": one.model.dims },
      "trainer.batch": BATCH,
      "trainer.seed": SEED,
      "trainer.wide_learning_rate": RATES.wide,
      "trainer.wide_initial_accumulator": RATES.wideFirst,
      "trainer.deep_learning_rate": RATES.deep,
      "trainer.deep_initial_accumulator": RATES.deepFirst,
      "trainer.initializer": "truncated-normal",
      "trainer.initializer.stddev": 0.01,
      ...switches,
    }];
  };
  const [contender, options] = launch();
  try {
    const answer = await contender.command("prepare", { ...common, ...options });
    const problem = problemOf(who, answer["blas"] ?? "no BLAS");
    if (problem !== undefined) throw new ContenderError(problem);
    say(`  ${who}: ${Object.entries(answer).map(([name, value]) => `${name} ${value}`).join(", ")}`);
    return { contender, answer };
  } catch (error) {
    await contender[Symbol.asyncDispose]();
    throw error;
  }
}

/** Starts all of some; those that cannot take part here are named with their reason. */
async function startAll(
  setting: Setting,
  one: Case,
  who: readonly Who[],
  stack: AsyncDisposableStack,
): Promise<{ here: Map<Who, Contender>; absent: Map<Who, string>; answers: Map<Who, Answer> }> {
  const here = new Map<Who, Contender>();
  const absent = new Map<Who, string>();
  const answers = new Map<Who, Answer>();
  for (const name of who) {
    try {
      const { contender, answer } = await start(setting, one, name);
      here.set(name, stack.use(contender));
      answers.set(name, answer);
    } catch (error) {
      if (!(error instanceof ContenderError)) throw error;
      absent.set(name, error.message);
      setting.say(`  ${name} is left out: ${error.message}`);
    }
  }
  return { here, absent, answers };
}

/** Runs a command after a pause. */
async function measured(contender: Contender, verb: string, steps: number): Promise<Answer> {
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  return await contender.command(verb, { steps });
}

/** One round in the order given, backwards in every other; the first warms up and is not kept. */
async function runRounds(
  plan: Plan,
  here: ReadonlyMap<Who, Contender>,
): Promise<{ rounds: Round[]; losses: Map<Who, number> }> {
  const rounds: Round[] = [];
  const losses = new Map<Who, number>();
  for (let number = -1; number < plan.rounds; number++) {
    const round: Partial<Record<Who, Times>> = {};
    const order = [...here];
    for (const [who, contender] of number % 2 === 0 ? order : order.toReversed()) {
      const answer = await measured(contender, "train", number < 0 ? plan.warmUp : plan.steps);
      const times = { seconds: numberOf(answer, "seconds"), cpu: numberOf(answer, "cpu") };
      round[who] = "input" in answer ? { ...times, input: numberOf(answer, "input") } : times;
      if ("loss" in answer) losses.set(who, numberOf(answer, "loss"));
    }
    if (number >= 0) rounds.push(round);
  }
  return { rounds, losses };
}

/**
 * Compares what was learnt.
 *
 * @param losses Mean loss over the same last batches.
 * @throws {WrongResultError} If PyTorch and ours do not train the same.
 */
export function compareLosses(losses: ReadonlyMap<Who, number>): void {
  const pairs = [
    ["keep", "torch"],
    ["bf16", "torch-bf16"],
    ["keep", "fbgemm"],
    ["bf16", "fbgemm-bf16"],
    ["samples", "none"],
  ] as const;
  for (const [ours, theirs] of pairs) {
    const [a, b] = [losses.get(ours), losses.get(theirs)];
    if (a === undefined || b === undefined) continue;
    const limit = theirs === "none" ? 0 : LOSS_TOLERANCE;
    if (Math.abs(a - b) <= limit) continue;
    throw new WrongResultError(
      `Cannot compare "${ours}" with "${theirs}": over the same batches their losses are ${a} and ${b}`,
    );
  }
}

/** Who runs embeddings alone, in the order of a round, and how many times the plan's steps: PyTorch's are slow. */
const EMBEDDINGS: readonly (readonly [EmbeddingWho, number])[] = [["floor", 10], ["keep", 10], ["torch", 2], [
  "fbgemm",
  5,
]];

/** Rounds of embeddings alone, in processes of their own: their gradients are given, so nothing is learnt. */
async function runEmbeddings(setting: Setting, one: Case): Promise<Pick<Measured, "embedding" | "absent">> {
  const { plan } = setting;
  await using stack = new AsyncDisposableStack();
  const { here, absent } = await startAll(setting, one, EMBEDDINGS.map(([who]) => who), stack);
  if (!here.has("keep")) throw new ContenderError(absent.get("keep") ?? "Cannot start the trainer");
  const embedding: Partial<Record<EmbeddingWho, number>>[] = [];
  for (let number = -1; number < plan.rounds; number++) {
    const round: Partial<Record<EmbeddingWho, number>> = {};
    for (const [who, times] of number % 2 === 0 ? EMBEDDINGS : EMBEDDINGS.toReversed()) {
      const contender = here.get(who);
      if (contender === undefined) continue;
      round[who] = numberOf(await measured(contender, "embedding", times * plan.steps), "seconds");
    }
    if (number >= 0) embedding.push(round);
  }
  return { embedding, absent };
}

/** Measures one size of the model. */
export async function measureModel(
  setting: Setting,
  model: Model,
): Promise<{ measured: Measured; facts: Record<string, string> }> {
  const { plan, say } = setting;
  const one = await makeData(setting, model);
  const facts: Record<string, string> = {};
  const auc: Partial<Record<Who, number>> = {};
  let rounds: readonly Round[] = [];
  let absent = new Map<Who, string>();
  let staged: number | undefined;
  const who = contendersOf(model.parts);
  if (who.length > 0) {
    await using stack = new AsyncDisposableStack();
    const started = await startAll(setting, one, who, stack);
    absent = started.absent;
    for (const [name, answer] of started.answers) {
      for (const key of ["torch", "fbgemm", "blas", "bf16", "onednn", "products", "kernels"]) {
        const value = answer[key];
        if (value !== undefined) facts[key === "products" ? `${model.name}.${name}.${key}` : `${name}.${key}`] = value;
      }
    }
    const keep = started.here.get("keep");
    const stagedNs = async (): Promise<number> =>
      keep === undefined ? NaN : numberOf(await keep.command("describe"), "staged_input_ns");
    const before = await stagedNs();
    const result = await runRounds(plan, started.here);
    rounds = result.rounds;
    for (const [name, loss] of result.losses) facts[`${model.name}.loss.${name}`] = `${loss}`;
    compareLosses(result.losses);
    if (keep !== undefined) {
      const wall = rounds.reduce((sum, round) => sum + (round.keep?.seconds ?? NaN), 0) / rounds.length;
      staged = (await stagedNs() - before) * 1e-9 / (stepsOf(plan) * wall * plan.threads);
    }
    for (const [name, contender] of model.parts.includes("bf16") ? started.here : []) {
      if (!["keep", "bf16"].includes(name)) continue;
      const left = QUALITY_STEPS - stepsOf(plan) - 1;
      if (left > 0) await contender.command("train", { steps: left });
      auc[name] = numberOf(await contender.command("evaluate", { data: one.test }), "auc");
    }
    for (const [name, value] of Object.entries(auc)) facts[`${model.name}.auc.${name}`] = `${value}`;
    say(`  ${rounds.length} rounds of steps`);
  }
  let embedding: Measured["embedding"] = [];
  if (model.parts.includes("embedding")) {
    const result = await runEmbeddings(setting, one);
    embedding = result.embedding;
    absent = new Map([...absent, ...result.absent]);
    say(`  ${embedding.length} rounds of embeddings alone`);
  }
  for (const file of [one.train, one.test]) Deno.removeSync(file);
  const { fbgemm } = setting;
  const all = {
    name: model.name,
    parts: model.parts,
    ..."missing" in fbgemm ? { withoutMkl: fbgemm.missing } : {},
    rounds,
    embedding,
    auc,
    absent,
  };
  return { measured: staged === undefined ? all : { ...all, staged }, facts };
}
