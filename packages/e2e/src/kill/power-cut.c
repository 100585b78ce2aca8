/*
 * Loaded into a program with LD_PRELOAD, it keeps a second copy of a folder that holds only what the program has synced, as a disk
 * would after a power cut: the content of a file as of its last fsync, under the names as of the last fsync of the folder.
 *
 * POWER_CUT_FOLDER is the folder, POWER_CUT_MIRROR the copy: `<inode>` is the synced content of a file, `names` the synced names.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void replace(const char *from, const char *to) {
  rename(from, to);
}

static void copy_file(int fd, ino_t inode, const char *mirror) {
  char target[4096], partial[4200], buffer[1 << 16];
  snprintf(target, sizeof target, "%s/%lu", mirror, (unsigned long)inode);
  snprintf(partial, sizeof partial, "%s.partial", target);
  int out = open(partial, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  off_t offset = 0;
  ssize_t count;
  while ((count = pread(fd, buffer, sizeof buffer, offset)) > 0) {
    if (write(out, buffer, (size_t)count) != count) abort();
    offset += count;
  }
  close(out);
  replace(partial, target);
}

static void copy_names(const char *folder, const char *mirror) {
  char target[4096], partial[4200], path[4096];
  snprintf(target, sizeof target, "%s/names", mirror);
  snprintf(partial, sizeof partial, "%s.partial", target);
  FILE *out = fopen(partial, "w");
  DIR *entries = opendir(folder);
  struct dirent *entry;
  struct stat stats;
  while ((entry = readdir(entries)) != NULL) {
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (stat(path, &stats) == 0 && S_ISREG(stats.st_mode)) {
      fprintf(out, "%lu %s\n", (unsigned long)stats.st_ino, entry->d_name);
    }
  }
  closedir(entries);
  fclose(out);
  replace(partial, target);
}

static void synced(int fd) {
  const char *folder = getenv("POWER_CUT_FOLDER"), *mirror = getenv("POWER_CUT_MIRROR");
  char link[64], path[4096];
  struct stat stats;
  if (folder == NULL || mirror == NULL || fstat(fd, &stats) != 0) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return;
  path[length] = 0;
  if (strncmp(path, folder, strlen(folder)) != 0) return;
  if (S_ISDIR(stats.st_mode)) {
    copy_names(folder, mirror);
    return;
  }
  /* The file may be open for writing only. */
  int readable = open(link, O_RDONLY);
  if (readable < 0) return;
  copy_file(readable, stats.st_ino, mirror);
  close(readable);
}

int fsync(int fd) {
  int result = ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
  if (result == 0) synced(fd);
  return result;
}

int fdatasync(int fd) {
  int result = ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
  if (result == 0) synced(fd);
  return result;
}
