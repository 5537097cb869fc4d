# SPDX-License-Identifier: Apache-2.0
# Fish completion for shufflectl(1). Commands, options and what they mean come
# from --help; the values of keys are those of shufflefs.fish.

functions -q __shufflefs_list
or source (status dirname)/shufflefs.fish

# The command, or nothing.
function __shufflectl_command
    set -l words (commandline -opc)
    set -q words[2]; and echo $words[2]
end

function __shufflectl_is
    contains -- "$(__shufflectl_command)" $argv
end

# The commands, each with a tab and its help.
function __shufflectl_commands
    shufflectl --help 2>/dev/null | string replace -rf '^  ([a-z]+) +(\S.*)$' '$1\t$2'
end

# The options of the command by their long names, each with a tab and its help.
# The help is on the next line if the names are long.
function __shufflectl_options
    set -l option
    for line in (shufflectl (__shufflectl_command) --help 2>/dev/null)
        set -l found (string match -r '^  (?:-\w,)?(--[a-z-]+|-\w)(?: .*?)?(?:  +(\S.*))?$' -- $line)
        if set -q found[3]
            printf '%s\t%s\n' $found[2] $found[3]
        else if set -q found[2]
            set option $found[2]
            continue
        else if set -q option[1]
            printf '%s\t%s\n' $option (string trim -- $line)
        end
        set -e option[1]
    end
end

# Mount points. mountinfo writes space, tab, newline and backslash in octal. A
# name with a tab or a newline cannot be offered.
function __shufflectl_mounts
    for field in (string replace -rf '^(?:\S+ ){4}(\S+) .* - fuse\.shufflefs .*' '$1' </proc/self/mountinfo)
        string match -qr '\\\\01[12]' -- $field; and continue
        printf '%b\n' (string replace -a '\\' '\\0' -- $field)
    end
end

# Keys that can change while mounted, or the values of one.
function __shufflectl_settings
    set -l word (commandline -ct)
    if string match -q '*=*' -- $word
        set -l key (string replace -r '=.*' '' -- $word)
        string replace -r '^' "$key=" -- (__shufflefs_values $key)
        return
    end
    printf '%s=\n' policy seed epoch.advance epoch.length epoch.pad \
        epoch.double_open lirs.unit lirs.page lirs.batch brand.chunk_files \
        brand.chunk_layout brand.binding brand.locality reimu.block reimu.window \
        met.mini_epochs met.repeat met.epochs met.adapt met.patience met.scores clairvoyant.seeds \
        window.samples nodes log.level
end

# The values of the option before. Fails if it takes none.
function __shufflectl_value
    switch (commandline -opc)[-1]
        case --state --save --restore
            __fish_complete_directories
        case --config --with
            __fish_complete_path
        case -m --mount
            __shufflectl_mounts
        case --policy
            __shufflefs_values policy
        case --refill
            printf '%s\n' none random fill-rate
        case --align
            __shufflectl_is pack; and echo page
            return 0
        case --fit
            __shufflectl_is pack; and printf '%s\n' next best
            return 0
        case -o
            if __shufflectl_is doctor
                __fish_complete_path
            else
                __shufflefs_list
            end
        case --view --wait --samples --nodes --classes --bytes --batch --epoch --epochs \
            --chunk --seed --memory --page --capacity-tier --tier --consume --peak \
            --dataset --repeats -I --replace --interval --count --time --readers --limit
            return 0
        case '*'
            return 1
    end
    return 0
end

# What the command takes besides options.
function __shufflectl_arguments
    set -l count (count (commandline -opc))
    switch (__shufflectl_command)
        case check warmup bench run index pack
            __fish_complete_directories
        case order peers status top token verify umount
            __shufflectl_mounts
        case epoch
            echo next
            __shufflectl_mounts
        case feedback
            __shufflectl_mounts
        case policy
            test $count = 2; and __shufflefs_values policy; and __shufflectl_mounts
            # The word behind a mount point.
            test $count = 3; and not contains -- (commandline -opc)[3] (__shufflefs_values policy)
            and __shufflefs_values policy
            test $count = 2; or __shufflectl_settings
        case simulate
            test $count = 2; and __shufflefs_values policy
            test $count = 2; or __shufflectl_settings
            test $count = 2; or __fish_complete_directories
    end
end

function __shufflectl
    if test (count (commandline -opc)) = 1
        __shufflectl_commands
        printf '%s\n' --help --version
    else if __shufflectl_is bench run; and contains -- -- (commandline -opc)
        __fish_complete_path
    else if not __shufflectl_value
        if string match -q -- '-*' (commandline -ct)
            __shufflectl_options
        else
            __shufflectl_arguments
        end
    end
end

complete -c shufflectl -f -a '(__shufflectl)'
