// SPDX-License-Identifier: MIT
/*
 * vfork: the child runs on its parent's stack until it execs or exits, so the return address cannot stay there. It is
 * kept in a register that the kernel preserves on both sides, as glibc does. Where tracing is off: straight to glibc's.
 */
#include "client/shim/stub_ids.h"

#ifndef FT_SHIM_UNIT_TEST
    .text
    .globl vfork
#if defined(__x86_64__)
    .type vfork, @function
    .p2align 4
vfork:
    .cfi_startproc
    endbr64
    movq ft_thread@gottpoff(%rip), %r11
    cmpb $1, %fs:(%r11)
    jne 1f
    movq ft_real_table+8*FT_STUB_VFORK(%rip), %r11
    testq %r11, %r11
    je 1f
    jmp *%r11
1:  subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call ft_vfork_begin
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    .cfi_register %rip, %rdi
    movl $58, %eax
    syscall
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    .cfi_offset %rip, -8
    testl %eax, %eax
    jne 2f
    ret
2:  movslq %eax, %rdi
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call ft_vfork_end
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size vfork, . - vfork
#elif defined(__aarch64__)
    .type vfork, %function
    .p2align 4
vfork:
    .cfi_startproc
    adrp x16, :gottprel:ft_thread
    ldr x16, [x16, :gottprel_lo12:ft_thread]
    mrs x17, tpidr_el0
    ldrb w16, [x17, x16]
    cmp w16, 1
    b.ne 1f
    adrp x16, ft_real_table+8*FT_STUB_VFORK
    ldr x16, [x16, :lo12:ft_real_table+8*FT_STUB_VFORK]
    cbz x16, 1f
    br x16
1:  stp x29, x30, [sp, -16]!
    .cfi_adjust_cfa_offset 16
    bl ft_vfork_begin
    ldp x29, x30, [sp], 16
    .cfi_adjust_cfa_offset -16
    mov x0, 0x4111          /* CLONE_VM | CLONE_VFORK | SIGCHLD */
    mov x1, sp
    mov x8, 220
    svc 0
    cbnz x0, 2f
    ret
2:  stp x29, x30, [sp, -16]!
    .cfi_adjust_cfa_offset 16
    bl ft_vfork_end
    ldp x29, x30, [sp], 16
    .cfi_adjust_cfa_offset -16
    ret
    .cfi_endproc
    .size vfork, . - vfork
#endif
    .globl __vfork
    .set __vfork, vfork
#endif

    .section .note.GNU-stack, "", %progbits
