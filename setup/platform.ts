/**
 * Which machines are supported, and what to do on others.
 *
 * @module
 */

import { SetupError, type System } from "./system.ts";

/** Runs tierbench on any machine that has Docker. memkind's mbind needs SYS_NICE; the pool file lies in /dev/shm. */
export const CONTAINER_COMMAND: string =
  'docker run --rm -it --platform linux/amd64 --cap-add SYS_NICE --shm-size 2g -v "$PWD":/tierbench ' +
  "-w /tierbench node:20-bookworm npx -y deno@2.9.6 task bench";

/**
 * Checks that this is a Debian of version 12 or later, or a system derived from Debian, on x86_64. Whether a derived
 * system has all packages is found out when they are looked up.
 *
 * @throws {SetupError} On any other machine.
 */
export function checkPlatform(system: System): void {
  if (system.os !== "linux" || system.arch !== "x86_64") throw unsupported(`${system.os} on ${system.arch}`);
  const release = parseRelease(system.read("/etc/os-release") ?? "");
  const name = release["PRETTY_NAME"] ?? "an unknown Linux";
  const family = [release["ID"] ?? "", ...(release["ID_LIKE"] ?? "").split(" ")];
  if (!family.includes("debian")) throw unsupported(name);
  if (release["ID"] === "debian" && Number(release["VERSION_ID"] ?? Infinity) < 12) throw unsupported(name);
}

/** The error for a machine that is not supported. */
export function unsupported(found: string): SetupError {
  return new SetupError(
    `Cannot set up tierbench on ${found}: Debian 12 on x86_64 is supported; elsewhere run it in a container: ` +
      CONTAINER_COMMAND,
  );
}

/** Reads `/etc/os-release`. */
function parseRelease(text: string): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const [, key = "", value = ""] of text.matchAll(/^(\w+)=["']?(.*?)["']?$/gm)) pairs[key] = value;
  return pairs;
}
