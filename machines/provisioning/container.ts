/**
 * A container on a machine that was provisioned: which of the host it has to be given. The steps before it are the
 * host's, the same as without a container.
 *
 * @module
 */

import { nodesOf } from "../inventory/parts.ts";
import { type PlanContext, type PlanParts, step } from "./context.ts";
import type { Step } from "./contract.ts";
import { containerKind } from "./command.ts";

/** The steps of the host with the one that starts the container. */
export function inContainer(context: PlanContext, host: PlanParts): PlanParts {
  const kind = containerKind(context.inventory.facts);
  return {
    summary: `on the host: ${host.summary}; then a container that may use it`,
    warnings: [
      ...(kind === undefined
        ? []
        : [`this is inside a container (${kind}): steps of the host have to be run outside it`]),
      "seccomp=unconfined is for io_uring, which the default profile of container engines leaves out; without SSD " +
      "tiers leave the option away",
      ...host.warnings,
    ],
    steps: host.partial ? host.steps : [...host.steps, runStep(context, host, kind)],
    ...(host.partial ? { partial: true } : {}),
    results: host.results,
  };
}

/** What tells memkind its nodes, by target. */
const MEMKIND_NODES = {
  "memory-mode": "MEMKIND_DAX_KMEM_NODES",
  "fsdax": "MEMKIND_DAX_KMEM_NODES",
  "kmem-dax": "MEMKIND_DAX_KMEM_NODES",
  "cxl-kmem": "MEMKIND_DAX_KMEM_NODES",
  "hbm": "MEMKIND_HBW_NODES",
} as const;

function runStep({ inventory, request }: PlanContext, { results }: PlanParts, kind: string | undefined): Step {
  const memory = nodesOf(inventory.facts).filter((one) => (one.totalBytes ?? 0) > 0).map((one) => one.node);
  const mems = [...new Set([...memory, ...results.nodes])].sort((a, b) => a - b).join(",");
  const engine = kind === "podman" ? "podman" : "docker";
  const options = [
    "--rm",
    "-it",
    // mbind, set_mempolicy and move_pages are let through with this capability (the default profile of moby).
    "--cap-add SYS_NICE",
    "--security-opt seccomp=unconfined",
    "--ulimit memlock=-1:-1",
    "--shm-size 2g",
    // All nodes with memory, those without CPUs too: else memory cannot be bound to them.
    ...(mems === "" || results.nodes.length === 0 ? [] : [`--cpuset-mems ${mems}`]),
    ...(results.nodes.length === 0 ? [] : [`-e ${MEMKIND_NODES[request.target]}=${results.nodes.join(",")}`]),
    ...results.mounts.map((path) => `-v ${path}:${path}`),
  ];
  return step({
    id: "container",
    title:
      "Run the image (docs/provisioning/Containerfile) with the mounts, nodes and rights it needs; podman takes the " +
      "same options",
    commands: [`${engine} run ${options.join(" ")} tierbench doctor`],
    done: kind === undefined ? undefined : `this is a container (${kind})`,
    expected: "doctor names the configuration as measured, or what it lacks",
    outsideLab: "container engine",
  });
}
