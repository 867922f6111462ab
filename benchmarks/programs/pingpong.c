// Round trips as a C programmer would time them: the yardstick of `notify.py`.
// usage: pingpong KIND CPU CPU TRIPS; prints the median of a trip (or of a call) in ns.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int in_fd, out_fd;
static pid_t peer;
static sigset_t waiting;
static volatile sig_atomic_t caught;

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void check(int good, const char *what) {
    if (good) return;
    perror(what);
    exit(1);
}

static void stay_on(int cpu) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    check(sched_setaffinity(0, sizeof only, &only) == 0, "affinity");
}

static void give_byte(void) { check(write(out_fd, "x", 1) == 1, "write"); }

static void take_byte(void) {
    char byte;
    check(read(in_fd, &byte, 1) == 1, "read");
}

static void on_signal(int number) {
    (void)number;
    caught = 1;
}

static void give_signal(void) { check(kill(peer, SIGUSR1) == 0, "kill"); }

static void take_signal(void) {
    while (!caught) sigsuspend(&waiting);
    caught = 0;
}

static void connect_loopback(int ends[2]) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    const int listening = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    check(bind(listening, (struct sockaddr *)&address, length) == 0, "bind");
    check(listen(listening, 1) == 0, "listen");
    check(getsockname(listening, (struct sockaddr *)&address, &length) == 0, "getsockname");
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    check(connect(ends[0], (struct sockaddr *)&address, length) == 0, "connect");
    ends[1] = accept(listening, NULL, NULL);
    for (int i = 0; i < 2; ++i)
        check(setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "TCP_NODELAY");
    close(listening);
}

static int compare(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    const char *kind = argv[1];
    const long trips = atol(argv[4]);
    uint64_t *times = malloc((size_t)trips * sizeof *times);
    if (strcmp(kind, "null-call") == 0) {
        enum { calls = 64 };
        stay_on(atoi(argv[2]));
        for (long i = 0; i < trips; ++i) {
            const uint64_t start = now();
            for (int k = 0; k < calls; ++k) syscall(SYS_getppid);
            times[i] = (now() - start) / calls;
        }
        qsort(times, (size_t)trips, sizeof *times, compare);
        printf("%llu\n", (unsigned long long)times[trips / 2]);
        return 0;
    }
    int there[2], back[2];
    void (*give)(void) = give_byte, (*take)(void) = take_byte;
    if (strcmp(kind, "pipe") == 0) {
        check(pipe(there) == 0 && pipe(back) == 0, "pipe");
    } else if (strcmp(kind, "signal") == 0) {
        sigset_t ours;
        sigemptyset(&ours);
        sigaddset(&ours, SIGUSR1);
        sigprocmask(SIG_BLOCK, &ours, &waiting);
        signal(SIGUSR1, on_signal);
        give = give_signal;
        take = take_signal;
    } else {
        int ends[2];
        if (strcmp(kind, "tcp") == 0)
            connect_loopback(ends);
        else
            check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
        there[1] = back[0] = ends[0];
        there[0] = back[1] = ends[1];
    }
    const pid_t parent = getpid();
    peer = fork();
    check(peer >= 0, "fork");
    if (peer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        peer = parent;
        stay_on(atoi(argv[3]));
        in_fd = there[0];
        out_fd = back[1];
        for (;;) {
            take();
            give();
        }
    }
    stay_on(atoi(argv[2]));
    in_fd = back[0];
    out_fd = there[1];
    for (long i = -trips / 8 - 3; i < trips; ++i) {
        const uint64_t start = now();
        give();
        take();
        if (i >= 0) times[i] = now() - start;
    }
    kill(peer, SIGKILL);
    waitpid(peer, NULL, 0);
    qsort(times, (size_t)trips, sizeof *times, compare);
    printf("%llu\n", (unsigned long long)times[trips / 2]);
    return 0;
}
