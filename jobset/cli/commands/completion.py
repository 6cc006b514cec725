"""``jobset completion SHELL``: the script that teaches a shell to complete our commands."""

from typing import Annotated, Final

import typer

from jobset.cli import failures, output

SCRIPTS: Final = {
    'bash': """\
# To have it now:     source <(jobset completion bash)
# To have it always:  jobset completion bash > ~/.local/share/bash-completion/completions/jobset
_jobset() {
    local current="${COMP_WORDS[COMP_CWORD]}" line files=0 errors=/dev/null
    [[ -z ${JOBSET_DEBUG_COMPLETION:-} ]] || errors=/dev/stderr
    COMPREPLY=()
    while IFS= read -r line; do
        case "$line" in
            :4) files=4 ;;
            :*) ;;
            *) COMPREPLY+=("${line%%$'\\t'*}") ;;
        esac
    done < <(jobset __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>>"$errors")
    if [[ $files == 4 ]]; then
        compopt +o default 2>/dev/null
    elif [[ ${#COMPREPLY[@]} == 0 ]]; then
        COMPREPLY=($(compgen -f -- "$current"))
        compopt -o filenames 2>/dev/null
    fi
}
complete -o default -F _jobset jobset
""",
    'zsh': """\
#compdef jobset
# To have it always, put it into a folder of $fpath:  jobset completion zsh > ~/.zfunc/_jobset
_jobset() {
    local -a candidates
    local line files=0 errors=/dev/null
    [[ -z ${JOBSET_DEBUG_COMPLETION:-} ]] || errors=/dev/stderr
    for line in "${(@f)$(jobset __complete -- "${(@)words[2,CURRENT]}" 2>>"$errors")}"; do
        case "$line" in
            :4) files=4 ;;
            :*|'') ;;
            *) candidates+=("${${line//:/\\\\:}/$'\\t'/:}") ;;
        esac
    done
    (( ${#candidates} )) && _describe 'jobset' candidates
    [[ $files == 4 ]] || _files
}
if [[ "$funcstack[1]" == _jobset ]]; then _jobset "$@"; else compdef _jobset jobset; fi
""",
    'fish': """\
# To have it always:  jobset completion fish > ~/.config/fish/completions/jobset.fish
function __jobset_asked
    set -l words (commandline -opc) (commandline -ct)
    set -l errors /dev/null
    test -z "$JOBSET_DEBUG_COMPLETION"; or set errors /dev/stderr
    jobset __complete -- $words[2..-1] 2>>$errors
end
function __jobset_complete
    __jobset_asked | string match -v -r '^:[0-9]+$'
end
function __jobset_files
    not contains -- :4 (__jobset_asked)
end
complete -c jobset -f -a '(__jobset_complete)'
complete -c jobset -n __jobset_files -F
""",
}
"""By shell. Each of them calls us for the candidates, so that they never fall behind."""


def command(
    shell: Annotated[str, typer.Argument(help='bash, zsh or fish.', metavar='SHELL', show_default=False)],
) -> None:
    """Print the completion script of a shell. "kubectl jobset" is completed by kubectl's own script."""
    if shell not in SCRIPTS:
        raise failures.Failure(f'{shell}: no script for it; there are: {", ".join(SCRIPTS)}', code=failures.USAGE)
    output.write(SCRIPTS[shell].rstrip('\n'))
