import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readEnergy } from "../../ffi/energy.ts";
import { VERSION } from "../../base/version.ts";
import { libraryVersion } from "../../ffi/machine.ts";
import { prepareData } from "../../models/workloads/data.ts";
import { availability, inspectMachine } from "../../machines/machine.ts";
import { loadMedia, mediaNativeOptions } from "../../models/media/media.ts";
import { mediaKind, modelBands, modelLimit } from "./model_facts.ts";
import type { RunDependencies } from "./prepare.ts";
import type { MachineRecord } from "../record.ts";
import { memoryLimit } from "./memory_limit.ts";
import { watchLaunchers } from "./launchers.ts";
import { isFolderInMemory, makeScratch, makeSsdScratch, removeLeftScratch } from "./scratch.ts";
import { rankStart } from "../../machines/rank_launcher.ts";
import { defaultWorkerCommand } from "./worker_process.ts";

/** Versions of everything that figures depend on: name to version. */
function versionsOf(machine: MachineRecord): Record<string, string> {
  const { deno, v8, typescript } = Deno.version;
  const libraries = Object.entries(machine.facts).flatMap(([key, value]) => {
    const name = /^library\.(.+)\.version$/.exec(key)?.[1];
    return name === undefined ? [] : [[name, value] as const];
  });
  return {
    tierbench: VERSION,
    ...commit(),
    libtierstore: libraryVersion(),
    deno,
    v8,
    typescript,
    ...Object.fromEntries(libraries),
  };
}

/** The commit of this suite, of a checkout of it: `14c11287`, or `14c11287, changed`. */
function commit(): { readonly commit?: string } {
  const root = fileURLToPath(new URL("../../", import.meta.url));
  if (!existsSync(join(root, ".git"))) return {};
  try {
    const args = ["-C", root, "describe", "--always", "--exclude=*", "--dirty=, changed"];
    const { success, stdout } = new Deno.Command("git", { args, stdin: "null", stderr: "null" }).outputSync();
    const text = new TextDecoder().decode(stdout).trim();
    return success && text !== "" ? { commit: text } : {};
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return {}; // there is no git
    throw error;
  }
}

/** What a run works with unless a test says otherwise: this machine, its libraries, real workers. */
export function defaultDependencies(): RunDependencies {
  return {
    inspectMachine: () => inspectMachine(),
    availability,
    prepareData,
    mediaOptions: async (media, { kind, threads, cacheBytes, seed }) =>
      mediaNativeOptions(await loadMedia(media), { prefix: kind, threads, cacheBytes, seed }),
    mediaKind,
    modelLimit,
    modelBands,
    makeScratch: (bytes, beside) => makeScratch(bytes, beside),
    makeSsdScratch,
    removeLeftScratch,
    goneAncestor: watchLaunchers(),
    memoryLimit: () => memoryLimit(),
    availableMemory: () => Math.min(Deno.systemMemoryInfo().available, memoryLimit()?.left ?? Infinity),
    isInMemory: isFolderInMemory,
    command: defaultWorkerCommand(),
    rankStart: (cluster) => rankStart(cluster),
    readEnergy: () => readEnergy(),
    versions: versionsOf,
  };
}
