/* SPDX-License-Identifier: MIT */
/*
 * Ways into and out of functions of libraries, whatever their arguments are (levels.h). All code is here, in the file:
 * nothing is generated, so no page is ever writable and executable.
 *
 * In: the function's slot in its caller's offset table leads to the function's stub, which pushes its number. Registers
 * that may hold arguments are kept, the vector ones by their low halves: nothing in this library touches the high ones.
 *
 * Out: the call's return address was replaced by its own stub's, which pushes the address that was there. Unwinders
 * find it as well: the stub's first instruction says where it is kept, so exceptions and cancellation pass through.
 */
#include "client/shim/levels_ids.h"

#if defined(__x86_64__)

    .section .text.levels, "ax", @progbits
    .hidden ft_levels_kept
    .hidden ft_levels_begin
    .hidden ft_levels_end
    .hidden ft_levels_dlsym_real
    .hidden ft_levels_are_opened
    .hidden ft_levels_loaded

    .globl ft_levels_entries
    .hidden ft_levels_entries
    .globl ft_levels_exits
    .hidden ft_levels_exits
    .globl ft_levels_dlsym
    .hidden ft_levels_dlsym

/* Where rip % 16 >= 9, the number is pushed: rsp + 8 + ((rip & 15) >= 9) * 8. */
    .p2align 4
    .type ft_levels_entries, @function
ft_levels_entries:
    .cfi_startproc
    .cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x39, 0x2a, 0x33, 0x24, 0x22
    .set number, 0
    .rept FT_LEVELS_FUNCTIONS
    endbr64
    .byte 0x68 /* pushq, of four bytes always */
    .long number
    .byte 0xe9 /* jmp */
    .long enter - . - 4
    .p2align 4
    .set number, number + 1
    .endr
    .cfi_endproc
    .size ft_levels_entries, . - ft_levels_entries

/* A frame with struct ft_levels_registers at its lower end; what the stub pushed, its number, is at 8(%rbp). */
    .macro keep_registers
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    andq $-16, %rsp
    subq $208, %rsp
    movups %xmm0, (%rsp)
    movups %xmm1, 16(%rsp)
    movups %xmm2, 32(%rsp)
    movups %xmm3, 48(%rsp)
    movups %xmm4, 64(%rsp)
    movups %xmm5, 80(%rsp)
    movups %xmm6, 96(%rsp)
    movups %xmm7, 112(%rsp)
    movq %rdi, 128(%rsp)
    movq %rsi, 136(%rsp)
    movq %rdx, 144(%rsp)
    movq %rcx, 152(%rsp)
    movq %r8, 160(%rsp)
    movq %r9, 168(%rsp)
    movq %r10, 176(%rsp)
    movq %r11, 184(%rsp)
    movq %rax, 192(%rsp)
    .endm

    .type enter, @function
enter:
    .cfi_startproc
    .cfi_def_cfa_offset 16
    keep_registers
    movl 8(%rbp), %edi
    leaq 16(%rbp), %rsi
    movq %rsp, %rdx
    cld
    call ft_levels_begin
    movq %rax, 8(%rbp)
    movups (%rsp), %xmm0
    movups 16(%rsp), %xmm1
    movups 32(%rsp), %xmm2
    movups 48(%rsp), %xmm3
    movups 64(%rsp), %xmm4
    movups 80(%rsp), %xmm5
    movups 96(%rsp), %xmm6
    movups 112(%rsp), %xmm7
    movq 128(%rsp), %rdi
    movq 136(%rsp), %rsi
    movq 144(%rsp), %rdx
    movq 152(%rsp), %rcx
    movq 160(%rsp), %r8
    movq 168(%rsp), %r9
    movq 176(%rsp), %r10
    movq 184(%rsp), %r11
    movq 192(%rsp), %rax
    leave
    .cfi_def_cfa %rsp, 16
    .cfi_restore %rbp
    leaq 8(%rsp), %rsp
    .cfi_def_cfa_offset 8
    jmp *-8(%rsp) /* the function, where its number was: a handler leaves 128 bytes there alone */
    .cfi_endproc
    .size enter, . - enter

/*
 * Where the stack pointer is: rsp + ((rip & 15) >= 6) * 8 + ((rip & 15) >= 11) * 8.
 * CFA: 1 to 4 bytes above it, by the stub. Unwinders know a frame by it: it must be none of the frame below, nor of
 * another stub that this one returns to.
 * Return address: where the stub's own pushq says, base + 6 + *(uint32_t *)(base + 2), base = rip & -16.
 * An unwinder looks for the address before the one that is returned to: so something stands before the first.
 */
    .p2align 4
    .cfi_startproc
    .cfi_escape 0x0f, 29, 0x77, 0, 0x80, 0, 0x3f, 0x1a, 0x36, 0x2a, 0x33, 0x24, 0x22, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22, 0x80, 0, 0x34, 0x25, 0x33, 0x1a, 0x22, 0x23, 1
    .cfi_escape 0x16, 7, 9, 0x80, 0, 0x34, 0x25, 0x33, 0x1a, 0x1c, 0x31, 0x1c
    .cfi_escape 0x10, 16, 22, 0x80, 0, 0x09, 0xf0, 0x1a, 0x23, 6, 0x80, 0, 0x09, 0xf0, 0x1a, 0x23, 2, 0x06, 0x0c, 0xff, 0xff, 0xff, 0xff, 0x1a, 0x22
    .skip 16, 0xcc
    .type ft_levels_exits, @function
ft_levels_exits:
    .set number, 0
    .rept FT_LEVELS_CALLS
    .byte 0xff, 0x35 /* pushq ft_levels_kept[number].address */
    .long ft_levels_kept + 16 * number - . - 4
    .byte 0x68
    .long number
    .byte 0xe9
    .long leave - . - 4
    .set number, number + 1
    .endr
    .cfi_endproc
    .size ft_levels_exits, . - ft_levels_exits

    .type leave, @function
leave:
    .cfi_startproc
    .cfi_def_cfa_offset 16
    keep_registers
    movl 8(%rbp), %edi
    movq %rsp, %rsi
    cld
    call ft_levels_end
    movups (%rsp), %xmm0
    movups 16(%rsp), %xmm1
    movups 32(%rsp), %xmm2
    movups 48(%rsp), %xmm3
    movups 64(%rsp), %xmm4
    movups 80(%rsp), %xmm5
    movups 96(%rsp), %xmm6
    movups 112(%rsp), %xmm7
    movq 128(%rsp), %rdi
    movq 136(%rsp), %rsi
    movq 144(%rsp), %rdx
    movq 152(%rsp), %rcx
    movq 160(%rsp), %r8
    movq 168(%rsp), %r9
    movq 176(%rsp), %r10
    movq 184(%rsp), %r11
    movq 192(%rsp), %rax
    leave
    .cfi_def_cfa %rsp, 16
    .cfi_restore %rbp
    leaq 8(%rsp), %rsp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size leave, . - leave

/* What the thread opened since its last look is looked at, then it goes on as if never seen: dlsym asks who called. */
    .p2align 4
    .type ft_levels_dlsym, @function
ft_levels_dlsym:
    .cfi_startproc
    endbr64
    cmpb $0, ft_levels_are_opened(%rip)
    je 1f
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    pushq %rdx
    .cfi_adjust_cfa_offset 8
    call ft_levels_loaded
    popq %rdx
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
1:  jmp *ft_levels_dlsym_real(%rip)
    .cfi_endproc
    .size ft_levels_dlsym, . - ft_levels_dlsym

#endif

    .section .note.GNU-stack, "", %progbits
