/* commands.c - main() of every contender: reads one command a line, answers with one line, "ok name=value ..." or
 * "error text". */
#include "contender.h"

#include <string.h>
#include <unistd.h>

int main(void) {
  static char line[1 << 16], reply[BENCH_TEXT], error[BENCH_TEXT];
  while (fgets(line, sizeof line, stdin) != NULL) {
    bench_options options = {.count = 0};
    char *rest = NULL, *verb = strtok_r(line, " \n", &rest);
    if (verb == NULL) continue;
    if (strcmp(verb, "quit") == 0) break;
    for (char *word; (word = strtok_r(NULL, " \n", &rest)) != NULL;)
      if (options.count < sizeof options.words / sizeof *options.words) options.words[options.count++] = word;
    reply[0] = error[0] = '\0';
    bool ok = bench_obey(verb, &options, reply, error);
    for (char *c = error; *c != '\0'; c++)
      if (*c == '\n') *c = ' ';
    printf("%s %s\n", ok ? "ok" : "error", ok ? reply : error);
    fflush(stdout);
  }
  _exit(0); /* no time for freeing millions of rows one by one */
}
