/**
 * A machine to try `tierbench provision` on: files of a folder, and the real shell.
 *
 * @module
 */

import { Command } from "commander";
import { addProvision, type Ask } from "../../cli/provision.ts";
import { processShell } from "../../machines/provisioning/run_line.ts";
import type { Plan, Provisioner, ProvisionRequest, Refusal } from "../../mod.ts";

/** A machine of two files: step `a` makes the first, step `b` the second. */
export class Machine {
  readonly folder: string = Deno.makeTempDirSync();
  readonly requests: ProvisionRequest[] = [];
  refusal: string | undefined;
  command = "touch";
  /** A line that step `a` runs first. */
  first: string | undefined;

  provisioner = (): Provisioner => ({
    collect: () =>
      Promise.resolve({
        facts: {},
        os: { known: false, reason: "not read", raw: "" },
        tools: [],
        ndctl: undefined,
        daxctl: undefined,
        cxl: undefined,
        ipmctl: undefined,
        blocks: undefined,
        files: Object.fromEntries(this.have().map((name) => [name, ""])),
        units: {},
        root: true,
      }),
    plan: ({ files }, request): Plan | Refusal => {
      this.requests.push(request);
      const { target, place = "bare-metal" } = request;
      if (this.refusal !== undefined) {
        return { kind: "refusal", target, place, reason: this.refusal, instead: undefined };
      }
      return {
        kind: "plan",
        target,
        place,
        summary: "two files",
        warnings: [],
        results: { mounts: ["/nowhere/pmem0"], nodes: [] },
        steps: ["a", "b"].map((id) => ({
          id,
          title: `Make ${id}`,
          commands: [
            ...(id === "a" && this.first !== undefined ? [this.first] : []),
            `${this.command} ${this.folder}/${id}`,
          ],
          undo: [`rm ${this.folder}/${id}`],
          done: files[id] === undefined ? undefined : "it is there",
          destroys: id === "a" ? [{ device: "pmem0", found: "ext4" }] : [],
          expected: "a file",
          reboot: false,
          where: "host",
        })),
      };
    },
    render: (plan) => plan.kind === "plan" ? `PLAN of ${plan.steps.length}\n` : `NO WAY: ${plan.reason}\n`,
    shell: processShell,
    verify: { dax: () => Promise.reject(new Error("no")), node: () => Promise.reject(new Error("no")) },
    uid: (user) => Promise.resolve(user === "ada" ? 1000 : undefined),
  });

  have(): string[] {
    return [...Deno.readDirSync(this.folder)].map(({ name }) => name).sort();
  }

  /** Runs the verb. @param echo Receives its output as it comes. */
  async say(
    words: string,
    ask: Ask = () => undefined,
    echo: (text: string) => void = () => {},
  ): Promise<{ code: number; out: string; err: string }> {
    let [out, err, code] = ["", "", 0];
    const terminal = {
      out: (text: string) => {
        out += text;
        echo(text);
      },
      err: (text: string) => void (err += text),
      isTerminal: false,
      colors: false,
      width: 120,
    };
    const program = new Command("tierbench");
    addProvision(program as never, { terminal, exit: (wanted) => code = wanted }, this.provisioner, ask);
    await program.parseAsync(["provision", ...words.split(" ")], { from: "user" });
    return { code, out, err };
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.folder, { recursive: true });
  }
}
