import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../random.ts'
import { createTcpProxy, type TcpProxy } from '../servers/tcp-proxy.ts'
import type { ServerProcess } from './server-process.ts'

/** Replicas behind one address, which forwards each connection to a random replica without health checks. */
export interface ReplicaSet {
  readonly url: string
  readonly replicas: readonly Replica[]
}

export interface Replica {
  readonly process: ServerProcess
  /** The proxy in front of its database, if it has one. */
  readonly database?: TcpProxy
  restart(): Promise<void>
}

export interface ReplicaOptions {
  readonly database?: TcpProxy
  readonly start: () => Promise<ServerProcess>
}

export async function startReplicas(options: readonly ReplicaOptions[], random: Random): Promise<ReplicaSet> {
  const replicas = await Promise.all(options.map(startReplica))
  const randomPort = () => Number(new URL(random.pick(replicas).process.url).port)
  const { port } = await createTcpProxy(randomPort)
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

/** A fault of a replica. It resolves when the replica works again. */
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

/** Injects faults for the given time, never into all replicas at once. Returns how often each fault occurred. */
export async function injectFaults(
  { replicas }: ReplicaSet,
  random: Random,
  { names, milliseconds }: { readonly names: readonly FaultName[]; readonly milliseconds: number },
): Promise<Readonly<Partial<Record<FaultName, number>>>> {
  const counts: Partial<Record<FaultName, number>> = {}
  const faulty = new Map<Replica, Promise<void>>()
  const end = performance.now() + milliseconds
  while (performance.now() < end) {
    await sleep(50 + random.below(500))
    const healthy = replicas.filter((replica) => !faulty.has(replica))
    if (healthy.length <= 1) continue
    const replica = random.pick(healthy)
    const name = random.pick(names)
    counts[name] = (counts[name] ?? 0) + 1
    const fault = faults[name](replica, random).finally(() => faulty.delete(replica))
    faulty.set(replica, fault)
  }
  await Promise.all(faulty.values())
  return counts
}
