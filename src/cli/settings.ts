import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { agentKey } from './agent-reference.ts'
import { checkChoice } from './arguments.ts'
import type { Option, Setting, Settings, Source } from './command.ts'
import { usageError } from './errors.ts'

/** Folders of the user, by the XDG Base Directory conventions. */
export const configFolder = () => join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'a2a-cli')
export const cacheFolder = () => join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'a2a-cli')

/** Stores a setting in the file of the user, before its first section. Returns the path of the file. */
export function writeSetting(variable: string, value: string | undefined): string {
  const path = join(configFolder(), '.env')
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const start = text.search(/^\s*\[/m)
  const [general, sections] = start === -1 ? [text, ''] : [text.slice(0, start), text.slice(start)]
  const kept = general.split('\n').filter((line) => line.trim() !== '' && !line.trim().startsWith(`${variable}=`))
  const lines = value === undefined ? kept : [...kept, `${variable}=${JSON.stringify(value)}`]
  mkdirSync(configFolder(), { recursive: true, mode: 0o700 })
  writeFileSync(`${path}.new`, `${[...lines, sections].join('\n').trimEnd()}\n`, { mode: 0o600 })
  renameSync(`${path}.new`, path)
  return path
}

/** The environment variable of an option. */
export function variableOf(name: string): string {
  return `A2ACLI_${name.toUpperCase().replaceAll('-', '_')}`
}

/** `parsed` are the options of the command line. */
export function readSettings(
  options: Readonly<Record<string, Option>>,
  parsed: ReadonlyMap<string, readonly string[]>,
  environment: NodeJS.ProcessEnv = process.env,
): Settings {
  const explicit = (name: string): Setting | undefined => {
    const values = parsed.get(name)
    if (values) return { values, source: { type: 'flag' } }
    const option = options[name]
    const variable = variableOf(name)
    const value = environment[variable]
    if (!option || option.onlyFlag || value === undefined || value === '') return undefined
    return { values: split(value, option), source: { type: 'environment', variable } }
  }
  const files = settingsFiles(explicit('config')?.values[0])
  const agent = explicit('agent-card') ?? fromFiles('agent-card', options, files, undefined)
  const unused: Settings['unused'][number][] = []
  /** A folder that the user enters must not get the user's credentials sent to an agent of its choice. */
  const isFoldersAgent = files.some(
    ({ path, isFolders }) => isFolders && agent?.source.type === 'file' && agent.source.path === path,
  )
  const explicitFor = (name: string, option: Option): Setting | undefined => {
    const setting = explicit(name)
    if (!option.secret || !isFoldersAgent || setting?.source.type !== 'environment') return setting
    const reason = `${setting.source.variable} is not used: the .env file of a folder names the agent. Name it by --agent-card to send it there.`
    unused.push({ reason, isSurprising: true })
    return undefined
  }
  const onUnused = (name: string) => (path: string) =>
    void unused.push({ reason: `${name} in ${path} is not used: it is for another agent.`, isSurprising: false })
  const all = new Map<string, Setting>()
  for (const [name, option] of Object.entries(options)) {
    const setting =
      name === 'agent-card'
        ? agent
        : (explicitFor(name, option) ?? fromFiles(name, options, files, agent, onUnused(name)))
    if (setting)
      all.set(name, { ...setting, values: setting.values.map((value) => checked(name, value, option, setting)) })
  }
  const first = (name: string) => {
    if (!options[name]) throw new Error(`${name} is not an option of this command.`)
    return all.get(name)?.values[0]
  }
  return {
    unused,
    text: first,
    list: (name) => all.get(name)?.values ?? [],
    flag(name) {
      const setting = all.get(name)
      if (!options[name]) throw new Error(`${name} is not an option of this command.`)
      return setting !== undefined && (setting.source.type === 'flag' || isTrue(name, setting.values[0] ?? ''))
    },
    duration(name) {
      const value = first(name)
      return value === undefined ? undefined : readDuration(name, value)
    },
    integer(name) {
      const value = first(name)
      if (value === undefined) return undefined
      if (!/^\d{1,9}$/.test(value)) throw usageError(`--${name}: expected a whole number, got "${value}".`)
      return Number(value)
    },
    setting: (name) => all.get(name),
  }
}

/** `30` and `30s` are seconds; `500ms`, `2m` and `1h` have other units. */
function readDuration(name: string, text: string): number {
  const [, amount = '', unit = 's'] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)?$/.exec(text.trim()) ?? []
  const milliseconds = Number(amount) * { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }[unit as 'ms' | 's' | 'm' | 'h']
  if (amount === '' || milliseconds > 2 ** 31 - 1) {
    throw usageError(`--${name}: expected a time such as 30, 500ms or 2m, got "${text}".`)
  }
  return milliseconds
}

interface SettingsFile {
  readonly path: string
  /** Whether it was found in the working folder or above: whoever wrote the folder may have written it. */
  readonly isFolders?: true
  /** The settings of each section. Those before the first section have the name ''. */
  readonly sections: ReadonlyMap<string, Readonly<Record<string, string | undefined>>>
}

/** The settings files, those with precedence first. */
function settingsFiles(config: string | undefined): readonly SettingsFile[] {
  if (config !== undefined && !existsSync(config)) throw usageError(`--config: there is no file ${config}.`)
  const local = config === undefined ? nearestEnvFile(process.cwd()) : readSettingsFile(resolve(config))
  const user = readSettingsFile(join(configFolder(), '.env'))
  return [local, user].filter((file) => file !== undefined)
}

/** The nearest `.env` with settings of this program, from the working folder upwards. */
function nearestEnvFile(folder: string): SettingsFile | undefined {
  const file = readSettingsFile(join(folder, '.env'))
  if (file) return { ...file, isFolders: true }
  const parent = dirname(folder)
  return parent === folder ? undefined : nearestEnvFile(parent)
}

function readSettingsFile(path: string): SettingsFile | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
  if (!text.includes('A2ACLI_')) return undefined
  const sections = new Map<string, Readonly<Record<string, string | undefined>>>()
  const [general = '', ...others] = text.split(/^\s*\[/m)
  sections.set('', parseEnv(general))
  for (const section of others) {
    const end = section.indexOf(']')
    if (end > 0) sections.set(section.slice(0, end).trim(), parseEnv(section.slice(end + 1)))
  }
  return { path, sections }
}

/**
 * A section applies to its agent only. A credential before the first section goes only to an agent that the same file
 * names, or to one that the user names for this call while the file names none: the settings of one place must not send
 * the credentials of another to an agent of its choice.
 */
function fromFiles(
  name: string,
  options: Readonly<Record<string, Option>>,
  files: readonly SettingsFile[],
  agent: Setting | undefined,
  onUnused: (path: string) => void = () => {},
): Setting | undefined {
  const option = options[name]
  if (!option || option.onlyFlag || name === 'config') return undefined
  const variable = variableOf(name)
  const key = agent?.values[0] === undefined ? undefined : agentKey(agent.values[0])
  for (const { path, sections, isFolders } of files) {
    if (name === 'insecure' && isFolders) refuseInsecure(path, sections)
    for (const [section, values] of sections) {
      const value = values[variable]
      if (section !== '' && agentKey(section) === key && value) {
        return { values: split(value, option), source: { type: 'file', path, section } }
      }
    }
    const general = sections.get('') ?? {}
    const value = general[variable]
    if (!value) continue
    const own = general[variableOf('agent-card')]
    const isForAgent =
      !option.secret || (own ? agentKey(own) === key : agent !== undefined && agent.source.type !== 'file')
    if (isForAgent) return { values: split(value, option), source: { type: 'file', path } }
    onUnused(path)
  }
  return undefined
}

function refuseInsecure(path: string, sections: SettingsFile['sections']): void {
  if (![...sections.values()].some((values) => values[variableOf('insecure')])) return
  throw usageError(
    `${variableOf('insecure')} in ${path}: a folder cannot switch off the verification of certificates.`,
    'Remove the line, and pass --insecure for a call that needs it.',
  )
}

function split(value: string, { multiple }: Option): readonly string[] {
  return multiple
    ? value
        .split(',')
        .map((item) => item.trim())
        .filter(Boolean)
    : [value]
}

function checked(name: string, value: string, option: Option, { source }: Setting): string {
  return option.multiple || option.type === 'flag' ? value : checkChoice(describeSource(name, source), value, option)
}

/** The setting as its source calls it, for messages. */
function describeSource(name: string, source: Source): string {
  switch (source.type) {
    case 'flag':
    case 'default':
      return `--${name}`
    case 'environment':
      return source.variable
    case 'file':
      return `${variableOf(name)} in ${source.path}`
  }
}

function isTrue(name: string, value: string): boolean {
  if (/^(1|true|yes|on)$/i.test(value)) return true
  if (/^(0|false|no|off)$/i.test(value)) return false
  throw usageError(`${variableOf(name)}: expected true or false, got "${value}".`)
}
