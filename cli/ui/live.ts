/**
 * A run followed in a browser: `tierbench run --watch`. What happens goes to every page that is open, and a page that opens
 * later gets what happened before. What its stores and trainers count is beside it, as OpenMetrics text.
 *
 * @module
 */

import { OPEN_METRICS_TYPE, type RunEvent, type RunMetrics } from "../../mod.ts";
import { LIVE_POLICY, livePage } from "./live_page.ts";
import { type Loopback, serveLoopback } from "./loopback.ts";

/** What a page is told: an event's words and numbers, without records. */
export type Told =
  | { readonly type: "plan"; readonly name: string; readonly repetitions: number; readonly cases: readonly ToldCase[] }
  | { readonly type: "now"; readonly text: string; readonly share: number; readonly secondsLeft: number | null }
  | { readonly type: "sample"; readonly case: string; readonly rate: number | null }
  | { readonly type: "note" | "failed"; readonly text: string }
  | { readonly type: "end"; readonly text: string };

/** A case of the plan. */
export interface ToldCase {
  readonly case: string;
  /** `measured`, `emulated`, …, or `left out`. */
  readonly kind: string;
  readonly how: string;
}

/** What a page is told of an event; undefined: nothing. */
export function told(event: RunEvent): Told | undefined {
  switch (event.type) {
    case "plan": {
      const cases = event.lines.map(({ case: name, evidence, how }) => ({
        case: name,
        kind: evidence ?? "left out",
        how,
      }));
      return { type: "plan", name: event.name, repetitions: event.repetitions, cases };
    }
    case "data-progress":
      return {
        type: "now",
        text: `data: ${event.what}`,
        share: event.done / Math.max(1, event.total),
        secondsLeft: null,
      };
    case "sizing":
      return { type: "now", text: `sizing: how long a step takes, ${event.case}`, share: 0, secondsLeft: null };
    case "progress": {
      const { id, position, samples, phase, done, total, secondsLeft = null } = event;
      const part = total === 0 ? 0 : done / total;
      const share = id === "quality" ? part : (position - 1 + part) / samples;
      return {
        type: "now",
        text: id === "quality" ? "quality (AUC)" : `${position} of ${samples}: ${id}, ${phase}`,
        share,
        secondsLeft,
      };
    }
    case "sample": {
      const { case: name, stepNs, batch, virtual, again } = event.record;
      if (again === true) return undefined; // the floor of noise, and no case of its own
      const seconds = stepNs.reduce((sum, ns) => sum + ns, 0) / 1e9;
      // No speed of a medium that may be virtual is shown, here as in the report.
      return { type: "sample", case: name, rate: virtual ? null : stepNs.length * batch / seconds };
    }
    case "failed":
      return { type: "failed", text: `${event.record.id}: ${event.record.error}` };
    case "notice":
      return { type: "note", text: event.message };
    default:
      return undefined;
  }
}

/** The page of a run, served on loopback. */
export class LiveRun implements AsyncDisposable {
  readonly #server: Loopback;
  /** What a page that opens now has to be told first. */
  readonly #before: Told[] = [];
  #now: Told | undefined;
  readonly #open = new Set<ReadableStreamDefaultController<Uint8Array>>();

  /**
   * Serves.
   *
   * @param port 0: any that is free.
   * @param metrics Of the run: what `/metrics` answers.
   */
  constructor(port: number, metrics: Pick<RunMetrics, "text">) {
    const headers = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
    this.#server = serveLoopback(port, {
      "/": () =>
        new Response(livePage, {
          headers: { ...headers, "content-type": "text/html; charset=utf-8", "content-security-policy": LIVE_POLICY },
        }),
      "/metrics": async () =>
        new Response(await metrics.text(), { headers: { ...headers, "content-type": OPEN_METRICS_TYPE } }),
      "/events": () => new Response(this.#stream(), { headers: { ...headers, "content-type": "text/event-stream" } }),
    });
  }

  /** Where the page is. */
  get url(): string {
    return this.#server.url;
  }

  #stream(): ReadableStream<Uint8Array> {
    let mine: ReadableStreamDefaultController<Uint8Array>;
    return new ReadableStream({
      start: (controller) => {
        mine = controller;
        this.#open.add(controller);
        for (const one of [...this.#before, ...(this.#now === undefined ? [] : [this.#now])]) {
          controller.enqueue(lineOf(one));
        }
      },
      cancel: () => void this.#open.delete(mine),
    });
  }

  #tell(one: Told): void {
    if (one.type === "now") this.#now = one;
    else this.#before.push(one);
    for (const controller of this.#open) controller.enqueue(lineOf(one));
  }

  /** Something happened. */
  show(event: RunEvent): void {
    const one = told(event);
    if (one !== undefined) this.#tell(one);
  }

  /** The run has ended. @param text How, in a sentence. */
  end(text: string): void {
    this.#now = undefined;
    this.#tell({ type: "end", text });
  }

  /** Ends what is open. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const controller of this.#open) controller.close();
    this.#open.clear();
    await this.#server[Symbol.asyncDispose]();
  }
}

function lineOf(one: Told): Uint8Array {
  return new TextEncoder().encode(`data: ${JSON.stringify(one)}\n\n`);
}
