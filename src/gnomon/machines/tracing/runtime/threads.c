/* Locks, conditions, barriers and semaphores of POSIX threads.
 *
 * A lock is tried first: where it is free the thread does not block, and `away` is not said.
 * It is recorded once it is held, and before it is given back, so that what one thread records
 * of a lock lies in its ring before the next thread can hold it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>

#include "record.h"

/* -- in which order locks are taken */

#define LOCKS ((size_t)1 << 16)
#define MOST_PROBES 64

/* Found by the address, and never forgotten: a lock that is made where another one was goes on
 * with its turns. */
static struct {
    const void* lock;
    uint32_t turn;
} turns[LOCKS];

/* Which turn it is at a lock that the caller holds, from 1 up; 0 when no room is left, and the
 * order is unknown. */
static uint32_t next_turn(const void* lock) {
    const size_t first = (size_t)(((uintptr_t)lock >> 3) * 0x9E3779B97F4A7C15u >> 40);
    for (size_t probe = 0; probe < MOST_PROBES; ++probe) {
        const size_t at = (first + probe) % LOCKS;
        const void* found = __atomic_load_n(&turns[at].lock, __ATOMIC_ACQUIRE);
        if (!found && __atomic_compare_exchange_n(&turns[at].lock, &found, lock, false,
                                                  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            found = lock;
        if (found != lock) continue;
        if (++turns[at].turn == 0) turns[at].turn = 1;
        return turns[at].turn;
    }
    return 0;
}

/* -- what a thread holds */

#define MOST_HELD 64

static __thread struct {
    const void* lock;
    unsigned depth;
} held[MOST_HELD];
static __thread unsigned held_count;

void gnomon_locked(const void* lock) {
    if (!gnomon_self.slot) return;
    for (unsigned i = held_count; i-- > 0;) {
        if (held[i].lock == lock) {
            ++held[i].depth;
            return;
        }
    }
    if (held_count == MOST_HELD) return;
    held[held_count].lock = lock;
    held[held_count++].depth = 1;
    gnomon_record2(GNOMON_RECORD((uintptr_t)lock, GNOMON_LOCK, 0), next_turn(lock));
    gnomon_feed_reader();
}

void gnomon_unlocking(const void* lock) {
    for (unsigned i = held_count; i-- > 0;) {
        if (held[i].lock != lock) continue;
        if (--held[i].depth == 0) {
            held[i] = held[--held_count];
            gnomon_tell(GNOMON_RECORD((uintptr_t)lock, GNOMON_UNLOCK, 0));
        }
        return;
    }
}

static int after(int error, const void* lock) {
    if (error == 0 || error == EOWNERDEAD) gnomon_locked(lock);
    return error;
}

/* -- mutexes and spin locks */

int pthread_mutex_trylock(pthread_mutex_t* mutex) {
    GNOMON_REAL(int, "pthread_mutex_trylock", "GLIBC_2.34", pthread_mutex_t*);
    return after(real(mutex), mutex);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
    GNOMON_REAL(int, "pthread_mutex_lock", NULL, pthread_mutex_t*);
    if (gnomon_self.slot) {
        const int error = pthread_mutex_trylock(mutex);
        if (error != EBUSY) return error;
        gnomon_away();
    }
    return after(real(mutex), mutex);
}

int pthread_mutex_timedlock(pthread_mutex_t* mutex, const struct timespec* until) {
    GNOMON_REAL(int, "pthread_mutex_timedlock", "GLIBC_2.34", pthread_mutex_t*,
                const struct timespec*);
    gnomon_away();
    return after(real(mutex, until), mutex);
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) {
    GNOMON_REAL(int, "pthread_mutex_unlock", NULL, pthread_mutex_t*);
    gnomon_unlocking(mutex);
    return real(mutex);
}

int pthread_spin_trylock(pthread_spinlock_t* lock) {
    GNOMON_REAL(int, "pthread_spin_trylock", "GLIBC_2.34", pthread_spinlock_t*);
    return after(real(lock), (const void*)lock);
}

int pthread_spin_lock(pthread_spinlock_t* lock) {
    GNOMON_REAL(int, "pthread_spin_lock", "GLIBC_2.34", pthread_spinlock_t*);
    if (pthread_spin_trylock(lock) == 0) return 0;
    gnomon_away();
    return after(real(lock), (const void*)lock);
}

int pthread_spin_unlock(pthread_spinlock_t* lock) {
    GNOMON_REAL(int, "pthread_spin_unlock", "GLIBC_2.34", pthread_spinlock_t*);
    gnomon_unlocking((const void*)lock);
    return real(lock);
}

/* -- read-write locks: a writer is a lock, readers do not keep each other out */

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
    GNOMON_REAL(int, "pthread_rwlock_rdlock", "GLIBC_2.34", pthread_rwlock_t*);
    if (gnomon_self.slot) {
        const int error = pthread_rwlock_tryrdlock(lock);
        if (error != EBUSY) return error;
        gnomon_away();
    }
    return real(lock);
}

int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) {
    GNOMON_REAL(int, "pthread_rwlock_trywrlock", "GLIBC_2.34", pthread_rwlock_t*);
    return after(real(lock), lock);
}

int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
    GNOMON_REAL(int, "pthread_rwlock_wrlock", "GLIBC_2.34", pthread_rwlock_t*);
    if (gnomon_self.slot) {
        const int error = pthread_rwlock_trywrlock(lock);
        if (error != EBUSY) return error;
        gnomon_away();
    }
    return after(real(lock), lock);
}

int pthread_rwlock_unlock(pthread_rwlock_t* lock) {
    GNOMON_REAL(int, "pthread_rwlock_unlock", "GLIBC_2.34", pthread_rwlock_t*);
    gnomon_unlocking(lock); /* nothing of a reader is found */
    return real(lock);
}

/* -- conditions */

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
    GNOMON_REAL(int, "pthread_cond_wait", "GLIBC_2.3.2", pthread_cond_t*, pthread_mutex_t*);
    gnomon_unlocking(mutex);
    gnomon_away();
    const int error = real(condition, mutex);
    gnomon_locked(mutex);
    return error;
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const struct timespec* until) {
    GNOMON_REAL(int, "pthread_cond_timedwait", "GLIBC_2.3.2", pthread_cond_t*, pthread_mutex_t*,
                const struct timespec*);
    gnomon_unlocking(mutex);
    gnomon_away();
    const int error = real(condition, mutex, until);
    gnomon_locked(mutex);
    return error;
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
    GNOMON_REAL(int, "pthread_cond_clockwait", "GLIBC_2.34", pthread_cond_t*, pthread_mutex_t*,
                clockid_t, const struct timespec*);
    gnomon_unlocking(mutex);
    gnomon_away();
    const int error = real(condition, mutex, clock, until);
    gnomon_locked(mutex);
    return error;
}

/* -- barriers: how many threads meet is only said when one is made */

#define MOST_BARRIERS 1024

static struct {
    pthread_barrier_t* barrier;
    unsigned threads;
} barriers[MOST_BARRIERS];
static int barriers_guard;

static unsigned known_barrier(pthread_barrier_t* barrier, unsigned threads, bool set) {
    unsigned found = 0;
    while (__atomic_exchange_n(&barriers_guard, 1, __ATOMIC_ACQUIRE)) {
    }
    for (unsigned probe = 0; probe < MOST_BARRIERS; ++probe) {
        const unsigned at = ((uintptr_t)barrier / 16 + probe) % MOST_BARRIERS;
        if (barriers[at].barrier != barrier && barriers[at].barrier) continue;
        if (set) {
            barriers[at].barrier = barrier;
            barriers[at].threads = threads;
        }
        found = barriers[at].threads;
        break;
    }
    __atomic_store_n(&barriers_guard, 0, __ATOMIC_RELEASE);
    return found;
}

int pthread_barrier_init(pthread_barrier_t* barrier, const pthread_barrierattr_t* attributes,
                         unsigned threads) {
    GNOMON_REAL(int, "pthread_barrier_init", "GLIBC_2.34", pthread_barrier_t*,
                const pthread_barrierattr_t*, unsigned);
    if (gnomon_trace) known_barrier(barrier, threads, true);
    return real(barrier, attributes, threads);
}

int pthread_barrier_wait(pthread_barrier_t* barrier) {
    GNOMON_REAL(int, "pthread_barrier_wait", "GLIBC_2.34", pthread_barrier_t*);
    if (gnomon_self.slot) {
        const unsigned threads = known_barrier(barrier, 0, false);
        if (threads > 1)
            gnomon_barrier((uintptr_t)barrier, threads);
        else if (threads == 0)
            gnomon_away();
    }
    return real(barrier);
}

/* -- semaphores, and what libraries build of futexes */

int sem_wait(sem_t* semaphore) {
    GNOMON_REAL(int, "sem_wait", "GLIBC_2.34", sem_t*);
    if (gnomon_self.slot) {
        const int before = errno;
        if (sem_trywait(semaphore) == 0) return 0;
        errno = before;
        gnomon_away();
    }
    return real(semaphore);
}

int sem_timedwait(sem_t* semaphore, const struct timespec* until) {
    GNOMON_REAL(int, "sem_timedwait", "GLIBC_2.34", sem_t*, const struct timespec*);
    if (gnomon_self.slot) {
        const int before = errno;
        if (sem_trywait(semaphore) == 0) return 0;
        errno = before;
        gnomon_away();
    }
    return real(semaphore, until);
}

int sem_clockwait(sem_t* semaphore, clockid_t clock, const struct timespec* until) {
    GNOMON_REAL(int, "sem_clockwait", "GLIBC_2.34", sem_t*, clockid_t, const struct timespec*);
    gnomon_away();
    return real(semaphore, clock, until);
}

/* What glibc leaves there; anything else costs an `away` too many, no more. */
#define ONCE_DONE 2

int pthread_once(pthread_once_t* control, void (*routine)(void)) {
    GNOMON_REAL(int, "pthread_once", "GLIBC_2.34", pthread_once_t*, void (*)(void));
    if (*control != ONCE_DONE) gnomon_away(); /* another thread may be in the routine */
    return real(control, routine);
}

long syscall(long number, ...) {
    GNOMON_REAL(long, "syscall", NULL, long, ...);
    va_list list;
    long given[6];
    va_start(list, number);
    for (int i = 0; i < 6; ++i) given[i] = va_arg(list, long);
    va_end(list);
    const long operation = given[1] & FUTEX_CMD_MASK;
    if (number == SYS_futex && (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET))
        gnomon_away();
    return real(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}
