import type { Client, FetchLike, OAuthClientProvider, Tool } from '@modelcontextprotocol/client'

/** Talked to over its standard input and output. */
export interface McpCommand {
  readonly command: string
  readonly args?: readonly string[]
  /** Beside a few harmless variables it gets only these. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Where its standard error output goes. To nobody by default. */
  readonly stderr?: 'inherit' | 'ignore'
}

export interface McpUrl {
  readonly url: string | URL
  readonly headers?: Readonly<Record<string, string>>
  /** The global one by default; a guarded one, if the address comes from somebody else. */
  readonly fetch?: FetchLike
  readonly authProvider?: OAuthClientProvider
}

/** Where the tools are: a program to start, an address of streamable HTTP, or a client of MCP that is connected. */
export type McpAddress = McpCommand | McpUrl | Client

export function isClient(address: McpAddress): address is Client {
  return 'callTool' in address && typeof address.callTool === 'function'
}

export interface McpProblem {
  readonly type: 'unreachable' | 'bad-tool' | 'too-many-tools'
  readonly message: string
  readonly cause?: unknown
}

export interface McpToolsOptions {
  /** Stands before the name of each tool, with `_` between, so that tools of several servers do not clash. */
  readonly prefix?: string
  /** Which tools are used. All by default. */
  readonly include?: (tool: Tool) => boolean
  /** Whether a person, the caller, must say yes before each call, of all tools or of some. */
  readonly needsApproval?: boolean | ((tool: Tool) => boolean)
  /** Whether files that tools give (images, audio, resources) are also artifacts of the task. */
  readonly artifacts?: boolean
  /** Milliseconds that a call may take. Of the options of the loop by default. */
  readonly timeout?: number
  /** Milliseconds until the server is connected, and until it has told its tools. 30 seconds by default. */
  readonly connectTimeout?: number
  /** Whether tasks fail while the server cannot be reached. By default they go on without what it does not tell. */
  readonly required?: boolean
  /** How many tools are used. 256 by default. */
  readonly maxTools?: number
  /** How many bytes a message of the server, and so the result of a tool, may have. 10 MiB by default. */
  readonly maxMessage?: number
  /** `auto` tries the newest version of MCP first; over stdio that costs a second process. `auto` over HTTP only. */
  readonly negotiation?: 'auto' | 'legacy'
  /** Told what is wrong with a server or one of its tools. */
  readonly onProblem?: (problem: McpProblem) => void
}
