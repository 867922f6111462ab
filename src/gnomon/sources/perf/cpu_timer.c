/* Preloaded into a program where perf is refused: a timer of the CPU time of each thread takes a
 * sample of its registers and the top of its stack about 100 times a second. native/account/
 * timer_samples.hh is the other side of the memory. A program that uses SIGPROF itself keeps it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __x86_64__

enum { STACK = 16384, ROOM = 4096, MOST = 4096 };
#define MAGIC 0x72656d6974716e67ull
#define SHORTEST 5000000L /* ns between samples of a thread: at random, as its loops may be periodic */
#define SPAN 10000000L

struct slot {
    uint32_t state;
    int32_t pid, tid;
    uint32_t size;
    int64_t time;
    uint64_t period, registers[17];
    uint8_t stack[STACK];
};
struct head {
    uint64_t magic;
    uint32_t slots, next;
    uint64_t dropped, loaded, taken;
};

static struct head *head;
static struct slot *slots;
static pthread_key_t key;
static volatile int running; /* cleared for good when the program wants the signal */
static timer_t timers[MOST]; /* so that any thread can end all of them */
static volatile char used[MOST];

static __thread int place = -1;
static __thread uintptr_t stack_low, stack_end;
static __thread int64_t last;
static __thread uint64_t chance;

extern void *__libc_stack_end;

static int (*real_sigaction)(int, const struct sigaction *, struct sigaction *);
static int (*real_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static int64_t now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void arm(void) {
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    const struct itimerspec wanted = {{0, 0}, {0, SHORTEST + (long)(chance % SPAN)}};
    timer_settime(timers[place], 0, &wanted, NULL);
}

static void fill(struct slot *slot, const ucontext_t *context) {
    static const int order[17] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                  REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                  REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    for (int i = 0; i < 17; i++) slot->registers[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
    const uintptr_t sp = (uintptr_t)slot->registers[7];
    size_t size = 0;
    if (sp >= stack_low && sp < stack_end) size = stack_end - sp < STACK ? stack_end - sp : STACK;
    memcpy(slot->stack, (const void *)sp, size);
    slot->size = (uint32_t)size;
    slot->pid = getpid();
    slot->tid = (int32_t)syscall(SYS_gettid);
    slot->time = now(CLOCK_MONOTONIC);
}

static void on_timer(int number, siginfo_t *info, void *context) {
    (void)number;
    const int saved = errno;
    if (running && place >= 0 && info->si_code == SI_TIMER) {
        const int64_t cpu = now(CLOCK_THREAD_CPUTIME_ID);
        struct slot *slot = &slots[__atomic_fetch_add(&head->next, 1, __ATOMIC_RELAXED) % head->slots];
        uint32_t vacant = 0;
        if (__atomic_compare_exchange_n(&slot->state, &vacant, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            fill(slot, context);
            slot->period = (uint64_t)(cpu - last);
            last = cpu;
            __atomic_store_n(&slot->state, 2, __ATOMIC_RELEASE);
        } else {
            __atomic_fetch_add(&head->dropped, 1, __ATOMIC_RELAXED);
        }
        arm();
    }
    errno = saved;
}

static void begin(void) {
    if (!running) return;
    for (int i = 0; i < MOST && place < 0; i++) {
        char vacant = 0;
        if (__atomic_compare_exchange_n(&used[i], &vacant, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            place = i;
    }
    if (place < 0) return;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif
    event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timers[place])) {
        used[place] = 0;
        place = -1;
        return;
    }
    last = now(CLOCK_THREAD_CPUTIME_ID);
    chance = (uint64_t)now(CLOCK_MONOTONIC) * 2654435761u | 1;
    pthread_setspecific(key, &timers[place]);
    arm();
}

static void end(void *unused) {
    (void)unused;
    if (place < 0) return;
    const int mine = place;
    place = -1;
    if (__atomic_exchange_n(&used[mine], 0, __ATOMIC_ACQ_REL)) timer_delete(timers[mine]);
}

/* The program wants the signal: all timers end, now and for good. */
static void give_up(void) {
    if (!running) return;
    running = 0;
    for (int i = 0; i < MOST; i++)
        if (__atomic_exchange_n(&used[i], 0, __ATOMIC_ACQ_REL)) timer_delete(timers[i]);
    struct sigaction fresh = {.sa_handler = SIG_DFL};
    real_sigaction(SIGPROF, &fresh, NULL);
    __atomic_fetch_add(&head->taken, 1, __ATOMIC_RELAXED);
}

static void after_fork(void) { /* timers stay with the parent */
    memset((void *)used, 0, sizeof used);
    place = -1;
    begin();
}

int sigaction(int number, const struct sigaction *wanted, struct sigaction *before) {
    if (!real_sigaction) real_sigaction = dlsym(RTLD_NEXT, "sigaction");
    if (number == SIGPROF && wanted) give_up();
    const int result = real_sigaction(number, wanted, before);
    if (number == SIGPROF && !wanted && before && running) { /* as it would be without us */
        memset(before, 0, sizeof *before);
        before->sa_handler = SIG_DFL;
    }
    return result;
}

sighandler_t signal(int number, sighandler_t handler) {
    static sighandler_t (*real)(int, sighandler_t);
    if (!real) real = dlsym(RTLD_NEXT, "signal");
    if (number == SIGPROF) give_up();
    return real(number, handler);
}

int setitimer(__itimer_which_t which, const struct itimerval *wanted, struct itimerval *before) {
    static int (*real)(__itimer_which_t, const struct itimerval *, struct itimerval *);
    if (!real) real = dlsym(RTLD_NEXT, "setitimer");
    if (which == ITIMER_PROF) give_up();
    return real(which, wanted, before);
}

struct thread {
    void *(*work)(void *);
    void *argument;
};

static void *run(void *given) {
    const struct thread thread = *(struct thread *)given;
    free(given);
    pthread_attr_t attributes;
    void *low;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
            stack_low = (uintptr_t)low;
            stack_end = stack_low + size;
        }
        pthread_attr_destroy(&attributes);
    }
    begin();
    return thread.work(thread.argument);
}

int pthread_create(pthread_t *made, const pthread_attr_t *attributes, void *(*work)(void *), void *argument) {
    if (!real_create) real_create = dlsym(RTLD_NEXT, "pthread_create");
    struct thread *given = running ? malloc(sizeof *given) : NULL;
    if (!given) return real_create(made, attributes, work, argument);
    *given = (struct thread){work, argument};
    const int error = real_create(made, attributes, run, given);
    if (error) free(given);
    return error;
}

__attribute__((constructor)) static void load(void) {
    const char *path = getenv("GNOMON_CPU_TIMER");
    const int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    struct stat about;
    struct sigaction before;
    if (!real_sigaction) real_sigaction = dlsym(RTLD_NEXT, "sigaction");
    if (fd < 0 || fstat(fd, &about)) return;
    head = mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (head == MAP_FAILED || head->magic != MAGIC || !head->slots) return;
    if (real_sigaction(SIGPROF, NULL, &before) || before.sa_handler != SIG_DFL) return;
    slots = (struct slot *)((char *)head + ROOM);
    /* The main thread's stack grows: what lies above its pointer is there. */
    stack_low = 4096;
    stack_end = (uintptr_t)__libc_stack_end;
    struct sigaction ours = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART};
    if (pthread_key_create(&key, end) || real_sigaction(SIGPROF, &ours, NULL)) return;
    pthread_atfork(NULL, NULL, after_fork);
    __atomic_fetch_add(&head->loaded, 1, __ATOMIC_RELAXED);
    running = 1;
    begin();
}

#endif
