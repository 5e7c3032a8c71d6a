import { agentOptions, type Command, type CommandEntry, globalOptions, type Option } from './command.ts'
import { type Style, wrap } from './output.ts'
import { variableOf } from './settings.ts'

/** The widest help; narrower terminals get narrower help. */
const maxWidth = 100

/** The list of all commands, or of those below a word. */
export function commandList(all: readonly CommandEntry[], style: Style): string {
  const entries = all.filter(({ isHidden }) => !isHidden)
  const groups = [...new Set(entries.map(({ group }) => group))]
  const width = Math.max(...entries.map(({ path }) => path.length))
  const lines = groups.flatMap((group) => [
    '',
    style(`${group}:`, 'bold'),
    ...entries
      .filter((entry) => entry.group === group)
      .flatMap(({ path, summary }) => columns(path, summary, width, style)),
  ])
  return [
    'Call, check and serve agents that speak A2A.',
    '',
    `${style('Usage:', 'bold')} parley <command> [options]`,
    ...lines,
    '',
    'See parley <command> --help for its options and examples.',
  ].join('\n')
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
  const width = Math.min(30, Math.max(...[...own, ...global].map(([name, option]) => optionLabel(name, option).length)))
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : ['', style(title, 'bold'), ...lines]
  const optionLines = (list: readonly (readonly [string, Option])[]) =>
    list.flatMap(([name, option]) => columns(optionLabel(name, option), describeOption(option), width, style))
  return [
    `${summary}.`,
    ...(description === undefined ? [] : ['', ...description.split('\n').flatMap((text) => wrap(text, lineWidth()))]),
    '',
    `${style('Usage:', 'bold')} parley ${[path, ...usage].join(' ')} [options]`,
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
        `  ${style(`# ${summary}`, 'dim')}`,
        `  ${line}`,
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
