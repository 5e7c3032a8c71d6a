import type { Call } from '../../src/core/protocol/service.ts'
import { createRuntime, type Runtime } from '../../src/core/runtime/runtime.ts'
import type { TaskLog } from '../../src/core/tasks/log.ts'
import { createMemoryLog } from '../../src/core/tasks/memory-log.ts'
import { silentLogger } from '../support/logger.ts'
import { createRandom } from '../support/random.ts'
import { createSimulatedAgent } from './agent.ts'
import { settings } from './cluster.ts'
import { createHistory } from './history.ts'
import { connectStore, type Waiters } from './store.ts'
import { createProcess, createWorld, type Process, type World } from './world.ts'

/** Simulated seconds without calls. */
export const idleSeconds = 6

export interface CellsOptions {
  /** Each cell is a store with replicas of its own. */
  readonly cells: number
  /** Replicas of each cell. */
  readonly replicas: number
  readonly tenants: number
  readonly tasksPerTenant: number
  /** The cell whose processes all die after half of the messages. */
  readonly lostCell?: number
}

/** What happened in one cell, in messages and rows. */
export interface CellTally {
  /** Requests of the replicas to the store while calls were answered, by operation. */
  readonly requests: Readonly<Record<string, number>>
  /** The same in `idleSeconds` without calls, of all replicas. */
  readonly idleRequests: number
  /** Notifications that the store sends: each write goes to all other replicas that listen. */
  readonly notifications: number
  readonly rows: { readonly tasks: number; readonly events: number }
  /** The tenants with tasks in the store. */
  readonly tenants: ReadonlySet<string>
  readonly sent: number
  readonly answered: number
}

/**
 * Simulates replicas of the real runtime in cells. A gateway in front sends each tenant to its cell, and each message to any
 * replica there.
 */
export async function simulateCells(options: CellsOptions): Promise<readonly CellTally[]> {
  const { cells, replicas, tenants, tasksPerTenant, lostCell } = options
  const world = createWorld()
  const random = createRandom(1)
  const all = Array.from({ length: cells }, (_, cell) => createCell(world, cell, replicas))
  while (!world.isIdle()) await world.step()
  const counted = all.map(({ requests }) => ({ ...requests }))
  const messages = Array.from({ length: tenants * tasksPerTenant }, (_, n) => `tenant ${n % tenants}`)
  for (const [n, tenant] of messages.entries()) {
    if (n === messages.length / 2)
      for (const { process } of all[lostCell ?? -1]?.replicas ?? []) world.kill(process, true)
    all[cellOf(tenant, cells)]?.send(tenant, random.below(replicas))
    while (all.some(({ calls, isLost }) => !isLost() && calls.answered < calls.sent)) await world.step()
  }
  const working = all.map(({ requests }, cell) => subtract(requests, counted[cell] ?? {}))
  const before = all.map(({ requests }) => sum(requests))
  for (const end = world.time + idleSeconds * 1_000; world.time < end; ) await world.step()
  const tallies = all.map((cell, index) => ({
    requests: working[index] ?? {},
    idleRequests: sum(cell.requests) - (before[index] ?? 0),
    notifications: cell.rows.writes * (replicas - 1),
    rows: { tasks: cell.rows.tasks, events: cell.rows.events },
    tenants: cell.tenants,
    sent: cell.calls.sent,
    answered: cell.calls.answered,
  }))
  for (const { replicas: started } of all) for (const { process } of started) world.kill(process, true)
  return tallies
}

/** The cell of a tenant. A real gateway has a table, so that a tenant can move. */
export function cellOf(tenant: string, cells: number): number {
  let hash = 0
  for (const character of tenant) hash = (Math.imul(hash, 31) + (character.codePointAt(0) ?? 0)) >>> 0
  return hash % cells
}

interface Replica {
  readonly process: Process
  readonly runtime: Runtime
}

function createCell(world: World, cell: number, replicas: number) {
  const machine = createProcess(`store ${cell}`)
  const history = createHistory(() => world.time)
  const waiters: Waiters = { waiting: new Set() }
  const requests: Record<string, number> = {}
  const rows = { tasks: 0, events: 0, writes: 0 }
  const tenants = new Set<string>()
  const calls = { sent: 0, answered: 0 }
  const log = countCalls(createMemoryLog({ clock: world.clockOf(machine) }), requests, rows)
  const started: Replica[] = Array.from({ length: replicas }, (_, n) => {
    const process = createProcess(`${cell}.${n}`)
    const clock = world.clockOf(process)
    const runtime = createRuntime({
      agent: createSimulatedAgent({ policy: 'fail', clock, onMessage() {} }),
      log: connectStore({ world, history, process, log }, waiters),
      logger: silentLogger,
      holder: process.name,
      clock,
      ...settings,
    })
    return { process, runtime }
  })
  return {
    replicas: started,
    isLost: () => started.every(({ process }) => process.state === 'dead'),
    requests,
    rows,
    tenants,
    calls,
    send(tenant: string, index: number) {
      const replica = started[index]
      if (!replica || replica.process.state === 'dead') return
      const call: Call = { principal: { id: 'caller', tenant }, signal: new AbortController().signal }
      const message = { messageId: crypto.randomUUID(), role: 'user', parts: [{ text: 'complete' }] } as const
      calls.sent++
      tenants.add(tenant)
      void replica.runtime.service.sendMessage({ message }, call).then(
        () => calls.answered++,
        () => {},
      )
    },
  }
}

/** Counts the requests that reach the store, and the rows that they add. */
function countCalls(
  log: TaskLog,
  requests: Record<string, number>,
  rows: { tasks: number; events: number; writes: number },
): TaskLog {
  const counting = new Proxy(log, {
    get(target, name: keyof TaskLog) {
      const method = target[name] as unknown
      if (typeof method !== 'function') return method
      return (...args: readonly unknown[]) => {
        requests[name] = (requests[name] ?? 0) + 1
        if (name === 'create') rows.tasks++
        if (name === 'create') rows.events += (args[1] as readonly unknown[]).length
        if (name === 'append') rows.events += (args[2] as readonly unknown[]).length
        if (name === 'create' || name === 'append') rows.writes++
        return Reflect.apply(method, target, args)
      }
    },
  })
  return counting
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0)
}

function subtract(counts: Readonly<Record<string, number>>, earlier: Readonly<Record<string, number>>) {
  const changes = Object.entries(counts).map(([name, count]) => [name, count - (earlier[name] ?? 0)] as const)
  return Object.fromEntries(changes.filter(([, count]) => count > 0))
}
