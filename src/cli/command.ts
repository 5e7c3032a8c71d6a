import { protocolVersions } from '../core/dialects/versions.ts'
import type { Output } from './output.ts'

/** An option of a command, as the parser, the help, the completion and the settings use it. */
export interface Option {
  readonly type: 'flag' | 'text'
  readonly summary: string
  /** A single letter. */
  readonly short?: string
  /** The placeholder of the value in the help. */
  readonly value?: string
  /** Whether the option may be repeated. Its environment variable has the values separated by commas. */
  readonly multiple?: boolean
  readonly choices?: readonly string[]
  /** The value that applies without the option, as the help shows it. */
  readonly default?: string
  /** Other names of the option. */
  readonly aliases?: readonly string[]
  /** Whether the option can be set only on the command line. */
  readonly onlyFlag?: boolean
  /** Whether the value is a credential, which is never shown. */
  readonly secret?: boolean
  /** What the shell completes as the value. */
  readonly complete?: Completion
}

export type Completion = 'agent' | 'task' | 'context' | 'file' | 'folder'

export interface Positional {
  readonly name: string
  readonly summary: string
  readonly optional?: boolean
  readonly multiple?: boolean
  readonly complete?: Completion
}

export interface Example {
  readonly line: string
  readonly summary: string
}

/** A command: what it accepts, and what it does. */
export interface Command {
  /** Further paragraphs of the help. */
  readonly description?: string
  readonly positionals?: readonly Positional[]
  readonly options?: Readonly<Record<string, Option>>
  readonly examples?: readonly Example[]
  /** Resolves when the command is done. Throws a `CliError` or an `A2AError` if it fails. */
  run(context: Context): Promise<void>
}

/** A command by its words, with what the list of commands says about it. */
export interface CommandEntry {
  readonly path: string
  readonly summary: string
  readonly group: CommandGroup
  /** Whether the help leaves it out. */
  readonly isHidden?: boolean
  load(): Promise<Command>
}

export type CommandGroup = 'Talk to agents' | 'Check agents' | 'Serve and develop' | 'Operate' | 'Settings and help'

/** An option or a positional argument in the order of the command line; positional arguments have no name. */
export interface Argument {
  readonly name: string | undefined
  readonly value: string | undefined
}

/** Where a setting comes from, in the order of precedence. */
export type Source =
  | { readonly type: 'flag' }
  | { readonly type: 'environment'; readonly variable: string }
  | { readonly type: 'file'; readonly path: string; readonly section?: string }
  | { readonly type: 'default' }

export interface Setting {
  readonly values: readonly string[]
  readonly source: Source
}

/** The options of a command with everything that sets them: flags, environment, settings files. */
export interface Settings {
  text(name: string): string | undefined
  list(name: string): readonly string[]
  flag(name: string): boolean
  /** Milliseconds. */
  duration(name: string): number | undefined
  integer(name: string): number | undefined
  /** Where the setting comes from. Undefined if nothing sets it. */
  setting(name: string): Setting | undefined
  /** Credentials of the environment and of files that are not for this agent, and not used. */
  readonly unused: readonly { readonly reason: string; readonly isSurprising: boolean }[]
}

/** What a command gets to run. */
export interface Context {
  /** All commands, for the help and the completion. */
  readonly commands: readonly CommandEntry[]
  readonly settings: Settings
  readonly positionals: readonly string[]
  /** All arguments, in their order: some options refer to the one before. */
  readonly ordered: readonly Argument[]
  readonly output: Output
  /** Aborts on Ctrl-C, on SIGTERM, and when `--timeout` has passed. */
  readonly signal: AbortSignal
  /** Replaces what Ctrl-C does: it calls `handler` instead of ending the command. Returns a function that undoes it. */
  onInterrupt(handler: () => void): () => void
}

/** Options of every command. */
export const globalOptions: Readonly<Record<string, Option>> = {
  help: { type: 'flag', short: 'h', summary: 'Show the help of the command.', onlyFlag: true },
  version: { type: 'flag', short: 'v', summary: 'Show the version.', onlyFlag: true },
  output: {
    type: 'text',
    short: 'o',
    value: 'text|json',
    summary: 'Output as text, or as JSON for programs.',
    choices: ['text', 'json'],
    default: 'text',
  },
  config: { type: 'text', value: 'file', summary: 'Settings file, instead of the nearest .env.', complete: 'file' },
  verbose: { type: 'flag', summary: 'Say more on stderr, such as how the agent was found.', default: 'concise' },
  debug: { type: 'flag', summary: 'Show the requests and responses on stderr, without credentials.' },
  timeout: { type: 'text', value: 'time', summary: 'Stop after this time, such as 30, 500ms or 2m.', default: 'none' },
}

/** The registration of the user's client with an authorization server. */
export const clientOptions: Readonly<Record<string, Option>> = {
  'client-id': { type: 'text', value: 'id', summary: 'The id of the client at the authorization server.' },
  'client-secret': { type: 'text', value: 'secret', secret: true, summary: 'The secret of the client, if it has one.' },
}

/** Options of commands that call an agent. */
export const agentOptions: Readonly<Record<string, Option>> = {
  'agent-card': {
    type: 'text',
    short: 'a',
    value: 'ref',
    summary: 'The agent: a host, a URL, a card file, or a catalog entry (catalog-url#name).',
    complete: 'agent',
  },
  transport: {
    type: 'text',
    value: 'name',
    multiple: true,
    summary: 'Preferred transport: JSONRPC, HTTP+JSON or GRPC. Repeat it for an order.',
    choices: ['JSONRPC', 'HTTP+JSON', 'GRPC'],
    default: 'the order of the card',
  },
  'a2a-version': {
    type: 'text',
    value: 'x.y',
    summary: 'Protocol version to speak; auto speaks all. Versions below 1.0 are used only with one of these.',
    choices: [...protocolVersions, 'auto'],
    default: 'the highest common 1.x',
  },
  legacy: { type: 'flag', summary: 'Also speak A2A 0.1, 0.2 and 0.3.' },
  extension: { type: 'text', value: 'uri', multiple: true, summary: 'Activate an extension of the protocol.' },
  'svc-param': { type: 'text', value: 'key:value', multiple: true, summary: 'Send a service parameter (a header).' },
  bearer: { type: 'text', value: 'token', secret: true, summary: 'Bearer token. Prefer A2ACLI_BEARER: see below.' },
  'api-key': { type: 'text', value: 'key', secret: true, summary: 'API key, sent where the card says.' },
  cert: { type: 'text', value: 'file', summary: 'Client certificate for mutual TLS (PEM).', complete: 'file' },
  key: { type: 'text', value: 'file', summary: 'Private key of the client certificate (PEM).', complete: 'file' },
  'ca-cert': { type: 'text', value: 'file', summary: 'Certificate authority to trust (PEM).', complete: 'file' },
  insecure: { type: 'flag', summary: 'Do not verify TLS certificates. Prints a warning.', default: 'verify' },
  'allow-host': {
    type: 'text',
    value: 'host',
    multiple: true,
    summary: 'Allow calls to a private address that the card names.',
  },
}

/** Options of commands that wait for a task. */
export const waitOptions: Readonly<Record<string, Option>> = {
  'poll-interval': {
    type: 'text',
    value: 'time',
    summary: 'Time between two polls of a task; it grows while nothing changes.',
    default: '2s',
  },
}
