import {
  agentOptions,
  type Command,
  type CommandEntry,
  type Completion,
  type Context,
  globalOptions,
  type Option,
} from '../command.ts'
import { usageError } from '../errors.ts'

/** Milliseconds for which a shell waits for values that only the agent knows, unless `A2ACLI_TIMEOUT` is set. */
const dynamicTimeout = 2_000

export const completion: Command = {
  description:
    'Prints a script that completes commands, options and values, such as the agents that you used last, and the tasks and contexts of the agent on the line.',
  positionals: [{ name: 'shell', summary: 'bash, zsh or fish.' }],
  examples: [
    { line: 'eval "$(parley completion bash)"', summary: 'For bash: add the line to ~/.bashrc' },
    { line: 'eval "$(parley completion zsh)"', summary: 'For zsh: add it to ~/.zshrc, after compinit' },
    { line: 'parley completion fish > ~/.config/fish/completions/parley.fish', summary: 'For fish' },
  ],
  async run({ positionals: [shell = ''], output }) {
    const script = scripts[shell]
    if (script === undefined) throw usageError(`There is no completion for "${shell}": expected bash, zsh or fish.`)
    output.print(script)
  },
}

/** Prints the candidates for the last word, each with its description. The scripts above call it. */
export const complete: Command = {
  positionals: [{ name: 'word', summary: 'The words of the line after the program.', optional: true, multiple: true }],
  async run(context) {
    const words = context.positionals
    const candidates = await candidatesFor(words, context)
    const current = words.at(-1) ?? ''
    for (const { value, summary = '' } of candidates) {
      if (!isPlain(value) || !(value.startsWith(current) || value.startsWith(':'))) continue
      context.output.print(`${value}\t${summary.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ')}`)
    }
  },
}

/** Whether a shell takes a value as one word without a meaning of its own: ids come from agents, and shells insert them as they are. */
function isPlain(value: string): boolean {
  return /^[\w./:@+=%-]+$/.test(value)
}

interface Candidate {
  readonly value: string
  readonly summary?: string
}

async function candidatesFor(words: readonly string[], context: Context): Promise<readonly Candidate[]> {
  const before = words.slice(0, -1)
  const current = words.at(-1) ?? ''
  const visible = context.commands.filter(({ isHidden }) => !isHidden)
  const { entry, depth } = commandIn(before, visible)
  if (!entry) return nextWords(before, visible)
  const command = await entry.load()
  const options: Readonly<Record<string, Option>> = { ...globalOptions, ...command.options }
  const open = openOption(before, options)
  if (open) return await valuesOf(open, words, context)
  if (current.startsWith('-')) {
    return Object.entries(options).flatMap(([name, { summary, short }]) => [
      { value: `--${name}`, summary },
      ...(short === undefined ? [] : [{ value: `-${short}`, summary }]),
    ])
  }
  const index = before
    .slice(depth)
    .filter((word, at, all) => !word.startsWith('-') && !takesValue(all[at - 1], options)).length
  const { positionals = [] } = command
  const positional = positionals[Math.min(index, positionals.length - 1)]
  if (entry.path === 'completion') return ['bash', 'zsh', 'fish'].map((value) => ({ value }))
  return positional?.complete ? await dynamicValues(positional.complete, words, context) : []
}

function commandIn(words: readonly string[], commands: readonly CommandEntry[]) {
  for (const depth of [3, 2, 1]) {
    const entry = commands.find(({ path }) => path === words.slice(0, depth).join(' '))
    if (entry && words.length >= depth) return { entry, depth }
  }
  return { entry: undefined, depth: 0 }
}

/** The words that may follow those of an incomplete command. */
function nextWords(before: readonly string[], commands: readonly CommandEntry[]): readonly Candidate[] {
  const prefix = before.map((word) => `${word} `).join('')
  const next = new Map<string, string>()
  for (const { path, summary } of commands.filter((candidate) => candidate.path.startsWith(prefix))) {
    const [word = ''] = path.slice(prefix.length).split(' ')
    next.set(word, path === `${prefix}${word}` ? summary : (next.get(word) ?? `Commands for ${word}`))
  }
  return [...next].map(([value, summary]) => ({ value, summary }))
}

/** The option whose value is being written. */
function openOption(before: readonly string[], options: Readonly<Record<string, Option>>): Option | undefined {
  const last = before.at(-1)
  return takesValue(last, options) ? optionOf(last, options) : undefined
}

function takesValue(word: string | undefined, options: Readonly<Record<string, Option>>): boolean {
  return optionOf(word, options)?.type === 'text'
}

function optionOf(word: string | undefined, options: Readonly<Record<string, Option>>): Option | undefined {
  if (word?.startsWith('--')) return options[word.slice(2)]
  return word?.startsWith('-') ? Object.values(options).find(({ short }) => short === word.slice(1)) : undefined
}

async function valuesOf(option: Option, words: readonly string[], context: Context): Promise<readonly Candidate[]> {
  if (option.choices) return option.choices.map((value) => ({ value }))
  return option.complete ? await dynamicValues(option.complete, words, context) : []
}

async function dynamicValues(
  kind: Completion,
  words: readonly string[],
  context: Context,
): Promise<readonly Candidate[]> {
  switch (kind) {
    case 'file':
    case 'folder':
      return [{ value: `:${kind}` }]
    case 'agent': {
      const [{ recentAgents }, { readLogins }] = await Promise.all([
        import('../cards/card-cache.ts'),
        import('../token-store.ts'),
      ])
      const agents = [...new Set([...recentAgents(), ...Object.keys(readLogins())])]
      const { agentKey } = await import('../agent-reference.ts')
      // A user who writes a host gets hosts, where they lead to the same agent.
      const isHost = /^[\w.-]/.test(words.at(-1) ?? '') && !/^https?:/.test(words.at(-1) ?? '')
      const hosts = isHost ? agents.map((url) => url.replace(/^https?:\/\//, '')) : []
      return [...agents, ...hosts.filter((host, index) => agentKey(host) === agents[index])].map((value) => ({
        value,
        summary: 'used before',
      }))
    }
    case 'task':
    case 'context':
      return await tasksOf(kind, words, context)
  }
}

/** Asks the agent on the line. A shell must not wait long, and shows no errors. */
async function tasksOf(
  kind: 'task' | 'context',
  words: readonly string[],
  context: Context,
): Promise<readonly Candidate[]> {
  const at = words.findIndex((word) => word === '-a' || word === '--agent-card')
  const reference = at === -1 ? undefined : words[at + 1]
  const [{ readSettings }, { openAgent }, { stateName }] = await Promise.all([
    import('../settings.ts'),
    import('../agent.ts'),
    import('../render.ts'),
  ])
  const settings = readSettings(
    { ...agentOptions, ...globalOptions },
    reference === undefined ? new Map() : new Map([['agent-card', [reference]]]),
  )
  const signal = AbortSignal.timeout(context.settings.duration('timeout') ?? dynamicTimeout)
  try {
    const { client, call } = await openAgent({ ...context, settings, signal })
    const candidates: Candidate[] = []
    for await (const task of client.listTasks({ pageSize: 20 }, call)) {
      const summary = `${stateName(task)} ${task.status.timestamp ?? ''}`.trim()
      const value = kind === 'task' ? task.id : task.contextId
      // Not an option in disguise.
      if (!value.startsWith('-')) candidates.push({ value, summary })
      if (candidates.length >= 20) break
    }
    return kind === 'task' ? candidates : [...new Map(candidates.map((each) => [each.value, each])).values()]
  } catch {
    return []
  }
}

const bash = `_parley() {
  local IFS=$'\\n' line
  COMPREPLY=()
  local current="\${COMP_WORDS[COMP_CWORD]}"
  # bash splits words at colons, which addresses contain.
  if declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref -n : -w COMP_WORDS_JOINED -c current
    local words=("\${COMP_WORDS_JOINED[@]:1}")
  else
    local words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  fi
  while read -r line; do
    case "$line" in
      :file*) COMPREPLY+=($(compgen -f -- "$current")); compopt -o filenames 2>/dev/null ;;
      :folder*) COMPREPLY+=($(compgen -d -- "$current")); compopt -o filenames 2>/dev/null ;;
      *) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done < <(parley __complete -- "\${words[@]}" 2>/dev/null)
  if declare -F __ltrim_colon_completions >/dev/null; then __ltrim_colon_completions "$current"; fi
}
complete -F _parley parley parley-a2a`

const zsh = `#compdef parley parley-a2a
_parley() {
  local -a candidates
  local line
  for line in "\${(@f)$(parley __complete -- "\${words[@]:1:$((CURRENT - 1))}" 2>/dev/null)}"; do
    case "$line" in
      :file*) _files; return ;;
      :folder*) _files -/; return ;;
      ?*) candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
    esac
  done
  _describe 'parley' candidates
}
compdef _parley parley parley-a2a`

const fish = `function __parley_complete
  set -l words (commandline -opc) (commandline -ct)
  for line in (parley __complete -- $words[2..-1] 2>/dev/null)
    switch $line
      case ':file*'
        __fish_complete_path (commandline -ct)
      case ':folder*'
        __fish_complete_directories (commandline -ct)
      case '*'
        echo $line
    end
  end
end
complete -c parley -f -a '(__parley_complete)'
complete -c parley-a2a -f -a '(__parley_complete)'`

const scripts: Readonly<Record<string, string>> = { bash, zsh, fish }
