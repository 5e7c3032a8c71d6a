import type { Agent } from '../core/agent/agent.ts'
import { defined } from '../core/base/json.ts'
import type { Logger } from '../core/base/logger.ts'
import { isThisMachine } from '../core/http/address-guard.ts'
import { createGuardedFetch } from '../core/node/guarded-fetch/guarded-fetch.ts'
import type { McpAgent } from '../loop/mcp/mcp-agent.ts'
import type { Content } from './content.ts'
import type { McpUpstreamOptions, NamedUpstream } from './options.ts'

/** An agent that runs in this process. */
export interface LocalUpstream {
  /** Undefined until it could be made. */
  agent(): Agent | undefined
  /** Resolves with whether the agent is another one now; never rejects. */
  refresh(signal: AbortSignal): Promise<boolean>
  failure(): string | undefined
  close(): void
}

/** An MCP server as an agent in this process. Loaded on first use: the MCP client is an optional dependency. */
export function createMcpUpstream(
  { name, options: { allow = [] } }: NamedUpstream,
  { url, headers, command = '', args, env, cwd }: McpUpstreamOptions,
  { logger, content }: { readonly logger: Logger; readonly content: Content | undefined },
): LocalUpstream {
  const guarded = url === undefined ? undefined : guardedFetch(url, allow)
  const address = url === undefined ? defined({ command, args, env, cwd }) : defined({ url, headers, fetch: guarded })
  let server: McpAgent | undefined
  let agent: Agent | undefined
  let failure: string | undefined

  async function open(): Promise<McpAgent> {
    const { mcpAgent } = await import('../loop/mcp/mcp-agent.ts')
    server ??= mcpAgent(address, {
      name,
      ...(content && { onResult: content.parts }),
      onProblem({ type, message }) {
        if (type !== 'unreachable')
          logger.warn({ agent: name, problem: message }, 'a tool of an MCP server is not used')
      },
    })
    return server
  }

  return {
    agent: () => agent,
    failure: () => failure,
    async refresh(signal) {
      try {
        const found = await (await open()).agent(signal)
        failure = undefined
        if (found === agent) return false
        agent = found
        return true
      } catch (error) {
        if (signal.aborted) return false
        const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
        const reason = cause instanceof Error ? cause.message : String(cause)
        if (reason !== failure) logger.warn({ agent: name, reason }, 'an MCP server cannot be reached')
        failure = reason
        return false
      }
    },
    close() {
      void server?.close().catch(() => {})
      guarded?.close()
    },
  }
}

/** Only the configured host is called, and redirects are not followed. */
function guardedFetch(url: string, allow: readonly string[]) {
  const target = new URL(url)
  const isLocal = isThisMachine(target)
  const host = target.hostname.replace(/^\[|\]$/g, '')
  return createGuardedFetch({
    loopback: isLocal ? 'allow' : 'refuse',
    allow: isLocal ? allow : [host, ...allow],
    redirects: 0,
  })
}
