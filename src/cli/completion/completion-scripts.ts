// The completion scripts. They run `imago __complete` with the words so far, so they never go out of date.
export const completionScripts = {
  bash: `_imago() {
  local IFS=$'\\n' words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  COMPREPLY=($(compgen -W "$(imago __complete -- "\${words[@]}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
  [ \${#COMPREPLY[@]} -gt 0 ] || compopt -o default
}
COMP_WORDBREAKS=\${COMP_WORDBREAKS//:}
complete -F _imago imago
`,
  zsh: `#compdef imago
_imago() {
  local -a found
  found=("\${(@f)$(imago __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -- "\${found[@]}"; else _files; fi
}
compdef _imago imago
`,
  fish: `function __imago_complete
  set -l words (commandline -opc) (commandline -ct)
  imago __complete -- $words[2..-1] 2>/dev/null
end
complete -c imago -f -a '(__imago_complete)'
`,
} as const;
