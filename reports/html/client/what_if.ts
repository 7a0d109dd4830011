/// <reference no-default-lib="true" />
/// <reference lib="esnext" />
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/**
 * The what-if of a page: reads the fields, computes with the report's own modules, writes the figures. The address holds
 * what was changed.
 *
 * @module
 */

import { kindOf } from "../../summary/kind.ts";
import type { PageData } from "../page_data.ts";
import { hashOf, stateOf } from "../../what_if/address.ts";
import type { WhatIfBase } from "../../what_if/base.ts";
import { allowed, type Knob, knobsOf, type NumberKnob, sliderPlace, valueAt, valueText } from "../../what_if/knobs.ts";
import { type WhatIf, whatIf } from "../../what_if/what_if.ts";
import { changesText, whatIfRows, whatIfText } from "../../what_if/words.ts";

/** Points of the chart: thousand samples/s, $ per million samples. */
type ValueRows = NonNullable<PageData["value"]>;

/** The chart's points of a what-if. */
function valueRows({ cases }: WhatIf): ValueRows {
  return cases.flatMap((one) => {
    const { name, colour, throughput, cost } = one;
    if (throughput === undefined || cost === undefined) return [];
    const { value, low = value, high = value } = throughput;
    const { perMillion } = cost;
    return [{
      name,
      ...kindOf(one),
      colour,
      rate: { value: value / 1e3, low: low / 1e3, high: high / 1e3 },
      cost: {
        value: perMillion.value,
        low: perMillion.low ?? perMillion.value,
        high: perMillion.high ?? perMillion.value,
      },
    }];
  });
}

/**
 * Connects the fields.
 *
 * @param redraw Called with the points after every change.
 * @returns The points at the beginning; undefined on a page without a what-if.
 */
export function connect(base: WhatIfBase, redraw: (rows: ValueRows) => void): ValueRows | undefined {
  const result = document.getElementById("what-if-result");
  const changes = document.getElementById("what-if-changes");
  const body = document.querySelector("#what-if-table tbody");
  if (result === null || changes === null || body === null) return undefined;
  const knobs = knobsOf(base);
  const before = whatIf(base, {});
  const state: Record<string, number | string> = {};
  let ignored: readonly string[] = [];

  const show = (): ValueRows => {
    const now = whatIf(base, state);
    const texts = changesText(knobs, state);
    result.textContent = whatIfText(now, before, texts.length, base.sign);
    changes.textContent = (texts.length === 0 ? "Nothing is changed." : `Changed: ${texts.join("; ")}.`) +
      (ignored.length === 0 ? "" : ` Ignored, since this page has no such field or value: ${ignored.join(", ")}.`);
    changes.classList.toggle("warn", ignored.length > 0);
    whatIfRows(now).forEach((row, r) => {
      const cells = body.children[r]?.children ?? [];
      row.forEach((text, c) => {
        const cell = cells[c];
        if (c > 0 && cell !== undefined && cell.textContent !== text) cell.textContent = text;
      });
    });
    for (const group of document.querySelectorAll<HTMLFieldSetElement>("fieldset[data-group]")) {
      const owned = group.dataset["group"] === "Owned servers";
      const counts = (state["model"] ?? base.cost.model) === "owned";
      if (owned || group.dataset["group"] === "Prices") group.classList.toggle("idle", owned !== counts);
    }
    return valueRows(now);
  };
  const fields = [...document.querySelectorAll<HTMLElement>("[data-knob]")].flatMap((holder) => {
    const knob = knobs.find(({ id }) => id === holder.dataset["knob"]);
    return knob === undefined ? [] : [bind(holder, knob, (value) => {
      ignored = [];
      if (value === undefined || value === knob.value) delete state[knob.id];
      else state[knob.id] = value;
      history.replaceState(null, "", hashOf(state));
      redraw(show());
    })];
  });
  const restore = (): void => {
    const found = stateOf(location.hash, knobs);
    if (found === undefined) return;
    for (const fold of document.querySelectorAll<HTMLDetailsElement>(".what-if details")) fold.open = true;
    for (const id of Object.keys(state)) delete state[id];
    Object.assign(state, found.state);
    ignored = found.ignored;
    for (const { knob, write } of fields) write(state[knob.id]);
  };
  document.getElementById("what-if-reset")?.addEventListener("click", () => {
    for (const id of Object.keys(state)) delete state[id];
    ignored = [];
    for (const { write } of fields) write(undefined);
    history.replaceState(null, "", hashOf(state));
    redraw(show());
  });
  addEventListener("hashchange", () => {
    restore();
    redraw(show());
  });
  restore();
  return show();
}

/** A field: writes a value into it (undefined: the report's), and tells of changes. */
function bind(
  holder: HTMLElement,
  knob: Knob,
  changed: (value: number | string | undefined) => void,
): { readonly knob: Knob; readonly write: (value: number | string | undefined) => void } {
  const reset = holder.querySelector<HTMLButtonElement>("button.reset");
  const inputs = knob.kind === "choice" ? bindChoice(holder, knob, told) : bindNumber(holder, knob, told);
  function told(value: number | string | undefined): void {
    mark(value);
    changed(value);
  }
  function mark(value: number | string | undefined): void {
    const same = value === undefined || value === knob.value;
    holder.classList.toggle("changed", !same);
    if (reset !== null) reset.disabled = same;
  }
  const write = (value: number | string | undefined): void => {
    inputs(value);
    mark(value);
  };
  reset?.addEventListener("click", () => {
    write(undefined);
    holder.querySelector<HTMLElement>("input,select")?.focus();
    changed(undefined);
  });
  return { knob, write };
}

type Write = (value: number | string | undefined) => void;

function bindChoice(holder: HTMLElement, knob: Knob, told: Write): Write {
  const select = holder.querySelector("select");
  select?.addEventListener("change", () => told(select.value));
  return (value) => {
    if (select !== null) select.value = `${value ?? knob.value}`;
  };
}

function bindNumber(holder: HTMLElement, knob: NumberKnob, told: Write): Write {
  const range = holder.querySelector<HTMLInputElement>("input[type=range]");
  const number = holder.querySelector<HTMLInputElement>("input[type=number]");
  if (range === null || number === null) return () => {};
  const place = (value: number | undefined): void => {
    range.value = `${sliderPlace(knob, value ?? knob.min)}`;
    range.setAttribute("aria-valuetext", valueText(knob, value));
  };
  const text = (value: number | undefined): void => {
    number.value = value === undefined ? "" : `${Number(value.toPrecision(6))}`;
    number.removeAttribute("aria-invalid");
  };
  range.addEventListener("input", () => {
    const value = valueAt(knob, Number(range.value));
    text(value);
    range.setAttribute("aria-valuetext", valueText(knob, value));
    told(value);
  });
  number.addEventListener("input", () => {
    const empty = number.value.trim() === "" && number.validity.valid;
    const value = empty ? knob.value : Number(number.value);
    const fits = empty || (number.value.trim() !== "" && allowed(knob, value as number));
    number.toggleAttribute("aria-invalid", false);
    if (!fits) {
      number.setAttribute("aria-invalid", "true");
      return;
    }
    place(value);
    told(value);
  });
  return (value) => {
    const shown = typeof value === "number" ? value : knob.value;
    place(shown);
    text(shown);
  };
}
