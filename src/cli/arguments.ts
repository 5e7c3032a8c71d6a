import { parseArgs } from 'node:util'
import { closest } from '../core/base/closest.ts'
import { defined } from '../core/base/json.ts'
import type { Argument, Option, Positional } from './command.ts'
import { usageError } from './errors.ts'

/** The arguments of a command line. */
export interface Arguments {
  /** The values of each option that was given, by its name; flags have none. */
  readonly options: ReadonlyMap<string, readonly string[]>
  readonly positionals: readonly string[]
  readonly ordered: readonly Argument[]
}

export interface Syntax {
  /** The words of the command, for messages. */
  readonly path: string
  readonly options: Readonly<Record<string, Option>>
  readonly positionals: readonly Positional[]
}

/** Reads the arguments after the words of the command. Throws a usage error that names what is wrong. */
export function parseArguments(args: readonly string[], { path, options, positionals }: Syntax): Arguments {
  const names = optionNames(options)
  const parsed = new Map<string, string[]>()
  const ordered: Argument[] = []
  const words: string[] = []
  const config = parserOptions(options)
  for (const token of parseArgs({ args: [...args], options: config, strict: false, tokens: true }).tokens) {
    if (token.kind === 'option-terminator') continue
    if (token.kind === 'positional') {
      words.push(token.value)
      ordered.push({ name: undefined, value: token.value })
      continue
    }
    const name = names.get(token.name)
    const option = name === undefined ? undefined : options[name]
    if (name === undefined || !option) throw unknownOption(token.rawName, names, path)
    const value = checkValue({ ...token, value: token.value as string | undefined }, option, names)
    const values = parsed.get(name) ?? []
    if (values.length > 0 && !option.multiple && option.type === 'text') {
      throw usageError(`${token.rawName} was given twice, but takes one value.`)
    }
    parsed.set(name, value === undefined ? values : [...values, value])
    ordered.push({ name, value })
  }
  if (!parsed.has('help')) checkPositionals(words, positionals, path)
  return { options: parsed, positionals: words, ordered }
}

/** The words before the first option that take no value: the command is among them. */
export function leadingWords(
  args: readonly string[],
  options: Readonly<Record<string, Option>>,
): { readonly words: readonly string[]; readonly indexes: readonly number[] } {
  const { tokens } = parseArgs({ args: [...args], options: parserOptions(options), strict: false, tokens: true })
  const end = tokens.findIndex(({ kind }) => kind === 'option-terminator')
  const positionals = (end === -1 ? tokens : tokens.slice(0, end)).filter((token) => token.kind === 'positional')
  return { words: positionals.map(({ value }) => value), indexes: positionals.map(({ index }) => index) }
}

export function checkChoice(name: string, value: string, { choices }: Option): string {
  if (!choices) return value
  const choice = choices.find((candidate) => candidate.toLowerCase() === value.toLowerCase())
  if (choice !== undefined) return choice
  throw usageError(`${name}: expected one of ${choices.join(', ')}, got "${value}".`)
}

function parserOptions(options: Readonly<Record<string, Option>>) {
  return Object.fromEntries(
    Object.entries(options).flatMap(([name, { type, short, aliases = [] }]) =>
      [name, ...aliases].map((each) => [
        each,
        defined({
          type: type === 'flag' ? ('boolean' as const) : ('string' as const),
          multiple: true,
          short: short !== undefined && each === name ? short : undefined,
        }),
      ]),
    ),
  )
}

/** The name of each option by every name that it has. */
function optionNames(options: Readonly<Record<string, Option>>): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(options).flatMap(([name, { aliases = [] }]) => [name, ...aliases].map((n) => [n, name])),
  )
}

interface OptionToken {
  readonly rawName: string
  readonly value?: string | undefined
  readonly inlineValue?: boolean | undefined
}

function checkValue(
  { rawName, value, inlineValue }: OptionToken,
  option: Option,
  names: ReadonlyMap<string, string>,
): string | undefined {
  if (option.type === 'flag') {
    if (inlineValue) throw usageError(`${rawName} takes no value, got "${value}".`)
    return undefined
  }
  const isOption = !inlineValue && value !== undefined && value.startsWith('--') && names.has(value.slice(2))
  if (value === undefined || isOption) {
    throw usageError(`${rawName} needs a value${option.value === undefined ? '' : `: ${rawName} <${option.value}>`}.`)
  }
  return option.multiple ? value : checkChoice(rawName, value, option)
}

function unknownOption(rawName: string, names: ReadonlyMap<string, string>, path: string) {
  const near = closest(rawName.replace(/^-+/, ''), [...names.keys()])
  const advice = near === undefined ? `See parley ${path} --help.` : `Did you mean --${near}?`
  return usageError(`${rawName} is not an option of parley ${path}.`, advice)
}

function checkPositionals(words: readonly string[], positionals: readonly Positional[], path: string): void {
  const missing = positionals.find(({ optional }, index) => !optional && index >= words.length)
  if (missing) {
    throw usageError(`parley ${path} needs <${missing.name}>: ${missing.summary}`, `See parley ${path} --help.`)
  }
  const extra = words[positionals.length]
  if (extra !== undefined && !positionals.at(-1)?.multiple) {
    throw usageError(`parley ${path} does not expect "${extra}".`, `See parley ${path} --help.`)
  }
}
