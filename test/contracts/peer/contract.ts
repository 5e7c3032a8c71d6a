import { count, profile } from '../../support/agents/interop-agent.ts'
import { until } from '../../support/async.ts'
import { type SdkClient, type SdkEvent, taskOf } from '../../support/sdk/sdk-client.ts'
import { startTestServer, type TestServerOptions } from '../../support/servers/test-server.ts'

/** What there is to know of a client before it is tried. */
export interface PeerContract {
  /** Finds its way from the origin of a server, by the card where it looks for one, or where it is told to look. */
  readonly connect: (origin: string, cardPath?: string) => Promise<SdkClient>
  /** Whether an event says that it is the last one, as before 1.0. */
  readonly hasFinal: boolean
  /** What following a task that has ended comes to. */
  readonly followedTooLate: 'the task' | 'UnsupportedOperationError'
  /** Whether it tells its user that a chunk continues another. From 0.3.8 on, what reads the proto of 0.3 forgets it. */
  readonly hasAppend?: boolean
  /** Whether it can ask for no history at all: in the gRPC of 0.3, none is the same as nothing said. */
  readonly hasNoHistory?: boolean
  /** Whether it can list tasks, as since 1.0. */
  readonly hasList?: boolean
  /** Whether it can ask for an extended card. */
  readonly hasExtendedCard?: boolean
  /** What it understands when it writes to a task that has ended. */
  readonly wroteTooLate?: string
  readonly serving?: TestServerOptions
}

/** A client of a server of its own. */
export async function open({ connect, serving }: PeerContract, cardPath?: string): Promise<SdkClient> {
  const { server } = await startTestServer(count, { profile, ...serving })
  return await connect(server.url, cardPath)
}

/** Begins a task that runs until it is canceled. */
export async function begin(peer: SdkClient): Promise<string> {
  const { id } = taskOf(await peer.send('wait', { blocking: false }))
  await until(async () => (await peer.get(id)).state === 'working')
  return id
}

/** What the last event of a stream says beside its state. */
export function finalOf({ hasFinal }: PeerContract): string {
  return hasFinal ? ', final' : ''
}

export function wordsOf(events: readonly SdkEvent[]): string[] {
  return events.map(({ words }) => words)
}
