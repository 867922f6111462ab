/* Notes who allocates memory: to be preloaded into a program.
 *
 * A record of 64 bytes for each allocation and each release goes into memory that gnomon has
 * made and maps as well. Allocations that are too small to matter leave no record, and of the
 * others the caller is told, and further callers where the first one is in a library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define VARIABLE "GNOMON_ALLOCATIONS"
#define PROGRAM_VARIABLE "GNOMON_ALLOCATIONS_OF" /* its file, empty: the first that is run */
#define MAGIC 0x31636f6c6c416e67ull /* "gnAlloc1" */
#define FRAMES 4
#define SMALLEST 64
#define LARGE 4096
#define MAPS (256 << 10)

struct record {
    uint64_t pointer;
    uint64_t size; /* 0: released */
    uint64_t time; /* ns, monotonic */
    uint32_t thread;
    uint32_t frames;
    uint64_t frame[FRAMES];
};

struct header {
    uint64_t magic;
    uint64_t capacity; /* records */
    uint64_t used;     /* records that were asked for, possibly more than there is room for */
    uint64_t base;     /* what was added to the addresses in the program's file */
    uint64_t maps;     /* bytes of /proc/self/maps that follow */
    uint64_t spare[3];
    char text[MAPS];
};

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);

static struct header* file;
static struct record* records;
static uintptr_t text_start, text_end; /* of the program itself */
static __thread bool inside;           /* of our own doing */

static bool in_program(const void* address) {
    return (uintptr_t)address >= text_start && (uintptr_t)address < text_end;
}

/* Of large allocations more callers are told, as the first may be code of a C++ header. */
static void find_callers(struct record* record, const void* caller, size_t size) {
    record->frame[0] = (uintptr_t)caller;
    record->frames = 1;
    bool own = in_program(caller);
    if (own && size < LARGE) return;
    void* frames[24];
    const int count = backtrace(frames, 24);
    int at = 0;
    while (at < count && frames[at] != caller) ++at;
    /* The nearest callers are library code; the first in the program is what matters. */
    for (++at; at < count && record->frames < FRAMES; ++at) {
        const bool found = in_program(frames[at]);
        if (own && !found) break;
        if (!found && record->frames == FRAMES - 1) continue; /* room for one that is */
        record->frame[record->frames++] = (uintptr_t)frames[at];
        own = own || found;
        if (own && size < LARGE) break;
    }
}

static struct record* next_record(void) {
    const uint64_t at = __atomic_fetch_add(&file->used, 1, __ATOMIC_RELAXED);
    return at < file->capacity ? &records[at] : NULL;
}

static void note(void* pointer, size_t size, const void* caller) {
    if (!file || inside || !pointer || (size && size < SMALLEST)) return;
    inside = true;
    struct record* record = next_record();
    if (record) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        record->pointer = (uintptr_t)pointer;
        record->time = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
        record->thread = (uint32_t)syscall(SYS_gettid);
        if (size) find_callers(record, caller, size);
        __atomic_store_n(&record->size, size, __ATOMIC_RELEASE);
    }
    inside = false;
}

static void note_release(void* pointer) {
    if (!file || inside || !pointer || malloc_usable_size(pointer) < SMALLEST) return;
    note(pointer, 0, NULL);
}

#define CALLER __builtin_return_address(0)

void* malloc(size_t size) {
    void* pointer = __libc_malloc(size);
    note(pointer, size, CALLER);
    return pointer;
}

void* calloc(size_t count, size_t each) {
    void* pointer = __libc_calloc(count, each);
    note(pointer, count * each, CALLER);
    return pointer;
}

void* realloc(void* old, size_t size) {
    if (old && size) note_release(old);
    void* pointer = __libc_realloc(old, size);
    note(pointer, size, CALLER);
    return pointer;
}

void* memalign(size_t alignment, size_t size) {
    void* pointer = __libc_memalign(alignment, size);
    note(pointer, size, CALLER);
    return pointer;
}

void* aligned_alloc(size_t alignment, size_t size) {
    void* pointer = __libc_memalign(alignment, size);
    note(pointer, size, CALLER);
    return pointer;
}

int posix_memalign(void** into, size_t alignment, size_t size) {
    if (alignment % sizeof(void*) || !alignment || (alignment & (alignment - 1))) return EINVAL;
    void* pointer = __libc_memalign(alignment, size);
    if (!pointer) return ENOMEM;
    note(pointer, size, CALLER);
    *into = pointer;
    return 0;
}

void free(void* pointer) {
    note_release(pointer);
    __libc_free(pointer);
}

void* mmap(void* wanted, size_t size, int rights, int flags, int fd, off_t offset) {
    void* pointer = (void*)syscall(SYS_mmap, wanted, size, rights, flags, fd, offset);
    if (pointer != MAP_FAILED && flags & MAP_ANONYMOUS && rights & PROT_WRITE)
        note(pointer, size, CALLER);
    return pointer;
}

static int find_program(struct dl_phdr_info* info, size_t size, void* header) {
    (void)size;
    ((struct header*)header)->base = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)* part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        text_start = info->dlpi_addr + part->p_vaddr;
        text_end = text_start + part->p_memsz;
    }
    return 1; /* the program itself comes first */
}

static void copy_maps(struct header* header) {
    const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (maps < 0) return;
    ssize_t got;
    while (header->maps < MAPS &&
           (got = read(maps, header->text + header->maps, MAPS - header->maps)) > 0)
        header->maps += (uint64_t)got;
    close(maps);
}

static void forget(void) { file = NULL; } /* a forked child is another program */

/* What starts a program, as valgrind's scripts do, is not the program. */
static bool is_wanted(void) {
    const char* wanted = getenv(PROGRAM_VARIABLE);
    if (!wanted || !*wanted) return true;
    char name[4096];
    const ssize_t length = readlink("/proc/self/exe", name, sizeof name - 1);
    if (length < 0) return true;
    name[length] = '\0';
    return strcmp(name, wanted) == 0;
}

__attribute__((constructor)) static void begin(void) {
    const char* path = getenv(VARIABLE);
    if (!path || !is_wanted()) return;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    unsetenv(VARIABLE);
    unsetenv(PROGRAM_VARIABLE);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0) return;
    void* memory = (void*)syscall(SYS_mmap, NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE,
                                  MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED) return;
    struct header* header = memory;
    if (header->magic != MAGIC) return;
    void* warm[2];
    backtrace(warm, 2); /* loads what it needs now, not within an allocation */
    dl_iterate_phdr(find_program, header);
    copy_maps(header);
    extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void*);
    __register_atfork(NULL, NULL, forget, NULL);
    records = (struct record*)(header + 1);
    __atomic_store_n(&file, header, __ATOMIC_RELEASE);
}
