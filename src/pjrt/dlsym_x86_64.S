// dlsym(handle = rdi, name = rsi), System V AMD64 ABI.
//
// rk_ld_preload_dlsym returns rekindle's answer in rax, or 0. If it is 0, control *jumps* to the
// next dlsym (rdx) with the caller's arguments and return address, because glibc resolves RTLD_NEXT
// by the return address.
    .text
    .globl dlsym
    .type dlsym, @function
    .p2align 4
dlsym:
    .cfi_startproc
    endbr64
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call rk_ld_preload_dlsym
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    testq %rax, %rax
    jne 1f
    testq %rdx, %rdx
    je 1f
    jmp *%rdx
1:  ret
    .cfi_endproc
    .size dlsym, .-dlsym
    .section .note.GNU-stack, "", @progbits
