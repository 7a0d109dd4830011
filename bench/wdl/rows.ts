/**
 * From the rounds of the trainer's bench to its rows. Pure functions.
 *
 * @module
 */

import { type BenchRow, missingRow, ratioRow, worstRow } from "../rows.ts";
import type { Part } from "./plan.ts";

/** Who takes part: the floors, our trainer with some switches (measure.ts), PyTorch, PyTorch with FBGEMM. */
export type Who =
  | "floor"
  | "floor-bf16"
  | "keep"
  | "bf16"
  | "samples"
  | "samples-bf16"
  | "none"
  | "all"
  | "torch"
  | "torch-bf16"
  | "fbgemm"
  | "fbgemm-bf16";

/** Who looks embeddings up and updates them, alone. */
export type EmbeddingWho = Extract<Who, "floor" | "keep" | "torch" | "fbgemm">;

/** What a contender took for one step in one round, seconds. */
export interface Times {
  /** By the clock. */
  readonly seconds: number;
  /** Of processors. */
  readonly cpu: number;
  /** Ours: share of the wall time that the step waited for its batch. */
  readonly input?: number;
}

/** One round: every contender that is here. */
export type Round = Readonly<Partial<Record<Who, Times>>>;

/** What was measured on one size of the model. */
export interface Measured {
  /** Of the model. */
  readonly name: string;
  /** What was run on it. */
  readonly parts: readonly Part[];
  /** Why the floor has no products of MKL, where it has none. */
  readonly withoutMkl?: string;
  /** Rounds of steps. */
  readonly rounds: readonly Round[];
  /** Rounds of embeddings alone: seconds of who is here. */
  readonly embedding: readonly Readonly<Partial<Record<EmbeddingWho, number>>>[];
  /** AUC after the same steps. */
  readonly auc: Readonly<Partial<Record<Who, number>>>;
  /** What the stage's threads took for input, by the clock, as a share of threads × wall time. */
  readonly staged?: number;
  /** Contenders that could not take part, and why. */
  readonly absent: ReadonlyMap<Who, string>;
}

/** Rows that are one contender's time divided by another's: how many times as fast the second is. */
const RATIOS: readonly (readonly [part: Part, row: string, slower: Who, faster: Who, detail: string])[] = [
  // The floor multiplies every sample's vectors, so it is one of trainers that do so, too.
  ["floor", "step/floor", "floor", "samples", ""],
  ["floor", "step-bf16/floor", "floor-bf16", "samples-bf16", ""],
  ["torch", "step/torch", "torch", "keep", "fp32, "],
  ["torch", "step/torch", "torch-bf16", "bf16", "bf16, "],
  ["fbgemm", "step/torch-fbgemm", "fbgemm", "keep", ""],
  ["fbgemm", "step-bf16/torch-fbgemm", "fbgemm-bf16", "bf16", ""],
  ["bf16", "bf16/fp32", "samples", "samples-bf16", ""],
  ["switches", "all/none", "none", "all", ""],
];

/** Who is needed for a part. */
export function contendersOf(parts: readonly Part[]): Who[] {
  const who = new Set<Who>();
  for (const [part, , slower, faster] of RATIOS) if (parts.includes(part)) who.add(slower).add(faster);
  if (parts.includes("floor")) who.add("keep").add("bf16");
  if (parts.includes("switches")) who.add("samples").add("floor");
  if (parts.includes("bf16")) who.add("keep").add("bf16");
  if (parts.includes("input")) who.add("keep");
  return [...who];
}

/** A ratio of times over the rounds, or why there is none. */
function ratio(name: string, measured: Measured, over: Who, under: Who, clock: "seconds" | "cpu"): BenchRow {
  const missing = [over, under].find((who) => measured.rounds.every((round) => round[who] === undefined));
  if (missing !== undefined) return missingRow(name, measured.absent.get(missing) ?? `${missing} did not run`);
  const at = (round: Round, who: Who): number => round[who]?.[clock] ?? NaN;
  const ratios = measured.rounds.map((round) => at(round, over) / at(round, under));
  const { withoutMkl } = measured;
  const note = over.startsWith("floor") && withoutMkl !== undefined
    ? `oneDNN's products alone: ${withoutMkl}`
    : undefined;
  return ratioRow(name, ratios, note);
}

/** Rows of one name over all sizes: the worst first. */
function worst(name: string, parts: readonly BenchRow[]): BenchRow[] {
  return [worstRow(name, parts), ...parts];
}

function accuracyRow(name: string, { auc, absent }: Measured): BenchRow {
  const [fp32, bf16] = [auc.keep, auc.bf16];
  if (fp32 === undefined || bf16 === undefined) return missingRow(name, absent.get("bf16") ?? "nothing was scored");
  const note = `AUC ${fp32.toFixed(5)} in fp32, ${bf16.toFixed(5)} in bf16`;
  return { ...ratioRow(name, [Math.abs(bf16 - fp32)], note), unit: "AUC" };
}

/** What steps waited for their batch has the bar; the stage's threads, whose clock runs while they wait for a core, not. */
function inputRows(all: readonly Measured[]): BenchRow[] {
  const name = "parse-share";
  const waited = all.map((measured) => {
    const shares = measured.rounds.flatMap(({ keep }) => keep?.input === undefined ? [] : [keep.input]);
    const own = `${name} waited for, ${measured.name}`;
    return shares.length === 0 ? missingRow(own, "nothing was staged") : ratioRow(own, shares);
  });
  const staged = all.flatMap((measured) =>
    measured.staged === undefined ? [] : [ratioRow(`${name} of the stage, ${measured.name}`, [measured.staged])]
  );
  return [...worst(name, waited), ...staged];
}

function embeddingRows(all: readonly Measured[]): BenchRow[] {
  const name = "embedding/torch";
  const ratios = ({ embedding }: Measured, who: EmbeddingWho): number[] =>
    embedding.flatMap((round) => {
      const [other, ours] = [round[who], round.keep];
      return other === undefined || ours === undefined ? [] : [other / ours];
    });
  const row = (own: string, measured: Measured, who: EmbeddingWho): BenchRow => {
    const values = ratios(measured, who);
    return values.length > 0
      ? ratioRow(own, values)
      : missingRow(own, measured.absent.get(who) ?? `${who} did not run`);
  };
  return [
    ...worst(name, all.map((measured) => row(`${name} ${measured.name}`, measured, "torch"))),
    ...all.map((measured) => row(`embedding/torch-fbgemm ${measured.name}`, measured, "fbgemm")),
    ...all.map((measured) => row(`embedding/floor ${measured.name}`, measured, "floor")),
  ];
}

/** What the first layer gains by its choice between samples and distinct rows: about 1 where it is samples. No bar. */
function firstLayerRows(all: readonly Measured[]): BenchRow[] {
  const pairs = [["fp32", "samples", "keep"], ["bf16", "samples-bf16", "bf16"]] as const;
  return all.flatMap((measured) =>
    pairs.map(([type, samples, chosen]) =>
      ratio(`first-layer/samples ${type}, ${measured.name}`, measured, samples, chosen, "seconds")
    )
  );
}

/** What all switches that keep results gain over none, and the most that they could: the floor's time. No bar. */
function keepRows(all: readonly Measured[]): BenchRow[] {
  return all.flatMap((measured) => {
    const bound = ratio(`keep/none bound ${measured.name}`, measured, "none", "floor", "seconds");
    return [
      {
        ...ratio(`keep/none ${measured.name}`, measured, "none", "samples", "seconds"),
        ...(bound.value === null ? {} : { note: `at most ${bound.value.toFixed(2)}: none ÷ floor` }),
      },
      bound,
    ];
  });
}

/** Not ratios: milliseconds of a step. */
function timeRows(all: readonly Measured[]): BenchRow[] {
  return all.flatMap((measured) => {
    const here = contendersOf(["floor", "torch", "fbgemm", "bf16", "switches"]).filter((who) =>
      measured.rounds.some((round) => round[who] !== undefined)
    );
    const row = (name: string, values: readonly number[]): BenchRow => ({
      ...ratioRow(name, values.map((value) => value * 1e3)),
      unit: "ms",
    });
    return here.flatMap((who) => [
      row(`time ${who} ${measured.name}`, measured.rounds.map((round) => round[who]?.seconds ?? NaN)),
      row(`cpu ${who} ${measured.name}`, measured.rounds.map((round) => round[who]?.cpu ?? NaN)),
    ]);
  });
}

/**
 * All rows of the bench.
 *
 * @param all One entry a size of the model.
 */
export function wdlRows(all: readonly Measured[]): BenchRow[] {
  const rows: BenchRow[] = [];
  const having = (part: Part): Measured[] => all.filter(({ parts }) => parts.includes(part));
  for (const name of new Set(RATIOS.map(([, row]) => row))) {
    const own = RATIOS.filter(([, row]) => row === name);
    const of = (clock: "seconds" | "cpu"): BenchRow[] =>
      all.flatMap((measured) =>
        own.filter(([part]) => measured.parts.includes(part)).map(([, , slower, faster, detail]) => {
          const more = clock === "cpu" ? ", processor time" : "";
          return ratio(`${name} ${detail}${measured.name}${more}`, measured, slower, faster, clock);
        })
      );
    const bySeconds = of("seconds");
    if (bySeconds.length > 0) rows.push(...worst(name, bySeconds), ...of("cpu"));
  }
  const [accuracy, input, embedding] = [having("bf16"), having("input"), having("embedding")];
  if (accuracy.length > 0) {
    const name = "auc-difference bf16/fp32";
    rows.push(...worst(name, accuracy.map((measured) => accuracyRow(`${name} ${measured.name}`, measured))));
  }
  if (input.length > 0) rows.push(...inputRows(input));
  if (embedding.length > 0) rows.push(...embeddingRows(embedding));
  return [...rows, ...firstLayerRows(having("floor")), ...keepRows(having("switches")), ...timeRows(all)];
}
