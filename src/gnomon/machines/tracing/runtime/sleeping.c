/* Sleeping: recorded beforehand, so that it takes simulated time, too. A thread that polls and
 * sleeps in between would otherwise hold up all others in the simulation. */
#define _GNU_SOURCE
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "record.h"

#define SECOND 1000000000ull
#define LONGEST (1000 * SECOND)

static void sleeps(uint64_t nanoseconds) {
    if (!gnomon_self.slot || nanoseconds == 0) return;
    gnomon_tell(GNOMON_RECORD(nanoseconds < LONGEST ? nanoseconds : LONGEST, GNOMON_SLEEP, 0));
}

static uint64_t length(const struct timespec* time) {
    if (!time || time->tv_sec < 0 || time->tv_nsec < 0) return 0;
    const uint64_t seconds = (uint64_t)time->tv_sec;
    return seconds < LONGEST / SECOND ? seconds * SECOND + (uint64_t)time->tv_nsec : LONGEST;
}

int nanosleep(const struct timespec* time, struct timespec* left) {
    GNOMON_REAL(int, "nanosleep", NULL, const struct timespec*, struct timespec*);
    sleeps(length(time));
    return real(time, left);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec* time,
                    struct timespec* left) {
    GNOMON_REAL(int, "clock_nanosleep", "GLIBC_2.17", clockid_t, int, const struct timespec*,
                struct timespec*);
    struct timespec now;
    uint64_t wanted = length(time);
    if (flags & TIMER_ABSTIME) {
        const uint64_t begun = clock_gettime(clock, &now) == 0 ? length(&now) : wanted;
        wanted = wanted > begun ? wanted - begun : 0;
    }
    sleeps(wanted);
    return real(clock, flags, time, left);
}

int usleep(useconds_t microseconds) {
    GNOMON_REAL(int, "usleep", NULL, useconds_t);
    sleeps(1000ull * microseconds);
    return real(microseconds);
}

unsigned sleep(unsigned seconds) {
    GNOMON_REAL(unsigned, "sleep", NULL, unsigned);
    sleeps(SECOND * seconds);
    return real(seconds);
}
