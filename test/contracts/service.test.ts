import { describe, onTestFinished } from 'vitest'
import { agent } from '../../src/core/agent/agent.ts'
import type { AgentFunction } from '../../src/core/agent/agent-function.ts'
import { connect } from '../../src/core/client/connect.ts'
import type { Binding } from '../../src/core/dialects/dialect.ts'
import type { DialectName } from '../../src/core/dialects/versions.ts'
import { grpc } from '../../src/core/node/grpc-client.ts'
import { createHandler } from '../../src/core/server/handler.ts'
import { createTestRuntime } from '../support/agents/test-runtime.ts'
import { silentLogger } from '../support/logger.ts'
import { anonymousListsAll } from '../support/servers/local-handler.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import type { ServiceContract } from './service/contract.ts'
import { serviceContract } from './service.ts'

/** A client with one dialect and binding, connected to the agent without a socket. */
function over(dialect: DialectName, binding: Binding): ServiceContract['open'] {
  return async (run: AgentFunction) => {
    const handler = createHandler(agent({ name: 'Test', inputModes: ['*/*'] }, run), {
      auth: anonymousListsAll,
      logger: silentLogger,
      turns: { cancelGrace: 50 },
    })
    onTestFinished(() => handler.drain(0))
    const { service } = await connect(handler, { dialects: [dialect], bindings: [binding] })
    return service
  }
}

/** A gRPC client, which needs a port. */
function overGrpc(dialect: DialectName): ServiceContract['open'] {
  return async (run: AgentFunction) => {
    const { server } = await startTestServer(run, { grpc: true, inputModes: 'unchecked' })
    const transport = grpc({ loopback: 'allow' })
    onTestFinished(() => transport.close())
    const { service } = await connect(server.url, { dialects: [dialect], bindings: [transport] })
    return service
  }
}

const newest = { endedTaskError: 'unsupported-operation' } as const
const older = { ...newest, lateSubscription: 'the task' } as const
const oldest = {
  lateSubscription: 'the task',
  hasMessages: false,
  startsWithTask: false,
  canReturnImmediately: false,
  canList: false,
  canRepeat: false,
  canResume: false,
  isComplete: false,
} as const

const services: readonly (readonly [string, ServiceContract])[] = [
  [
    'runtime',
    {
      async open(run) {
        const { service, drain } = createTestRuntime(run, { cancelGrace: 50 })
        onTestFinished(() => drain(0))
        return service
      },
    },
  ],
  ['1.0 over JSON-RPC', { open: over('v1.0', 'JSONRPC'), ...newest }],
  ['1.0 over REST', { open: over('v1.0', 'HTTP+JSON'), ...newest }],
  ['1.0 over gRPC', { open: overGrpc('v1.0'), ...newest }],
  ['0.3 over gRPC', { open: overGrpc('v0.3-proto'), ...older, canList: false, hasOneCard: true }],
  ['0.3 over JSON-RPC', { open: over('v0.3', 'JSONRPC'), ...older }],
  ['0.3 over REST', { open: over('v0.3-proto', 'HTTP+JSON'), ...older }],
  ['0.3 over REST with JSON-RPC objects', { open: over('v0.3', 'HTTP+JSON'), ...older }],
  ['0.2 over JSON-RPC', { open: over('v0.2', 'JSONRPC'), ...older, canList: false }],
  ['0.1 over JSON-RPC', { open: over('v0.1', 'JSONRPC'), ...oldest }],
]

describe.each(services)('service: %s', (_, contract) => serviceContract(contract))
