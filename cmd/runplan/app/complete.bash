# Three functions of the package bash-completion, for a bash without it. They are the part of them that runplan needs.
if ! declare -F _get_comp_words_by_ref >/dev/null; then
# Sets cur, prev, words and cword. Bash splits words at = and :, and here they are joined again.
_get_comp_words_by_ref() {
    local i word trimmed rest=$COMP_LINE last=0
    words=() cword=0
    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
        word=${COMP_WORDS[i]}
        trimmed=${rest#"${rest%%[![:space:]]*}"}
        last=$((${#words[@]} - 1))
        if ((i > 0)) && [[ $trimmed == "$rest" && -n $rest && ($word == [=:]* || ${words[last]} == *[=:]) ]]; then
            words[last]+=$word
        else
            words+=("$word")
        fi
        rest=${trimmed#"$word"}
        ((i == COMP_CWORD)) && cword=$((${#words[@]} - 1))
    done
    cur=${words[cword]} prev=
    ((cword > 0)) && prev=${words[cword - 1]}
    return 0
}
fi
if ! declare -F __ltrim_colon_completions >/dev/null; then
# Removes what stands before a colon from the answers, because bash completes only what comes after it.
__ltrim_colon_completions() {
    [[ $1 == *:* && $COMP_WORDBREAKS == *:* ]] || return 0
    local i before=${1%"${1##*:}"}
    for i in "${!COMPREPLY[@]}"; do
        COMPREPLY[i]=${COMPREPLY[i]#"$before"}
    done
}
fi
if ! declare -F _filedir >/dev/null; then
# Offers folders, and files with one of the endings "md|txt|"; -d offers folders only.
_filedir() {
    local IFS=$'\n' file
    for file in $(compgen -f -- "${cur-}"); do
        [[ ${file##*/} == .* && ${cur##*/} != .* ]] && continue
        if [[ -d $file ]]; then
            COMPREPLY+=("$file/")
        elif [[ ${1-} != -d && (-z ${1-} || "|$1|" == *"|${file##*.}|"*) ]]; then
            COMPREPLY+=("$file")
        fi
    done
    [[ $(type -t compopt) == builtin ]] && compopt -o nospace -o filenames 2>/dev/null
    return 0
}
fi
