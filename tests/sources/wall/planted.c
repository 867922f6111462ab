/* Programs that wait in a way that is known: planted MODE [NUMBER]. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static __attribute__((noinline)) void compute(double seconds) {
    const double until = cpu_seconds() + seconds;
    while (cpu_seconds() < until)
        for (int i = 0; i < 20000; i++) sink += i;
}

static __attribute__((noinline)) void nap(int ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

static void *hold_and_sleep(void *unused) {
    for (int i = 0; i < 8; i++) {
        pthread_mutex_lock(&lock);
        nap(25);
        pthread_mutex_unlock(&lock);
        nap(1);
    }
    return unused;
}

static void *sleep_long(void *unused) {
    nap(400);
    return unused;
}

static void *sleep_and_run(void *milliseconds) {
    for (int i = 0; i < 8; i++) nap((int)(long)milliseconds);
    return NULL;
}

static void two(void *(*work)(void *)) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

static void many(int count) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_t *threads = calloc(count, sizeof *threads);
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], &small, sleep_and_run, (void *)250L)) exit(3);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

/* The other end answers late: a child in the same program. */
static void ask(int ours, int theirs) {
    char byte = 1;
    if (fork() == 0) {
        close(ours);
        for (int i = 0; i < 4; i++) {
            nap(100);
            if (write(theirs, &byte, 1) != 1) _exit(1);
        }
        _exit(0);
    }
    close(theirs);
    while (read(ours, &byte, 1) == 1) compute(0.001);
    wait(NULL);
}

static void over_tcp(void) {
    const int server = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    bind(server, (struct sockaddr *)&at, size);
    listen(server, 1);
    getsockname(server, (struct sockaddr *)&at, &size);
    const int theirs = socket(AF_INET, SOCK_STREAM, 0);
    connect(theirs, (struct sockaddr *)&at, size);
    ask(accept(server, NULL, NULL), theirs);
}

static void page_in(const char *path) {
    const int fd = open(path, O_RDONLY);
    const off_t size = lseek(fd, 0, SEEK_END);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    char *all = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    madvise(all, size, MADV_RANDOM);
    unsigned place = 7;
    for (int i = 0; i < 3000; i++) {
        place = place * 1664525u + 1013904223u;
        sink += all[(place >> 4) * 4096L % size];
    }
}

/* Waits in io_uring_enter for a read of a pipe; 77 where there is no io_uring. */
static int ring(void) {
    struct io_uring_params about = {0};
    int ends[2];
    char byte = 1;
    const int fd = (int)syscall(SYS_io_uring_setup, 4, &about);
    if (fd < 0 || pipe(ends)) return 77;
    char *queue = mmap(NULL, about.sq_off.array + about.sq_entries * 4, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQ_RING);
    struct io_uring_sqe *entry = mmap(NULL, about.sq_entries * sizeof *entry, PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQES);
    if (queue == MAP_FAILED || (void *)entry == MAP_FAILED) return 77;
    if (fork() == 0) {
        nap(300);
        _exit(write(ends[1], &byte, 1) != 1);
    }
    *entry = (struct io_uring_sqe){
        .opcode = IORING_OP_READ, .fd = ends[0], .addr = (unsigned long)&byte, .len = 1};
    *(unsigned *)(queue + about.sq_off.array) = 0;
    __atomic_store_n((unsigned *)(queue + about.sq_off.tail), 1, __ATOMIC_RELEASE);
    syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
    wait(NULL);
    return 0;
}

/* Two processes pass a byte to and fro: a change of the CPU's thread for each. */
static void rally(int rounds) {
    int there[2], back[2];
    char byte = 1;
    if (pipe(there) || pipe(back)) exit(1);
    if (fork() == 0) {
        close(there[1]);
        while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1) sink++;
        _exit(0);
    }
    for (int i = 0; i < rounds; i++)
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) exit(1);
    close(there[1]);
    wait(NULL);
}

static __attribute__((noinline)) void below(char *room) {
    compute(0.4);
    sink += (unsigned long)room[0];
}

static __attribute__((noinline)) void with_large_frame(void) {
    char room[20000];
    memset(room, 1, sizeof room); /* pages that were never used cannot be copied */
    below(room);
    sink += (unsigned long)room[sink % sizeof room];
}

static volatile int alarms;

static void on_alarm(int unused) {
    (void)unused;
    alarms++;
}

/* Uses the signal of profilers itself. */
static int profile_itself(void) {
    struct sigaction wanted = {.sa_handler = on_alarm};
    const struct itimerval often = {{0, 10000}, {0, 10000}};
    compute(0.1);
    sigaction(SIGPROF, &wanted, NULL);
    setitimer(ITIMER_PROF, &often, NULL);
    compute(0.3);
    return alarms >= 10 && alarms <= 40 ? 0 : 4;
}

int main(int count, char **words) {
    const char *mode = count > 1 ? words[1] : "";
    const int number = count > 2 ? atoi(words[2]) : 0;
    int ends[2];
    if (!strcmp(mode, "sleep")) {
        compute(0.1);
        nap(400);
    } else if (!strcmp(mode, "compute")) {
        compute(number / 1000.0);
    } else if (!strcmp(mode, "mutex")) {
        two(hold_and_sleep);
    } else if (!strcmp(mode, "join")) {
        two(sleep_long);
    } else if (!strcmp(mode, "pipe")) {
        if (pipe(ends) == 0) ask(ends[0], ends[1]);
    } else if (!strcmp(mode, "unix")) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0) ask(ends[0], ends[1]);
    } else if (!strcmp(mode, "tcp")) {
        over_tcp();
    } else if (!strcmp(mode, "poll")) {
        if (pipe(ends)) return 1;
        struct pollfd one = {ends[0], POLLIN, 0};
        poll(&one, 1, 300);
    } else if (!strcmp(mode, "epoll")) {
        if (pipe(ends)) return 1;
        const int set = epoll_create1(0);
        struct epoll_event wanted = {.events = EPOLLIN};
        epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &wanted);
        epoll_wait(set, &wanted, 1, 300);
    } else if (!strcmp(mode, "exec")) {
        nap(30);
        execl(words[0], "other-name", "sleep", (char *)NULL);
    } else if (!strcmp(mode, "forks")) {
        for (int i = 0; i < number; i++) {
            if (fork() == 0) _exit(0);
            wait(NULL);
        }
    } else if (!strcmp(mode, "threads")) {
        many(number);
    } else if (!strcmp(mode, "pagein")) {
        page_in(words[2]);
    } else if (!strcmp(mode, "signal")) {
        nap(50);
        raise(SIGTERM);
    } else if (!strcmp(mode, "daemon")) {
        if (fork() == 0) {
            setsid();
            nap(10000);
            _exit(0);
        }
        nap(100);
    } else if (!strcmp(mode, "rally")) {
        rally(number);
    } else if (!strcmp(mode, "deep")) {
        with_large_frame();
    } else if (!strcmp(mode, "uring")) {
        return ring();
    } else if (!strcmp(mode, "sigprof")) {
        return profile_itself();
    } else if (!strcmp(mode, "forever")) {
        for (;;) nap(20);
    } else if (!strcmp(mode, "hidden")) {
        /* Not dumpable: nobody else may see what it waits in. */
        extern int prctl(int, ...);
        prctl(4, 0);
        nap(300);
    } else {
        fprintf(stderr, "planted: unknown mode '%s'\n", mode);
        return 2;
    }
    return 0;
}
