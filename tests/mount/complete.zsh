# SPDX-License-Identifier: Apache-2.0
# complete.zsh FOLDER OUTPUT LINE: writes to OUTPUT what an interactive zsh
# offers for the end of LINE, one candidate a line. FOLDER has the completion
# functions.
if [[ $1 == --inside ]]; then
  fpath=($2 $fpath)
  # The dump saves the next ones a search of all functions.
  autoload -U compinit && compinit -u -d ${3:h}/zcompdump
  typeset -g offered=$3
  # Tells what it adds, unquoted.
  compadd() {
    if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
      local -a hits
      builtin compadd -A hits "$@"
      hits=("${(@Q)hits}")
      (( $#hits )) && print -rl -- "$IPREFIX"${^hits} >>$offered
    fi
    builtin compadd "$@"
  }
  zle -C complete complete-word _main_complete
  telling() { zle complete; exit }
  zle -N telling
  bindkey '^T' telling
  print "<bou""nd>"
  return
fi

zmodload zsh/zpty || exit 2
zpty session zsh -f -i
zpty -w session "source ${(q)0:A} --inside ${(q)1} ${(q)2}"
zpty -r session seen '*<bound>*' || { print -r -- $seen; exit 2 }
zpty -w -n session "$3"$'\C-t'
while zpty -r session seen; do :; done
exit 0
