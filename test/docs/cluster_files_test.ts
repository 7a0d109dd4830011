import "../native_library.ts";
import { parse } from "@std/yaml";
import { Ajv, type ValidateFunction } from "ajv";
import { setField } from "../../cli/set_option.ts";
import { loadScenario } from "../../scenarios/load.ts";
import { trainersOf } from "../../scenarios/cluster.ts";
import { assert, assertEquals, assertMatch } from "../assert.ts";

const PAGES = new URL("../../docs/clusters/", import.meta.url);
const read = (name: string) => Deno.readTextFileSync(new URL(name, PAGES));

interface Pod {
  containers: {
    image: string;
    command: string[];
    args: string[];
    volumeMounts: { name: string; mountPath: string }[];
  }[];
  volumes: { name: string; persistentVolumeClaim: { claimName: string } }[];
}
interface Replicas {
  replicas: number;
  template: { spec: Pod };
}
interface Job {
  apiVersion: string;
  spec: {
    slotsPerWorker: number;
    sshAuthMountPath: string;
    mpiReplicaSpecs: { Launcher?: Replicas; Worker: Replicas };
  };
}

const job = () => parse(read("mpijob.yaml")) as Job;

function validator(): ValidateFunction {
  const schema = new URL("../fixtures/kubernetes/mpijob-v2beta1.schema.json", import.meta.url);
  return new Ajv({ allErrors: true, strict: true, strictTypes: false, strictRequired: false })
    .compile(JSON.parse(Deno.readTextFileSync(schema)));
}

Deno.test("the manifest for Kubernetes is an MPIJob of v2beta1, and slips in it are found", () => {
  const validate = validator();
  assert(validate(job()), JSON.stringify(validate.errors));
  const slips: ((one: Job) => void)[] = [
    (one) => one.apiVersion = "kubeflow.org/v1",
    (one) => delete one.spec.mpiReplicaSpecs.Launcher,
    (one) => (one.spec.mpiReplicaSpecs.Launcher as Replicas).replicas = 2,
    (one) => one.spec.mpiReplicaSpecs.Worker.replicas = "4" as unknown as number,
    (one) => Object.assign(one.spec, { slotPerWorker: 1 }),
    (one) => Object.assign(one.spec, { mpiImplementation: "Open MPI" }),
    (one) => Object.assign(one.spec.mpiReplicaSpecs.Worker, { restartPolicies: "Never" }),
    (one) => Object.assign(one.spec.mpiReplicaSpecs.Worker.template.spec.containers[0] ?? {}, { volumeMount: [] }),
    (one) => one.spec.mpiReplicaSpecs.Worker.template.spec.containers = [],
  ];
  for (const slip of slips) {
    const wrong = job();
    slip(wrong);
    assertEquals(validate(wrong), false, `${slip}`);
  }
});

/** The largest number of ranks that a run of scale-out with these words has. */
async function mostRanks(words: readonly string[]): Promise<number> {
  assertEquals(words.slice(0, 2), ["run", "scale-out"]);
  let set: ReturnType<typeof setField> = {};
  for (const [i, word] of words.entries()) if (words[i - 1] === "--set") set = setField(word, set);
  const scenario = await loadScenario(new URL("../../scenarios/scale-out.jsonc", import.meta.url), { set });
  const ranks = (scenario.matrix?.["cluster.ranks"] ?? []) as number[];
  assert(scenario.cluster !== undefined && trainersOf(scenario.cluster) >= 1);
  return Math.max(...ranks);
}

Deno.test("the manifest has a worker for each rank, one volume for all, and the image's ssh server", async () => {
  const { slotsPerWorker, sshAuthMountPath, mpiReplicaSpecs: { Launcher, Worker } } = job().spec;
  const pods = [Launcher, Worker].map((one) => one?.template.spec as Pod);
  const [launcher, worker] = pods.map(({ containers: [first] }) => first);
  assertEquals(launcher?.command, ["tierbench"]);
  assertEquals(Worker.replicas * slotsPerWorker, await mostRanks(launcher?.args ?? []));
  assertEquals(launcher?.volumeMounts, worker?.volumeMounts);
  assertEquals(pods[0]?.volumes, pods[1]?.volumes);
  assertEquals(launcher?.volumeMounts[0]?.mountPath, "/opt/tierbench/suite/.cache");
  const image = read("Containerfile");
  for (const word of ["openmpi-bin", "openssh-server", "ranks_openmpi.so", "/opt/tierbench/suite/.cache"]) {
    assert(image.includes(word), word);
  }
  assertEquals(worker?.command, ["/usr/sbin/sshd"]);
  assert(image.includes(`> ${worker?.args.at(-1)}`) && image.includes(`HostKey ${sshAuthMountPath}/id_rsa`));
  const base = Deno.readTextFileSync(new URL("../provisioning/Containerfile", PAGES));
  assert(
    base.includes("useradd") && base.includes("/opt/tierbench/suite") && sshAuthMountPath === "/home/tierbench/.ssh",
  );
});

for (const [name, launcher, start] of [["slurm.sh", "srun", []], ["ssh.sh", "mpirun", ["a", "b"]]] as const) {
  Deno.test(`docs/clusters/${name} runs scale-out by ${launcher}, with words that are a scenario`, async () => {
    const folder = await Deno.makeTempDir();
    try {
      await Deno.writeTextFile(`${folder}/deno`, `#!/bin/sh\nprintf '%s\\n' "$@" "$OMPI_MCA_orte_default_hostfile"\n`);
      await Deno.chmod(`${folder}/deno`, 0o755);
      const { code, stdout, stderr } = await new Deno.Command("sh", {
        args: [new URL(name, PAGES).pathname, ...start],
        env: { PATH: `${folder}:${Deno.env.get("PATH")}`, SLURM_SUBMIT_DIR: folder, SLURM_CPUS_PER_TASK: "4" },
        stdin: "null",
      }).output();
      const words = new TextDecoder().decode(stdout).trimEnd().split("\n");
      assertEquals(code, 0, new TextDecoder().decode(stderr));
      assertEquals(words.slice(0, 2), ["task", "tierbench"]);
      assertEquals(words[words.indexOf("--launcher") + 1], launcher);
      const most = await mostRanks(words.slice(2));
      if (name === "slurm.sh") assertMatch(read(name), new RegExp(`^#SBATCH --nodes=${most}$`, "m"));
      else assertMatch(words.at(-1) ?? "", /^\/.+/); // the file of hosts
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}
