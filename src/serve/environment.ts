import { defined } from '../core/base/json.ts'
import { httpUrl, integer, type OptionCheck, text } from '../core/base/options.ts'
import type { ServeOptions } from './options.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** What operators set in the environment of `serve`. Options of the program take precedence. */
export interface EnvironmentOptions {
  readonly options: ServeOptions
  /** The PostgreSQL database for the task logs, unless the program passes its own `log` or `directory`. */
  readonly databaseUrl: string | undefined
}

/** Adds the settings of the environment to the options of the program. An empty variable counts as not set. */
export function withEnvironment(options: ServeOptions, environment: Environment): EnvironmentOptions {
  const read = <T>(name: string, check: OptionCheck, decode: (value: string) => T): T | undefined => {
    const value = environment[name]
    if (value === undefined || value === '') return undefined
    const decoded = decode(value)
    // The text as it is set says more than NaN.
    check(typeof decoded === 'number' && Number.isNaN(decoded) ? value : decoded, `The environment variable ${name}`)
    return decoded
  }
  const port = options.port ?? read('PORT', portNumber, readInteger)
  const host = options.host ?? read('HOST', text, asIs)
  const publicUrl = options.publicUrl ?? read('PARLEY_PUBLIC_URL', publicUrlCheck, asIs)
  const isStoreChosen = options.log !== undefined || options.directory !== undefined
  const databaseUrl = isStoreChosen ? undefined : read('PARLEY_DATABASE_URL', postgresUrl, asIs)
  const directory = options.directory ?? read('PARLEY_DIRECTORY', text, asIs)
  return {
    options: { ...options, ...defined({ port, host, publicUrl, directory }) },
    databaseUrl,
  }
}

const portNumber = integer({ min: 0, max: 65_535 })

/** The URL is part of cards, which everybody reads. The error does not repeat the value, which has a password. */
const publicUrlCheck: OptionCheck = (value, name) => {
  httpUrl(value, name)
  const { username, password } = new URL(`${value}`)
  if (username === '' && password === '') return
  throw new TypeError(
    `${name}: expected a URL without a user name and a password, since cards show it to every caller.`,
  )
}

/** The error does not repeat the value, which has a password. */
const postgresUrl: OptionCheck = (value, name) => {
  if (typeof value === 'string' && /^postgres(?:ql)?:\/\/\S/.test(value) && URL.canParse(value)) return
  throw new TypeError(`${name}: expected a URL such as "postgres://user:password@db.example.com:5432/parley".`)
}

function readInteger(value: string): number {
  return /^\d+$/.test(value) ? Number(value) : Number.NaN
}

function asIs(value: string): string {
  return value
}
