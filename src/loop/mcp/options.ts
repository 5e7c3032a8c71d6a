import type { Client, FetchLike, OAuthClientProvider, Tool } from '@modelcontextprotocol/client'
import {
  aFunction,
  anyOf,
  flag,
  integer,
  milliseconds,
  type OptionChecks,
  oneOf,
  text,
} from '../../core/base/options.ts'

/** A program that speaks MCP over its standard input and output. */
export interface McpCommand {
  readonly command: string
  readonly args?: readonly string[]
  /** Environment of the program, in addition to a few harmless variables. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Where its standard error goes. Defaults to `ignore`. */
  readonly stderr?: 'inherit' | 'ignore'
}

export interface McpUrl {
  readonly url: string | URL
  readonly headers?: Readonly<Record<string, string>>
  /** Defaults to the global `fetch`. Pass a guarded one if you do not control the URL. */
  readonly fetch?: FetchLike
  readonly authProvider?: OAuthClientProvider
}

/** A program to start, a Streamable HTTP URL, or a connected MCP client. */
export type McpAddress = McpCommand | McpUrl | Client

export function isClient(address: McpAddress): address is Client {
  return 'callTool' in address && typeof address.callTool === 'function'
}

export interface McpProblem {
  readonly type: 'unreachable' | 'bad-tool' | 'too-many-tools'
  readonly message: string
  readonly cause?: unknown
}

/** Options of `mcpTools`: the MCP servers, and how they are called. */
export interface McpToolsOptions {
  /** Prefix of the tool names, joined by `_`, so that tools of several servers do not clash. */
  readonly prefix?: string
  /** Selects tools. Defaults to all of them. */
  readonly include?: (tool: Tool) => boolean
  /** Whether the caller must approve each call, for all tools or for some. */
  readonly needsApproval?: boolean | ((tool: Tool) => boolean)
  /** Whether files that tools return (images, audio, resources) also become artifacts of the task. */
  readonly artifacts?: boolean
  /** Timeout of a call, in milliseconds. Defaults to the loop's options. */
  readonly timeout?: number
  /** Timeout for connecting, and for listing the tools, in milliseconds. Defaults to 30 seconds. */
  readonly connectTimeout?: number
  /** Whether tasks fail while the server cannot be reached. By default they continue with the last known tools. */
  readonly required?: boolean
  /** Maximum number of tools. Defaults to 256. */
  readonly maxTools?: number
  /** Maximum size of a message from the server, and so of a tool result, in bytes. Defaults to 10 MiB. */
  readonly maxMessage?: number
  /** `auto` tries the newest MCP version first, which costs a second process over stdio. Defaults to `auto` over HTTP only. */
  readonly negotiation?: 'auto' | 'legacy'
  /** Receives problems with the server or one of its tools. */
  readonly onProblem?: (problem: McpProblem) => void
}

export const mcpToolsChecks: OptionChecks<McpToolsOptions> = {
  prefix: text,
  include: aFunction,
  needsApproval: anyOf('true, false or a function', flag, aFunction),
  artifacts: flag,
  timeout: milliseconds({ min: 1 }),
  connectTimeout: milliseconds({ min: 1 }),
  required: flag,
  maxTools: integer({ min: 1 }),
  maxMessage: integer({ min: 1 }),
  negotiation: oneOf('auto', 'legacy'),
  onProblem: aFunction,
}
