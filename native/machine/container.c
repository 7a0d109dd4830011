/* container.c - whether this process is in a container, and of which kind. Engines leave signs: files (/.dockerenv of
 * Docker, /run/.containerenv of Podman), the variable `container` of process 1 and /run/systemd/container, which
 * systemd copies it to (systemd.io/CONTAINER_INTERFACE), the mount of a Kubernetes service account, the names of
 * control groups. No sign is no proof of the contrary: "none" needs the word of process 1 or of systemd. */
#include "machine/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool say(ts_probe *probe, const char *kind, const char *evidence) {
  ts_probe_fact(probe, kind, "container.kind");
  ts_probe_fact(probe, evidence, "container.evidence");
  return true;
}

/* A variable of process 1: 1 and its value, 0 it is not set, -1 not readable. */
static int variable(const ts_probe *probe, const char *name, char *out, size_t cap) {
  size_t length, n = strlen(name);
  char *text = ts_probe_bytes(probe, &length, "/proc/1/environ");
  if (text == NULL) return -1;
  /* Threads of the kernel and processes that gave their memory back have an empty one, which says nothing. */
  int found = length == 0 ? -1 : 0;
  for (size_t at = 0; at < length && found == 0; at += strlen(text + at) + 1)
    if (strncmp(text + at, name, n) == 0 && text[at + n] == '=') {
      snprintf(out, cap, "%s", text + at + n + 1);
      found = 1;
    }
  free(text);
  return found;
}

static const char *of_groups(const char *groups) {
  static const char *const signs[][2] = {{"kubepods", "kubernetes"}, {"/docker/", "docker"}, {"docker-", "docker"},
                                         {"libpod-", "podman"},      {"/lxc/", "lxc"},       {"lxc.payload", "lxc"}};
  for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
    if (strstr(groups, signs[i][0]) != NULL) return signs[i][1];
  return NULL;
}

static bool by_groups(ts_probe *probe) {
  static const char *const files[] = {"/proc/self/cgroup", "/proc/1/cgroup"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char *groups = ts_probe_text(probe, "%s", files[i]);
    const char *kind = groups == NULL ? NULL : of_groups(groups);
    free(groups);
    if (kind != NULL) return say(probe, kind, files[i]);
  }
  return false;
}

void ts_probe_container(ts_probe *probe) {
  char value[128] = "";
  /* Kubernetes first: below it an engine leaves its own signs too. */
  if (ts_probe_there(probe, "/var/run/secrets/kubernetes.io")) {
    say(probe, "kubernetes", "/var/run/secrets/kubernetes.io");
    return;
  }
  if (ts_probe_there(probe, "/run/.containerenv")) {
    say(probe, "podman", "/run/.containerenv");
    return;
  }
  if (ts_probe_there(probe, "/.dockerenv")) {
    say(probe, "docker", "/.dockerenv");
    return;
  }
  int one = variable(probe, "container", value, sizeof value);
  if (one == 1 && value[0] != '\0') {
    say(probe, value, "/proc/1/environ");
    return;
  }
  if (ts_probe_line(probe, value, sizeof value, "/run/systemd/container") && value[0] != '\0') {
    say(probe, value, "/run/systemd/container");
    return;
  }
  if (by_groups(probe)) return;
  if (one == 0) say(probe, "none", "/proc/1/environ");
  else if (ts_probe_there(probe, "/run/systemd/system")) say(probe, "none", "/run/systemd/container");
}
