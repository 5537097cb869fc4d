# SPDX-License-Identifier: Apache-2.0
# Fish completion for shufflefs(1). Keys and what they mean come from --help=all.

# The values of a key that has words for values.
function __shufflefs_values
    switch $argv[1]
        case policy
            printf '%s\n' auto native lirs brand met reimu clairvoyant window static
        case epoch.advance
            printf '%s\n' auto manual
        case epoch.length
            printf '%s\n' all
        case substitute
            printf '%s\n' auto never directory tree
        case pair
            printf '%s\n' stem off
        case layout
            printf '%s\n' tree ranked
        case open
            printf '%s\n' auto seen observed unseen
        case log.level
            printf '%s\n' debug info warning error
        case log.format
            printf '%s\n' text json
        case log.target
            printf '%s\n' auto stderr syslog
        case lirs.unit
            printf '%s\n' instance page
        case brand.chunk_layout
            printf '%s\n' auto random physical
        case brand.binding
            printf '%s\n' group location
        case peers.insecure
            printf '%s\n' yes off
        case record.csv
            printf '%s\n' plain quoted
        case record.scope
            printf '%s\n' file set view
        case met.adapt
            printf '%s\n' off score bollinger
    end
end

# Every key, a tab, and its help.
function __shufflefs_keys
    shufflefs --help=all 2>/dev/null | string replace -rf '^  ([a-z_]+(?:\.[a-z_]+)?) +(\S.*)$' '$1=\t$2'
end

# What may follow the last comma of a list of keys. Fish replaces the whole
# word, so each candidate begins with what is there.
function __shufflefs_list
    set -l word (commandline -ct)
    set -l last (string replace -r '^.*,' '' -- "$word")
    set -l before (string sub -l (math (string length -- "$word") - (string length -- "$last")) -- "$word")
    if string match -q '*=*' -- "$last"
        set -l key (string replace -r '=.*' '' -- "$last")
        string replace -r '^' "$before$key=" -- (__shufflefs_values $key)
    else
        string replace -r '^' "$before" -- (__shufflefs_keys)
        printf '%s\n' $before{config=,ro,rw,allow_other}
    end
end

complete -c shufflefs -f -a '(__fish_complete_directories)'
complete -c shufflefs -s o -x -a '(__shufflefs_list)' -d 'Keys'
complete -c shufflefs -l config -r -F -d 'Read keys from a TOML file'
complete -c shufflefs -s f -l foreground -d 'Stay in the foreground and log to stderr'
complete -c shufflefs -s d -l debug -d 'As -f, and log every request'
complete -c shufflefs -s h -l help -d 'Print the help'
complete -c shufflefs -s V -l version -d 'Print the version'
