import { agentOptions, type Command, type CommandEntry, globalOptions, type Option } from './command.ts'
import { type Style, wrap } from './output.ts'
import { variableOf } from './settings.ts'

/** The widest help; narrower terminals get narrower help. */
const maxWidth = 100

/** The list of all commands, where those that share a word are one line, or of those below a word. */
export function commandList(all: readonly CommandEntry[], style: Style): string {
  const visible = all.filter(({ isHidden }) => !isHidden)
  const words = new Set(visible.map(({ path }) => firstWord(path)))
  const entries = words.size === 1 ? visible : familiesOf(visible)
  const groups = [...new Set(entries.map(({ group }) => group))]
  const width = Math.max(...entries.map(({ path }) => path.length))
  const lines = groups.flatMap((group) => [
    '',
    style(`${group}:`, 'bold'),
    ...entries
      .filter((entry) => entry.group === group)
      .flatMap(({ path, summary }) => columns(path, summary, width, style)),
  ])
  const [only] = words.size === 1 ? words : []
  return [
    'Call, check and serve agents that speak A2A.',
    '',
    `${style('Usage:', 'bold')} parley ${only === undefined ? '' : `${only} `}<command> [options]`,
    ...lines,
    '',
    'See parley <command> --help for its options and examples.',
  ].join('\n')
}

function firstWord(path: string): string {
  return path.split(' ')[0] ?? ''
}

/** One entry for all commands of a word, such as those of `task`. A word with one command keeps it. */
function familiesOf(entries: readonly CommandEntry[]): readonly Pick<CommandEntry, 'path' | 'summary' | 'group'>[] {
  const families = [...Map.groupBy(entries, ({ path }) => firstWord(path))]
  return families.flatMap(([word, own]) => {
    const [first] = own
    if (!first || own.length === 1) return own
    return [{ path: `${word} …`, group: first.group, summary: familySummaries[word] ?? first.summary }]
  })
}

const familySummaries: Readonly<Record<string, string>> = {
  task: 'Get, list, cancel and follow your tasks',
  db: 'Back up, check, measure and migrate task logs',
  operator: 'Tasks, events, webhooks of a running server',
  keys: 'Create keys',
  registry: 'Serve, list and search a registry of agents',
  mesh: 'Keys and calls of mesh peers',
  auth: 'Log in to agents, log out, show logins',
  config: 'Show and store settings',
}

/** The help of one command. */
export function commandHelp({ path, summary }: CommandEntry, command: Command, style: Style): string {
  const { positionals = [], options = {}, examples = [], description } = command
  const usage = positionals.map(({ name, optional, multiple }) => {
    const word = `<${name}>${multiple ? '…' : ''}`
    return optional ? `[${word}]` : word
  })
  const own = Object.entries(options)
  const global = Object.entries(globalOptions).filter(([name]) => !(name in options))
  const hasSecret = own.some(([, { secret }]) => secret)
  const longest = Math.max(...[...own, ...global].map(([name, option]) => optionLabel(name, option).length))
  const width = Math.min(lineWidth() < 80 ? 16 : 30, longest)
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : ['', style(title, 'bold'), ...lines]
  const optionLines = (list: readonly (readonly [string, Option])[]) =>
    list.flatMap(([name, option]) => columns(optionLabel(name, option), describeOption(option), width, style))
  return [
    ...wrap(`${summary}.`, lineWidth()),
    ...(description === undefined ? [] : ['', ...description.split('\n').flatMap((text) => wrap(text, lineWidth()))]),
    '',
    ...wrap(`${style('Usage:', 'bold')} parley ${[path, ...usage].join(' ')} [options]`, lineWidth()),
    ...section(
      'Arguments:',
      positionals.flatMap(({ name, summary }) => columns(`<${name}>`, summary, width, style)),
    ),
    ...section('Options:', optionLines(own.filter(([name]) => !(name in agentOptions)))),
    ...section('Agent and connection:', optionLines(own.filter(([name]) => name in agentOptions))),
    ...section('Options of every command:', optionLines(global)),
    ...section(
      'Examples:',
      examples.flatMap(({ line, summary }, index) => [
        ...(index > 0 ? [''] : []),
        ...wrap(`# ${summary}`, lineWidth() - 2).map((text) => `  ${style(text, 'dim')}`),
        ...continued(line),
      ]),
    ),
    ...section(
      'Environment:',
      wrap(environmentText([...own, ...global], hasSecret), lineWidth() - 2).map((text) => `  ${text}`),
    ),
  ].join('\n')
}

export function optionLabel(name: string, { short, value, type, aliases = [] }: Option): string {
  const names = [...(short === undefined ? [] : [`-${short}`]), `--${name}`, ...aliases.map((alias) => `--${alias}`)]
  return `${names.join(', ')}${type === 'text' ? ` <${value ?? 'value'}>` : ''}`
}

export function describeOption({ summary, default: standard, choices, value }: Option): string {
  const listed = choices && value !== choices.join('|') ? ` One of ${choices.join(', ')}.` : ''
  return `${summary}${listed}${standard === undefined ? '' : ` (default: ${standard})`}`
}

function environmentText(options: readonly (readonly [string, Option])[], hasSecret: boolean): string {
  const [example = 'output'] = options.flatMap(([name, { onlyFlag }]) => (onlyFlag ? [] : [name]))
  const exposure = hasSecret
    ? ' Credentials in options are visible to other processes of this machine and stay in the history of the shell: prefer the environment, a settings file, or parley auth login.'
    : ''
  return `Options that are settings also have a variable, such as ${variableOf(example)} for --${example}. A .env file in this folder or above, or in ~/.config/a2a-cli, can set the same names.${exposure}`
}

/** A long command on several lines, as a shell reads it. */
function continued(line: string): readonly string[] {
  const lines = line.length > lineWidth() - 2 ? wrap(line, lineWidth() - 6) : [line]
  return lines.map((text, index) => `${index === 0 ? '  ' : '    '}${text}${index < lines.length - 1 ? ' \\' : ''}`)
}

function columns(label: string, text: string, width: number, style: Style): readonly string[] {
  const indent = ' '.repeat(width + 4)
  const [first = '', ...rest] = wrap(text, Math.max(30, lineWidth() - width - 4))
  const name = `  ${style(label, 'cyan')}`
  const head =
    label.length > width ? [name, `${indent}${first}`] : [`${name}${' '.repeat(width - label.length + 2)}${first}`]
  return [...head, ...rest.map((line) => `${indent}${line}`)]
}

/** A pager reads the help from a pipe, but shows it on the terminal that stderr still is. */
function lineWidth(): number {
  return Math.min(maxWidth, process.stdout.columns ?? process.stderr.columns ?? maxWidth)
}
