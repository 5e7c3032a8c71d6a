import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { type AgentProfile, agent } from '../../../src/core/agent/agent.ts'
import type { AgentImplementation } from '../../../src/core/agent/agent-function.ts'
import type { ServeOptions, Server } from '../../../src/serve/options.ts'
import { serve } from '../../../src/serve/serve.ts'
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
  options: TestServerOptions = {},
): Promise<TestServer> {
  const started = await start(await temporaryDirectory(), run, options)
  onTestFinished(() => started.server.close())
  return started
}

/** One server for all tests of a file or a `describe`, where it must be called. The tests keep their callers apart. */
export function shareTestServer(run: AgentImplementation | undefined, options: TestServerOptions = {}) {
  let directory: string
  let shared: TestServer
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'parley-'))
    shared = await start(directory, run, options)
  })
  afterAll(async () => {
    await shared.server.close()
    await rm(directory, { recursive: true, force: true })
  })
  return () => shared
}

async function start(
  directory: string,
  run: AgentImplementation | undefined,
  { profile = { name: 'Test' }, ...options }: TestServerOptions,
): Promise<TestServer> {
  const server = await serve(agent(profile, run), {
    port: 0,
    signals: false,
    directory,
    logger: silentLogger,
    drainDeadline: 0,
    ...options,
    turns: { cancelGrace: 50, ...options.turns },
  })
  return { server, wire: createWireClient(server.url) }
}
