import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../random.ts'
import { createTcpProxy, type TcpProxy } from '../servers/tcp-proxy.ts'
import type { ServerProcess } from './server-process.ts'

/** Replicas behind one address that sends every connection to any of them, and knows nothing of their health. */
export interface ReplicaSet {
  readonly url: string
  readonly replicas: readonly Replica[]
}

export interface Replica {
  readonly process: ServerProcess
  /** Its way to the database, where there is one. */
  readonly database?: TcpProxy
  restart(): Promise<void>
}

export interface ReplicaOptions {
  readonly database?: TcpProxy
  readonly start: () => Promise<ServerProcess>
}

export async function startReplicas(starts: readonly ReplicaOptions[], random: Random): Promise<ReplicaSet> {
  const replicas = await Promise.all(starts.map(startReplica))
  const portOfAny = () => Number(new URL(random.pick(replicas).process.url).port)
  const { port } = await createTcpProxy(portOfAny)
  return { url: `http://127.0.0.1:${port}`, replicas }
}

async function startReplica({ database, start }: ReplicaOptions): Promise<Replica> {
  let process = await start()
  return {
    ...(database && { database }),
    get process() {
      return process
    },
    async restart() {
      process = await start()
    },
  }
}

/** What can happen to a replica. Each ends with a replica that works again. */
export type Fault = (replica: Replica, random: Random) => Promise<void>

export const faults = {
  async killed(replica, random) {
    replica.process.signal('SIGKILL')
    await replica.process.ended
    await sleep(random.below(1_000))
    await replica.restart()
  },
  async stopped(replica, random) {
    replica.process.signal('SIGSTOP')
    await sleep(200 + random.below(3_000))
    replica.process.signal('SIGCONT')
  },
  async cutFromDatabase({ database }, random) {
    database?.cut()
    await sleep(200 + random.below(3_000))
    database?.heal()
  },
  async frozenOutOfDatabase({ database }, random) {
    database?.freeze()
    await sleep(200 + random.below(3_000))
    database?.heal()
  },
} satisfies Record<string, Fault>

export type FaultName = keyof typeof faults

/** Lets things happen to replicas for so many milliseconds, never to all at once; tells what happened. */
export async function injectFaults(
  { replicas }: ReplicaSet,
  random: Random,
  { names, milliseconds }: { readonly names: readonly FaultName[]; readonly milliseconds: number },
): Promise<Readonly<Partial<Record<FaultName, number>>>> {
  const told: Partial<Record<FaultName, number>> = {}
  const suffering = new Map<Replica, Promise<void>>()
  const end = performance.now() + milliseconds
  while (performance.now() < end) {
    await sleep(50 + random.below(500))
    const well = replicas.filter((replica) => !suffering.has(replica))
    if (well.length <= 1) continue
    const replica = random.pick(well)
    const name = random.pick(names)
    told[name] = (told[name] ?? 0) + 1
    const fault = faults[name](replica, random).finally(() => suffering.delete(replica))
    suffering.set(replica, fault)
  }
  await Promise.all(suffering.values())
  return told
}
