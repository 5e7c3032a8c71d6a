import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { closest } from '../../core/base/closest.ts'
import { checkChoice } from '../arguments.ts'
import {
  agentOptions,
  type Command,
  clientOptions,
  globalOptions,
  type Option,
  type Setting,
  waitOptions,
} from '../command.ts'
import { usageError } from '../errors.ts'
import { cacheFolder, configFolder, variableOf, writeSetting } from '../settings.ts'
import { credentialsFile } from '../token-store.ts'

const options: Readonly<Record<string, Option>> = { ...agentOptions, ...clientOptions, ...waitOptions }

export const configShow: Command = {
  description:
    'Settings come from options, from A2ACLI_ variables, from the nearest .env file (or --config), from ~/.config/a2a-cli/.env, and from the defaults, in this order. In a file, the settings below a line [https://agent.example.com] apply to that agent only. The files in which parley keeps something are listed as well. Credentials are not shown.',
  options,
  examples: [
    { line: 'parley config show', summary: 'Show the settings of this folder' },
    { line: 'parley config show -a https://agent.example.com -o json', summary: 'Show those for one agent, as JSON' },
  ],
  async run({ settings, output }) {
    const rows = Object.entries({ ...options, ...globalOptions })
      .filter(([, { onlyFlag }]) => !onlyFlag)
      .map(([name, option]) => {
        const setting = settings.setting(name)
        return { name, value: shownValue(setting, option), source: sourceOf(setting) }
      })
    for (const { reason } of settings.unused) output.warn(reason)
    warnAboutReadableFiles(
      Object.keys(options).map((name) => [options[name]?.secret, settings.setting(name)]),
      output.warn,
    )
    const files = {
      settings: join(configFolder(), '.env'),
      logins: credentialsFile(),
      cards: join(cacheFolder(), 'cards.json'),
    }
    if (output.mode === 'json') {
      const values = rows.map(({ name, value, source }) => [name, { value, source }] as const)
      return output.document({ ...Object.fromEntries(values), files })
    }
    for (const { name, value, source } of rows) output.field(name, `${value ?? '(not set)'}  [${source}]`)
    for (const [name, path] of Object.entries(files)) {
      output.field(`file of ${name}`, `${path}${existsSync(path) ? '' : '  [none]'}`)
    }
  },
}

export const configSet: Command = {
  description:
    'Stores a setting for later commands in ~/.config/a2a-cli/.env. Without a value, the setting is removed. Credentials are stored by parley auth login.',
  positionals: [
    { name: 'name', summary: 'The setting, such as a2a-version.' },
    { name: 'value', summary: 'Its value.', optional: true },
  ],
  examples: [
    { line: 'parley config set a2a-version auto', summary: 'Also speak the versions below 1.0' },
    { line: 'parley config set agent-card localhost:4000', summary: 'Call this agent without -a' },
  ],
  async run({ positionals: [name = '', value], output }) {
    const option = settable[name]
    if (!option) {
      const near = closest(name, Object.keys(settable))
      throw usageError(
        `"${name}" is no setting.`,
        near === undefined ? 'See parley config show.' : `Did you mean ${near}?`,
      )
    }
    if (option.secret) throw usageError(`${name} is a credential.`, 'Store it by parley auth login.')
    if (name === 'insecure') throw usageError('insecure cannot be stored.', 'Pass --insecure for a call that needs it.')
    if (value !== undefined && option.type === 'text') checkChoice(name, value, option)
    const file = writeSetting(variableOf(name), value)
    if (output.mode === 'json') return output.document({ name, value: value ?? null, file })
    output.field(name, value ?? '(not set)')
    output.note(`Stored in ${file}.`)
  },
}

const settable: Readonly<Record<string, Option>> = Object.fromEntries(
  Object.entries({ ...options, ...globalOptions }).filter(([name, { onlyFlag }]) => !onlyFlag && name !== 'config'),
)

function shownValue(setting: Setting | undefined, { secret, type, default: standard }: Option): string | null {
  if (!setting) return standard ?? (type === 'flag' ? 'false' : null)
  if (secret) return '[redacted]'
  return setting.values.length === 0 ? 'true' : setting.values.join(', ')
}

function sourceOf(setting: Setting | undefined): string {
  if (!setting) return 'default'
  const { source } = setting
  switch (source.type) {
    case 'flag':
      return 'option'
    case 'environment':
      return source.variable
    case 'file':
      return source.section === undefined ? source.path : `${source.path} [${source.section}]`
    case 'default':
      return 'default'
  }
}

/** A file with credentials should be readable by its owner only. */
function warnAboutReadableFiles(
  settings: readonly (readonly [boolean | undefined, Setting | undefined])[],
  warn: (text: string) => void,
): void {
  const paths = settings.flatMap(([secret, setting]) =>
    secret && setting?.source.type === 'file' ? [setting.source.path] : [],
  )
  for (const path of new Set(paths)) {
    if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0) {
      warn(`${path} has credentials, and others can read it: chmod 600 ${path}`)
    }
  }
}
