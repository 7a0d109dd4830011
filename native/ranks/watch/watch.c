/* watch.c - a program that starts a rank as its child, waits for it and says how it ended, before the launcher can know:
 *
 *   rank_watch PROGRAM [ARGUMENT]...
 *
 * When one rank ends, launchers end the others, and those that lose a message may end by themselves; which of them was first is
 * not in what launchers print (MPICH's names the lowest-numbered one of all). This program is what the launcher sees of the
 * rank. It writes one line of scenarios/run/rank_lines.ts to the standard error when the rank ended with another code than 0,
 * and waits PAUSE_NS, so that the launcher passes the line on and others that end by themselves get theirs out, before it
 * ends too, with the rank's code or 128 and the number of its signal.
 *
 * It says nothing of a rank that ended because it was told to: launchers kill this program, too, or send SIGTERM, which it hands
 * on. If it is killed the system kills the rank. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Bytes of a line, its end included: LINE of scenarios/run/rank_lines.ts. */
#define LINE 512
/* Long beside the milliseconds in which ranks end that lost another, short beside the seconds in which a job must end. */
#define PAUSE_NS 200000000
/* What shells answer when a program cannot be started. */
#define NOT_STARTED 127

/* The rank's number by what launchers put into its environment: Open MPI, MPICH and others of PMI, PMIx, Slurm; -1: none did. */
static long rank_here(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *text = getenv(names[i]);
    char *end = NULL;
    const long rank = text == NULL ? -1 : strtol(text, &end, 10);
    if (rank >= 0 && end != text && *end == '\0') return rank;
  }
  return -1;
}

/* The name of this machine as a string of JSON may have it: other characters than those of host names become '-'. */
static void host_here(char out[HOST_NAME_MAX + 1]) {
  if (gethostname(out, HOST_NAME_MAX) != 0) out[0] = '\0';
  out[HOST_NAME_MAX] = '\0';
  for (char *at = out; *at != '\0'; at++)
    if (*at < ' ' || *at > '~' || *at == '"' || *at == '\\') *at = '-';
}

/* One write, so that lines of several ranks in one pipe are not mixed, which ends the line that a library may have begun. What
 * cannot be written nobody reads. */
static void say(pid_t rank, int status) {
  char line[LINE + 1], text[LINE - 1], host[HOST_NAME_MAX + 1];
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  host_here(host);
  snprintf(text, sizeof text, "@!{\"rank\":%ld,\"host\":\"%s\",\"pid\":%ld,\"code\":%d,\"signal\":%d,\"us\":%lld}#", rank_here(),
           host, (long)rank, WIFEXITED(status) ? WEXITSTATUS(status) : 0, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
           (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
  snprintf(line, sizeof line, "\n%-*s\n", LINE - 2, text);
  if (write(STDERR_FILENO, line, LINE) < 0) return;
}

/* The child: ends with its parent, whose signals it gets as usual. */
static _Noreturn void become(char **words, pid_t parent, const sigset_t *signals) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(NOT_STARTED); /* it is gone already */
  sigprocmask(SIG_UNBLOCK, signals, NULL);
  execvp(words[0], words);
  fprintf(stderr, "Cannot start \"%s\": %s\n", words[0], strerror(errno));
  _exit(NOT_STARTED);
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "Cannot watch a rank: its program is missing; use rank_watch PROGRAM [ARGUMENT]...\n");
    return 2;
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT); /* of a terminal, which the rank gets as well */
  sigprocmask(SIG_BLOCK, &signals, NULL);
  const pid_t me = getpid(), rank = fork();
  if (rank < 0) {
    fprintf(stderr, "Cannot watch a rank: %s\n", strerror(errno));
    return NOT_STARTED;
  }
  if (rank == 0) become(argv + 1, me, &signals);
  bool told = false;
  int status = 0;
  while (waitpid(rank, &status, WNOHANG) == 0) {
    if (sigwaitinfo(&signals, NULL) != SIGTERM) continue;
    if (waitpid(rank, &status, WNOHANG) != 0) break; /* it ended before */
    told = true;
    kill(rank, SIGTERM);
  }
  const int ended_by = WIFSIGNALED(status) ? WTERMSIG(status) : 0, code = ended_by == 0 ? WEXITSTATUS(status) : 128 + ended_by;
  if (code == 0) return 0;
  const bool as_told = told && (ended_by == 0 || ended_by == SIGTERM || ended_by == SIGABRT);
  if (as_told) return code;
  say(rank, status);
  nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
  return code;
}
