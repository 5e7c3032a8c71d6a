import { onTestFinished } from 'vitest'
import { type AgentProfile, agent } from '../../src/agent/agent.ts'
import type { AgentImplementation } from '../../src/agent/agent-function.ts'
import { serve } from '../../src/serve.ts'
import type { ServeOptions, Server } from '../../src/serve-options.ts'
import { quiet } from './house.ts'
import { temporaryDirectory } from './temporary.ts'
import { connect, type Wire } from './wire.ts'

export interface Served {
  readonly server: Server
  readonly wire: Wire
}

export type ServedOptions = ServeOptions & { readonly profile?: AgentProfile }

/** An agent on a port of this machine, with a durable log in a folder of its own; closed after the test. */
export async function served(
  run: AgentImplementation | undefined,
  { profile = { name: 'Test' }, ...options }: ServedOptions = {},
): Promise<Served> {
  const directory = await temporaryDirectory()
  const server = await serve(agent(profile, run), {
    port: 0,
    signals: false,
    directory,
    logger: quiet,
    // What a test leaves running holds up nobody.
    drainDeadline: 0,
    cancelGrace: 50,
    ...options,
  })
  onTestFinished(() => server.close())
  return { server, wire: connect(server.url) }
}
