# Completion of rekindle's commands, options, runs and entries in bash. Printed by `rekindle completion bash`.
_rekindle() {
    local program=${COMP_WORDS[0]/#\~\//$HOME/} word words=("${COMP_WORDS[@]:1:COMP_CWORD}")
    type -P "$program" >/dev/null || program=rekindle
    COMPREPLY=()
    compopt -o nosort 2>/dev/null # bash 4.4
    while IFS= read -r word; do
        case $word in
        :files) [ ${#COMPREPLY[@]} -gt 0 ] || compopt -o default ;;
        :folders) compopt -o dirnames ;;
        :command\ *) _rekindle_job $((${word#* } + 1)) ;;
        *) COMPREPLY+=("${word%%$'\t'*}") ;;
        esac
    done < <("$program" completion candidates -- "${words[@]//[\"\'\\]/}" 2>/dev/null)
}

# Completes the command that begins at word $1.
_rekindle_job() {
    if declare -F _command_offset >/dev/null; then
        _command_offset "$1" # of bash-completion
    elif [ "$COMP_CWORD" -eq "$1" ]; then
        mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
        compopt -o default
    else
        compopt -o default
    fi
}

complete -F _rekindle rekindle
