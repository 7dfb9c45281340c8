/*
 * Preloaded into a redis-server: its wall clock is off by the number of microseconds in the first 8 bytes of the file
 * that CLOCK_OFFSET_FILE names, which may change at any time; or it shows the microseconds in the next 8 bytes, if these
 * are not 0. The monotonic clock is left alone. Only what Redis reads
 * the time with is replaced, without a lock and without memory from the heap: the allocator asks for the time too.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset;

__attribute__((constructor)) static void map_offset(void) {
  const char *path = getenv("CLOCK_OFFSET_FILE");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *mapped = mmap(NULL, 2 * sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) offset = mapped;
  close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int is_wall = offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE);
  int64_t fixed = is_wall ? offset[1] : 0;
  if (fixed) {
    now->tv_sec = fixed / 1000000;
    now->tv_nsec = fixed % 1000000 * 1000;
    return 0;
  }
  int failed = (int)syscall(SYS_clock_gettime, clock, now);
  if (failed || !is_wall) return failed;
  int64_t micros = now->tv_sec * INT64_C(1000000) + now->tv_nsec / 1000 + offset[0];
  now->tv_sec = micros / 1000000;
  now->tv_nsec = micros % 1000000 * 1000 + now->tv_nsec % 1000;
  return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec exact;
  int failed = clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return failed;
}

time_t time(time_t *result) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (result) *result = exact.tv_sec;
  return exact.tv_sec;
}
