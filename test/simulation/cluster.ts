import type { Logger } from '../../src/core/base/logger.ts'
import type { Service } from '../../src/core/protocol/service.ts'
import { createRuntime, type Runtime } from '../../src/core/runtime/runtime.ts'
import type { TaskLog } from '../../src/core/tasks/log.ts'
import { createSimulatedAgent } from './agent.ts'
import type { History } from './history.ts'
import type { ReplicaIndex, Schedule } from './schedule.ts'
import type { Storage } from './storage.ts'
import { connectStore, type Waiters } from './store.ts'
import { createProcess, type Process, type World } from './world.ts'

/** Times of the simulated runtimes, in milliseconds. Shorter than in production, in the same proportions. */
export const settings = { leaseTtl: 3_000, cancelGrace: 500, taskAfter: 1_000 }

/** Milliseconds that ended tasks are kept if the schedule removes them. */
const shortRetention = 4_000

/** One start of a replica: a process with its runtime. */
export interface Replica {
  readonly process: Process
  readonly service: Service
  readonly runtime: Runtime
  /** Shutting down: it accepts no messages. */
  isDraining: boolean
}

/** Two replicas of the runtime on one store. */
export interface Cluster {
  /** The replica, or the other one if it is down. Undefined if both are. */
  replica(index: ReplicaIndex): Replica | undefined
  /** A replica that accepts messages. */
  accepting(): Replica | undefined
  crash(index: ReplicaIndex, isLosingRequests: boolean, downFor: number): void
  freeze(index: ReplicaIndex, duration: number): void
  drain(index: ReplicaIndex, deadline: number, downFor: number): void
  setClock(of: ReplicaIndex | 'store', by: number): void
  /** Thaws and restarts replicas. */
  heal(): void
  /** Ends all processes. */
  stop(): void
  /** Ids of messages that an agent got. */
  readonly seen: ReadonlySet<string>
  /** The logs of the two replicas, without simulation. */
  readonly logs: readonly TaskLog[]
  /** Errors that the runtimes logged although the store never failed. */
  readonly errors: readonly string[]
  /** Ids of messages that an agent got more than once. */
  readonly repeated: ReadonlySet<string>
}

export interface ClusterOptions {
  readonly world: World
  readonly history: History
  readonly storage: Storage
  readonly schedule: Schedule
}

export function createCluster({ world, history, storage, schedule }: ClusterOptions): Cluster {
  const { policy, whileBusy, removesTasks, staysDown } = schedule
  const waiters: Waiters = { waiting: new Set() }
  const seen = new Set<string>()
  const repeated = new Set<string>()
  const errors: string[] = []
  const replicas: (Replica | undefined)[] = []
  const starts = [0, 0]
  /** The machines, whose clocks keep running while a process is down. */
  const machines: readonly [Process, Process] = [createProcess('A'), createProcess('B')]
  const storeMachine = createProcess('store')
  const logs = storage.begin({
    replicas: [world.clockOf(machines[0]), world.clockOf(machines[1])],
    store: world.clockOf(storeMachine),
  })

  function start(index: ReplicaIndex): void {
    starts[index] = (starts[index] ?? 0) + 1
    const name = `${machines[index].name}${starts[index]}`
    const process = createProcess(name, machines[index].clockOffset)
    const clock = world.clockOf(process)
    const see = (messageId: string) => {
      if (process.state === 'dead') return
      if (seen.has(messageId)) repeated.add(messageId)
      seen.add(messageId)
    }
    world.note(name, () => 'starts')
    const runtime = createRuntime({
      agent: createSimulatedAgent({ policy, clock, onMessage: see }),
      log: connectStore({ world, history, process, log: logs[index], beforeCall: storage.beforeCall }, waiters),
      logger: loggerOf(process, errors),
      holder: name,
      whileBusy,
      clock,
      ...settings,
      ...(removesTasks && { retention: { ended: shortRetention, tombstones: shortRetention } }),
    })
    replicas[index] = { process, service: runtime.service, runtime, isDraining: false }
  }

  function end(index: ReplicaIndex, replica: Replica, isLosingRequests: boolean): void {
    if (replica.process.state === 'dead') return
    world.kill(replica.process, isLosingRequests)
    if (replicas[index] === replica) replicas[index] = undefined
  }

  function restartAt(index: ReplicaIndex, downFor: number): void {
    world.at(world.time + downFor, `${machines[index].name} comes back`, () => {
      if (!replicas[index] && (!staysDown || !replicas[1 - index])) start(index)
    })
  }

  start(0)
  start(1)
  return {
    seen,
    repeated,
    errors,
    logs,
    replica: (index) => replicas[index] ?? replicas[1 - index],
    accepting: () => replicas.find((replica) => replica?.isDraining === false),
    crash(index, isLosingRequests, downFor) {
      const replica = replicas[index]
      if (!replica) return
      world.note(replica.process.name, () => `crashes${isLosingRequests ? ' and loses its requests' : ''}`)
      end(index, replica, isLosingRequests)
      restartAt(index, downFor)
    },
    freeze(index, duration) {
      const process = replicas[index]?.process
      if (process?.state !== 'running') return
      world.note(process.name, () => `freezes for ${duration} ms`)
      process.state = 'frozen'
      world.at(world.time + duration, `${process.name} thaws`, () => {
        if (process.state === 'frozen') process.state = 'running'
      })
    },
    drain(index, deadline, downFor) {
      const replica = replicas[index]
      if (!replica) return
      const label = () => `shuts down within ${deadline} ms`
      world.add({
        label,
        process: replica.process,
        run() {
          replica.isDraining = true
          void replica.runtime.drain(deadline).then(() => {
            end(index, replica, true)
            restartAt(index, downFor)
          })
        },
      })
    },
    setClock(of, by) {
      const machine = of === 'store' ? storeMachine : machines[of]
      world.note('', () => `the clock of ${machine.name} is changed by ${by} ms`)
      machine.clockOffset += by
      const process = of === 'store' ? undefined : replicas[of]?.process
      if (process) process.clockOffset = machine.clockOffset
    },
    stop() {
      for (const replica of replicas) if (replica) world.kill(replica.process, true)
    },
    heal() {
      for (const index of [0, 1] as const) {
        const process = replicas[index]?.process
        if (process?.state === 'frozen') process.state = 'running'
        const isLast = !replicas[1 - index]
        if (!process && (isLast || !staysDown)) start(index)
      }
    },
  }
}

/** The agent's own failures are part of the simulation; other errors need a store that fails. */
function loggerOf(process: Process, errors: string[]): Logger {
  const ignore = () => {}
  return {
    debug: ignore,
    info: ignore,
    warn: ignore,
    error(fields, text) {
      const isExpected = text === 'the agent failed' || text.startsWith('The question was not answered')
      if (process.state !== 'dead' && !isExpected) {
        errors.push(`${process.name} logged "${text}" (${(fields as { error?: unknown }).error})`)
      }
    },
  }
}
