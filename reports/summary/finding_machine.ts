/**
 * Rules about what else the machine did.
 *
 * A tenth of the processors in other work, or a fiftieth stolen, is about what moves a step's mean by the few percent that
 * separate media in this suite's reports; a page of swap or migration costs microseconds, so a mebibyte of them is let pass.
 *
 * @module
 */

import { perCase, percent, type Rule, worst } from "./finding_parts.ts";

/** Share of the processors' time that other work may have. */
const OTHERS = 0.1;
/** Share of it that a hypervisor may take. */
const STOLEN = 0.02;
/** Share of a sample's time in which a control group's limit may hold it back. */
const THROTTLED = 0.01;
/** Pages of 4 KiB that may swap or move between nodes: a mebibyte. */
const PAGES = 256;
/** Rules about the machine. */
export const MACHINE_RULES: readonly Rule[] = [
  perCase("other-load", "open", "stop other work, or run where there is none", (one) => {
    const share = worst(one, ({ othersShare }) => othersShare, OTHERS);
    return share === undefined
      ? undefined
      : `other work took up to ${percent(share)} of the processors during a sample`;
  }),
  perCase("stolen-time", "open", "take a machine with processors of its own", (one) => {
    const share = worst(one, ({ stolenShare }) => stolenShare, STOLEN);
    return share === undefined ? undefined : `the hypervisor gave up to ${percent(share)} of the processors to others`;
  }),
  perCase("throttled", "open", "raise the control group's cpu.max", (one) => {
    const share = worst(one, ({ throttledShare }) => throttledShare, THROTTLED);
    return share === undefined
      ? undefined
      : `a limit of the control group held it back for up to ${percent(share)} of a sample`;
  }),
  perCase("swapped", "open", "give the machine more memory, or the run less", (one) => {
    const pages = worst(one, ({ swappedPages }) => swappedPages, PAGES);
    return pages === undefined ? undefined : `${pages} pages went to or came from swap during a sample`;
  }),
  perCase("pages-moved", "open", "turn kernel.numa_balancing off, or bind the run to a node", (one, { run }) => {
    if (run.scenario.configurations?.[one.samples[0].configuration]?.memory === "kernel-tiering") return undefined;
    const pages = worst(one, ({ migratedPages }) => migratedPages, PAGES);
    return pages === undefined ? undefined : `the kernel moved ${pages} pages between nodes during a sample`;
  }),
  ({ samples, again = [] }) => {
    const all = [...samples, ...again].map(({ conditions }) => conditions?.settings ?? {});
    const changed = [...new Set(all.flatMap((one) => Object.keys(one)))].flatMap((name) => {
      const values = [...new Set(all.flatMap((one) => one[name] ?? []))];
      return values.length > 1 ? [`${name} was ${values.join(", then ")}`] : [];
    });
    return changed.length === 0 ? [] : [{
      code: "settings-changed",
      severity: "open",
      cases: [],
      seen: `settings of the machine changed during the run: ${changed.join("; ")}`,
      advice: "leave the machine alone while it is measured, and run again",
    }];
  },
  ({ run: { machine } }) => {
    const governor = machine.facts["noise.governor"];
    return governor === undefined || governor === "performance" ? [] : [{
      code: "frequency-varies",
      severity: "note",
      cases: [],
      seen: `the frequency governor is "${governor}"`,
      advice: "cpupower frequency-set -g performance",
    }];
  },
];
