/* tree.h - a captured machine (test/fixtures/machine/<name>.txt) as the tree of files that it was. What the lines of the
 * text mean is said in test/fixtures/machine_tree.ts, which writes them. */
#ifndef TS_TEST_TREE_H
#define TS_TEST_TREE_H

#include "test/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The whole path of an entry; the folders above it are made. */
static inline void tree_path(const char *root, const char *path, char *full, size_t cap) {
  snprintf(full, cap, "%s%s", root, path);
  for (char *slash = strchr(full + strlen(root) + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(full, 0755);
    *slash = '/';
  }
}

/* "600 /proc/x" -> "/proc/x", and its mode; without one, that which is given. */
static inline const char *tree_mode(const char *words, mode_t *mode) {
  if (words[0] == '/') return words;
  char *end;
  *mode = (mode_t)strtoul(words, &end, 8);
  return *end == ' ' ? end + 1 : "";
}

/* Makes the tree in the folder `root`; false, and the line is told, if a line is no entry. */
static inline bool make_tree(const char *text_path, const char *root) {
  FILE *text = fopen(text_path, "r"), *file = NULL;
  CHECK_MSG(text != NULL, "%s cannot be opened", text_path);
  if (text == NULL) return false;
  char *line = NULL, full[4096];
  size_t cap = 0;
  bool good = true;
  for (ssize_t n = getline(&line, &cap, text); good && n > 0; n = getline(&line, &cap, text)) {
    if ((line[0] == '|' || line[0] == ':') && file != NULL) {
      /* Behind ":" is a last line without its end. */
      size_t bytes = (size_t)n - 1 - (line[0] == ':');
      good = fwrite(line + 1, 1, bytes, file) == bytes;
      continue;
    }
    if (file != NULL) good = fclose(file) == 0;
    file = NULL;
    line[n - 1] = '\0';
    char *target = strstr(line, " -> ");
    mode_t mode = strncmp(line, "folder ", 7) == 0 ? 0755 : 0644;
    if (strncmp(line, "link ", 5) == 0 && target != NULL) {
      *target = '\0';
      tree_path(root, line + 5, full, sizeof full);
      good = good && symlink(target + 4, full) == 0;
    } else if (strncmp(line, "file ", 5) == 0) {
      const char *path = tree_mode(line + 5, &mode);
      tree_path(root, path, full, sizeof full);
      file = fopen(full, "w");
      good = good && path[0] == '/' && file != NULL && fchmod(fileno(file), mode) == 0;
    } else if (strncmp(line, "folder ", 7) == 0) {
      const char *path = tree_mode(line + 7, &mode);
      tree_path(root, path, full, sizeof full);
      good = good && path[0] == '/' && mkdir(full, mode) == 0;
    } else {
      good = false;
    }
    CHECK_MSG(good, "%s: no entry: \"%s\"", text_path, line);
  }
  if (file != NULL) good = fclose(file) == 0 && good;
  free(line);
  fclose(text);
  return good;
}

#endif
