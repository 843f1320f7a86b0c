// A 32-bit program that is linked dynamically, with no library: prints a line and leaves with status 7.
    .globl _start
    .text
_start:
    movl $4, %eax
    movl $1, %ebx
    call 1f
1:  popl %ecx
    addl $text-1b, %ecx
    movl $8, %edx
    int $0x80
    movl $1, %eax
    movl $7, %ebx
    int $0x80
text:
    .ascii "32 bits\n"
    .section .note.GNU-stack, "", @progbits
