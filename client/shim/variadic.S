// SPDX-License-Identifier: MIT
/*
 * Entries of variadic wrappers: where tracing is off for the thread they jump to the real function with all registers
 * and the stack as they came, else to the body in wrap_printf.c. Also calls that must not see another return address or
 * stack: dlopen (the caller's address chooses its search path), syscall (any number of arguments), longjmp.
 */
#define FT_MODE_OFF_VALUE 1

#if defined(__x86_64__)

#define STUB(name, id)                                                                                                 \
    .globl name;                                                                                                       \
    .type name, @function;                                                                                             \
    .p2align 4;                                                                                                        \
    name: .cfi_startproc;                                                                                              \
    endbr64;                                                                                                           \
    movq ft_thread@gottpoff(%rip), %r11;                                                                               \
    cmpb $FT_MODE_OFF_VALUE, %fs:(%r11);                                                                               \
    jne 1f;                                                                                                            \
    movq ft_real_table+8*(id)(%rip), %r11;                                                                             \
    testq %r11, %r11;                                                                                                  \
    je 1f;                                                                                                             \
    jmp *%r11;                                                                                                         \
    1: jmp ft_variadic_##name;                                                                                         \
    .cfi_endproc;                                                                                                      \
    .size name, . - name;

/* Calls hook(the first four arguments), which returns the real function, then goes there as if never seen. */
#define HOOK(name, hook)                                                                                               \
    .globl name;                                                                                                       \
    .type name, @function;                                                                                             \
    .p2align 4;                                                                                                        \
    name: .cfi_startproc;                                                                                              \
    endbr64;                                                                                                           \
    pushq %rdi; .cfi_adjust_cfa_offset 8;                                                                              \
    pushq %rsi; .cfi_adjust_cfa_offset 8;                                                                              \
    pushq %rdx; .cfi_adjust_cfa_offset 8;                                                                              \
    pushq %rcx; .cfi_adjust_cfa_offset 8;                                                                              \
    pushq %r8; .cfi_adjust_cfa_offset 8;                                                                               \
    pushq %r9; .cfi_adjust_cfa_offset 8;                                                                               \
    pushq %rax; .cfi_adjust_cfa_offset 8;                                                                              \
    call hook;                                                                                                         \
    movq %rax, %r11;                                                                                                   \
    popq %rax; .cfi_adjust_cfa_offset -8;                                                                              \
    popq %r9; .cfi_adjust_cfa_offset -8;                                                                               \
    popq %r8; .cfi_adjust_cfa_offset -8;                                                                               \
    popq %rcx; .cfi_adjust_cfa_offset -8;                                                                              \
    popq %rdx; .cfi_adjust_cfa_offset -8;                                                                              \
    popq %rsi; .cfi_adjust_cfa_offset -8;                                                                              \
    popq %rdi; .cfi_adjust_cfa_offset -8;                                                                              \
    jmp *%r11;                                                                                                         \
    .cfi_endproc;                                                                                                      \
    .size name, . - name;

#elif defined(__aarch64__)

#define STUB(name, id)                                                                                                 \
    .globl name;                                                                                                       \
    .type name, %function;                                                                                             \
    .p2align 4;                                                                                                        \
    name: .cfi_startproc;                                                                                              \
    adrp x16, :gottprel:ft_thread;                                                                                     \
    ldr x16, [x16, :gottprel_lo12:ft_thread];                                                                          \
    mrs x17, tpidr_el0;                                                                                                \
    ldrb w16, [x17, x16];                                                                                              \
    cmp w16, FT_MODE_OFF_VALUE;                                                                                        \
    b.ne 1f;                                                                                                           \
    adrp x16, ft_real_table+8*(id);                                                                                    \
    ldr x16, [x16, :lo12:ft_real_table+8*(id)];                                                                        \
    cbz x16, 1f;                                                                                                       \
    br x16;                                                                                                            \
    1: b ft_variadic_##name;                                                                                           \
    .cfi_endproc;                                                                                                      \
    .size name, . - name;

#define HOOK(name, hook)                                                                                               \
    .globl name;                                                                                                       \
    .type name, %function;                                                                                             \
    .p2align 4;                                                                                                        \
    name: .cfi_startproc;                                                                                              \
    stp x29, x30, [sp, -80]!;                                                                                          \
    .cfi_adjust_cfa_offset 80;                                                                                         \
    stp x0, x1, [sp, 16];                                                                                              \
    stp x2, x3, [sp, 32];                                                                                              \
    stp x4, x5, [sp, 48];                                                                                              \
    stp x6, x7, [sp, 64];                                                                                              \
    bl hook;                                                                                                           \
    mov x16, x0;                                                                                                       \
    ldp x0, x1, [sp, 16];                                                                                              \
    ldp x2, x3, [sp, 32];                                                                                              \
    ldp x4, x5, [sp, 48];                                                                                              \
    ldp x6, x7, [sp, 64];                                                                                              \
    ldp x29, x30, [sp], 80;                                                                                            \
    .cfi_adjust_cfa_offset -80;                                                                                        \
    br x16;                                                                                                            \
    .cfi_endproc;                                                                                                      \
    .size name, . - name;

#endif

#define STUB_VARIADIC(id, name) STUB(name, id)
#define STUB_ASSEMBLY(id, name)
#define STUB_CUSTOM(id, name)
#define STUB_CUSTOM_VOID(id, name)
#define STUB_OPEN(id, name)
#define STUB_TEMP(id, name)
#define STUB_FD(id, name)
#define STUB_FD_VOID(id, name)
#define STUB_PATH(id, name)
#define STUB_DIRECTORY(id, name)
#define STUB_MAP(id, name)
#define STUB_LIBRARY(id, name)
#define STUB_FOPEN(id, name)
#define STUB_STDIO_FLUSH(id, name)
#define STUB_STDIO_OTHER(id, name)
#define STUB_STDIO_OTHER_VOID(id, name)
#define STUB_STDIO_IN(id, name)
#define STUB_STDIO_ITEMS(id, name)
#define STUB_STDIO_GETS(id, name)
#define STUB_STDIO_SCAN(id, name)
#define STUB_STDIO_OUT(id, name)
#define STUB_STDIO_SEEK(id, name)
#define STUB_STDIO_SEEK_VOID(id, name)
#define STUB_STDIO_WIDE(id, name)
#define STUB_STDIO_WIDE_STRING(id, name)
#define STUB_EXIT(id, name)

#define FT_CALL(id, name, category, group, shape, ...) STUB_##shape(id, name)

    .text
#include "proto/calls.def"

#ifndef FT_SHIM_UNIT_TEST
HOOK(syscall, ft_hook_syscall)
HOOK(dlopen, ft_hook_dlopen)
HOOK(dlmopen, ft_hook_dlmopen)
HOOK(longjmp, ft_hook_longjmp)
HOOK(_longjmp, ft_hook__longjmp)
HOOK(siglongjmp, ft_hook_siglongjmp)
HOOK(__longjmp_chk, ft_hook___longjmp_chk)
#endif

    .section .note.GNU-stack, "", %progbits
