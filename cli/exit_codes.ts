/** What the command's exit codes mean. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  unavailable: 3,
  setup: 4,
  worse: 5,
  unclear: 6,
  unfaithful: 7,
  interrupted: 130,
} as const;

/** The part of the help that explains them. */
export const EXIT_HELP = `
Exit codes:
  0    everything went well
  1    something failed: a sample, a file, the disk
  2    the words or the scenario are wrong, or a file is not there; merge: a shard is lost
  3    a medium that was required is not here
  4    the set-up is incomplete: the native library or a system library is missing
  5    compare, rerun, --baseline: slower beyond the noise, or what ought to be equal to the bit differs
  6    --baseline: a change that matters may hide in the noise; the gate says how many samples would tell
  7    profile: keys made from the profile miss the trace's miss-ratio curves by more than the bars
  130  interrupted; complete records stay`;

/** The words of the command are wrong, though not in a way the parser sees. */
export class UsageError extends Error {
  /** The error. @param message What was found and what to do. */
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}
