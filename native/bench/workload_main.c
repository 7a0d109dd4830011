/* workload_main.c - the program `workload <file> <keys> <batches>`. */
#include "workload.h"

#include <stdlib.h>

int main(int argc, char **argv) {
  char error[BENCH_TEXT] = "Usage: workload <file> <keys> <batches>";
  if (argc == 4 && workload_write(argv[1], strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10), error)) return 0;
  fprintf(stderr, "%s\n", error);
  return 1;
}
