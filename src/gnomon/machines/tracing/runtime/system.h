/* System calls that leave errno as it is: traced code does not expect a load to change it. */
#ifndef GNOMON_TRACE_SYSTEM_H
#define GNOMON_TRACE_SYSTEM_H

#if defined(__x86_64__)
static inline long gnomon_system_call(long number, long a, long b, long c, long d) {
    long result;
    register long fourth __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
static inline long gnomon_system_call(long number, long a, long b, long c, long d) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
}
#else
#error "gnomon traces programs on x86-64 and aarch64 only"
#endif

#endif
