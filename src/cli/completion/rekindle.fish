# Completion of rekindle's commands, options, runs and entries in fish. Printed by `rekindle completion fish`.
function __rekindle_candidates
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l option (string match -r '^--[^=]*=' -- $typed)
    set -l value (string replace -r '^--[^=]*=' '' -- $typed)
    set -l program (string replace -r '^~/' $HOME/ -- $words[1])
    command -q $program; or set program rekindle
    for line in (command $program completion candidates -- $words[2..] $typed 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path $value | string replace -r -- '^' "$option"
            case :folders
                __fish_complete_directories $value | string replace -r -- '^' "$option"
            case ':command *'
                set -l first (math (string split ' ' -- $line)[2] + 2)
                complete -C (string join ' ' -- (string escape -- $words[$first..]) $typed)
            case '*'
                echo $line
        end
    end
end

complete -c rekindle -f -k -a '(__rekindle_candidates)'
