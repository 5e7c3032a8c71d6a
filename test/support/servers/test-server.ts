import { onTestFinished } from 'vitest'
import { type AgentProfile, agent } from '../../../src/agent/agent.ts'
import type { AgentImplementation } from '../../../src/agent/agent-function.ts'
import { serve } from '../../../src/serve.ts'
import type { ServeOptions, Server } from '../../../src/serve-options.ts'
import { silentLogger } from '../logger.ts'
import { temporaryDirectory } from '../temporary-directory.ts'
import { createWireClient, type WireClient } from '../wire/wire-client.ts'

export interface TestServer {
  readonly server: Server
  readonly wire: WireClient
}

export type TestServerOptions = ServeOptions & { readonly profile?: AgentProfile }

/** Serves an agent on loopback with a durable log in a temporary directory. Closed after the test. */
export async function startTestServer(
  run: AgentImplementation | undefined,
  { profile = { name: 'Test' }, ...options }: TestServerOptions = {},
): Promise<TestServer> {
  const directory = await temporaryDirectory()
  const server = await serve(agent(profile, run), {
    port: 0,
    signals: false,
    directory,
    logger: silentLogger,
    drainDeadline: 0,
    ...options,
    turns: { cancelGrace: 50, ...options.turns },
  })
  onTestFinished(() => server.close())
  return { server, wire: createWireClient(server.url) }
}
