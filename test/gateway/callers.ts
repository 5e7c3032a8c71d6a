import * as client1_3 from '@a2a-js/sdk/client'
import * as client0_2 from 'a2a-sdk-0-2/client'
import * as client0_3_0 from 'a2a-sdk-0-3-first/client'
import * as client0_3_14 from 'a2a-sdk-0-3-last/client'
import type { Binding } from '../../src/core/dialects/dialect.ts'
import type { DialectName } from '../../src/core/dialects/versions.ts'
import type { StreamEvent } from '../../src/core/protocol/events.ts'
import { type Task, textOf } from '../../src/core/protocol/model.ts'
import { connect } from '../../src/entries/client.node.ts'
import { grpc } from '../../src/entries/node.ts'
import { describeEvent } from '../contracts/service/contract.ts'
import { sdkFactoryClient } from '../support/sdk/factory-client.ts'
import { unwrapResult, unwrapResults } from '../support/sdk/json-rpc-results.ts'
import { legacySdkClient } from '../support/sdk/legacy-client.ts'
import { legacyFactoryClient } from '../support/sdk/legacy-factory-client.ts'
import type { SdkClient, SdkEvent, SdkTask } from '../support/sdk/sdk-client.ts'

type A2AClient = new (origin: string) => InstanceType<typeof client0_2.A2AClient>

async function openLegacy(Client: A2AClient, origin: string): Promise<SdkClient> {
  const client = new Client(origin)
  await client.getAgentCard()
  return legacySdkClient(unwrapResults(client), {
    card: () => client.getAgentCard(),
    push: { get: (id) => unwrapResult(client.getTaskPushNotificationConfig({ id })) },
  })
}

/** Our own client, behind the interface of the others. */
async function openOwn(origin: string, dialect: DialectName, binding: Binding): Promise<SdkClient> {
  const transport = grpc({ loopback: 'allow' })
  const bindings = [binding === 'GRPC' ? transport : binding]
  const client = await connect(origin, { dialects: [dialect], bindings })
  const read = ({ id, status, artifacts, history }: Task): SdkTask => ({
    id,
    state: status.state,
    artifacts: artifacts.map(({ parts }) => parts.map((part) => ('text' in part ? part.text : ''))),
    history: history.map(textOf),
  })
  async function* events(stream: AsyncGenerator<StreamEvent>): AsyncGenerator<SdkEvent> {
    for await (const event of stream) {
      const taskId = event.type === 'task' ? event.task.id : event.type === 'message' ? undefined : event.taskId
      yield { taskId, words: describeEvent(event) }
    }
  }
  return {
    card: async () => client.card,
    async send(text, { taskId, blocking } = {}) {
      const reply = await client.send(text, {
        ...(taskId !== undefined && { taskId }),
        ...(blocking === false && { returnImmediately: true }),
      })
      return reply.task ? { task: read(reply.task) } : { message: reply.text }
    },
    stream: (text) => events(client.stream(text)),
    get: async (id) => read(await client.task(id).get()),
    cancel: async (id) => read(await client.task(id).cancel()),
    subscribe: (id) => events(client.task(id).subscribe()),
    push: {},
  }
}

const own = (dialect: DialectName, binding: Binding) =>
  [`our client in ${dialect} over ${binding}`, (origin: string) => openOwn(origin, dialect, binding)] as const

/** The clients that may call a gateway. */
export const callers: Readonly<Record<string, (origin: string) => Promise<SdkClient>>> = {
  'SDK 0.2.5': (origin) => openLegacy(client0_2.A2AClient, origin),
  'SDK 0.3.0': (origin) => openLegacy(client0_3_0.A2AClient as unknown as A2AClient, origin),
  'SDK 0.3.14': (origin) =>
    legacyFactoryClient(
      new client0_3_14.ClientFactory({ transports: [new client0_3_14.JsonRpcTransportFactory()] }),
      origin,
    ),
  'SDK 1.3.0': (origin) =>
    sdkFactoryClient(new client1_3.ClientFactory({ transports: [new client1_3.JsonRpcTransportFactory()] }), origin),
  'SDK 1.3.0 over REST': (origin) =>
    sdkFactoryClient(new client1_3.ClientFactory({ transports: [new client1_3.RestTransportFactory()] }), origin),
  ...Object.fromEntries([
    own('v0.1', 'JSONRPC'),
    own('v0.2', 'JSONRPC'),
    own('v0.3', 'JSONRPC'),
    own('v0.3-proto', 'HTTP+JSON'),
    own('v0.3-proto', 'GRPC'),
    own('v1.0', 'JSONRPC'),
    own('v1.0', 'HTTP+JSON'),
    own('v1.0', 'GRPC'),
  ]),
}
