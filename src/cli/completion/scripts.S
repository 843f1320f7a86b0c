// The completion scripts as texts that end with NUL, for cmd_completion.c.
    .section .rodata
    .globl rk_completion_bash, rk_completion_zsh, rk_completion_fish
    .hidden rk_completion_bash, rk_completion_zsh, rk_completion_fish
rk_completion_bash:
    .incbin "cli/completion/rekindle.bash"
    .byte 0
rk_completion_zsh:
    .incbin "cli/completion/_rekindle"
    .byte 0
rk_completion_fish:
    .incbin "cli/completion/rekindle.fish"
    .byte 0
    .section .note.GNU-stack, "", %progbits
