import fc from 'fast-check'
import { isEnded } from '../../src/core/protocol/states.ts'
import { type Callers, createCallers, isAwaited, lastReceived } from './callers.ts'
import { type Cluster, createCluster } from './cluster.ts'
import { createHistory, type History, isUnanswered, type Violation } from './history.ts'
import { type Course, findStoreViolations, findViolations } from './invariants.ts'
import { type Action, hasFaults, type Schedule, schedules } from './schedule.ts'
import { shorten } from './shorten.ts'
import type { Storage } from './storage.ts'
import { createWorld, digestInStep, type World } from './world.ts'

/**
 * Deterministic simulation of the runtime.
 *
 * Two replicas run the real runtime on one real store in one process. Nothing in them happens by itself: every request to
 * the store, every answer, every timer and every caller's request is a step, and a seeded schedule (`schedule.ts`) decides
 * which step is next (`world.ts`). Replicas crash, freeze and shut down between any two steps, so before and after every
 * store call; clocks are set forward and back; callers send, answer, cancel, subscribe and resume at any moment
 * (`callers.ts`). After the last action the replicas are healed, open questions are answered, and the invariants are
 * checked (`invariants.ts`). A schedule that breaks one is shortened (`shorten.ts`) and printed with its course.
 *
 * The same seed has the same course on every machine and every store. What the simulation replaces: clocks and timers,
 * digests, which run on other threads, and `TaskLog.wait`, whose real implementations poll.
 */

/** Milliseconds of simulated time in which every task must end after the last action. */
const patience = 120_000

/** Steps after which a simulation is taken for endless. */
const maxSteps = 20_000

export interface SimulationResult {
  readonly violations: readonly Violation[]
  readonly trace: readonly string[]
  readonly steps: number
  readonly tasks: number
}

/** Runs one schedule to its end, and checks the invariants. */
export async function runSchedule(schedule: Schedule, storage: Storage, isTraced = false): Promise<SimulationResult> {
  const world = createWorld(isTraced)
  const history = createHistory(() => world.time)
  const callers = createCallers(world)
  const restore = digestInStep()
  const cluster = createCluster({ world, history, storage, schedule })
  try {
    while (!world.isIdle()) await world.step() // the start of the replicas, which is the same in every schedule
    await runActions(schedule, { world, history, callers, cluster })
    cluster.heal()
    const unfinished = await runUntilDone({ world, history, callers, cluster })
    const course: Course = {
      history,
      calls: callers.calls,
      seen: cluster.seen,
      repeated: schedule.policy === 'fail' && !schedule.removesTasks ? cluster.repeated : new Set(),
      errors: cluster.errors,
      hasFaults: hasFaults(schedule),
      hasClockChanges: schedule.actions.some(({ action }) => action.type === 'set-clock'),
      removesTasks: schedule.removesTasks,
    }
    const violations = [...unfinished, ...findViolations(course)]
    if (violations.length === 0) {
      for (const log of cluster.logs) violations.push(...(await findStoreViolations(log, course)))
    }
    return { violations, trace: world.trace, steps: world.steps, tasks: history.tasks.size }
  } finally {
    cluster.stop()
    restore()
    await storage.finish()
  }
}

export interface Failure {
  readonly seed: number
  readonly violations: readonly Violation[]
  readonly schedule: Schedule
  readonly trace: readonly string[]
}

/** The schedule of a seed. */
export function scheduleOfSeed(seed: number): Schedule {
  const [schedule] = fc.sample(schedules, { seed, numRuns: 1 })
  if (!schedule) throw new Error(`fast-check generated no schedule for seed ${seed}`)
  return schedule
}

/** Runs the schedule of a seed. If it fails, returns the shortest schedule that breaks the same rule. */
export async function simulateSeed(seed: number, storage: Storage): Promise<Failure | undefined> {
  const schedule = scheduleOfSeed(seed)
  const [broken] = (await runSchedule(schedule, storage)).violations
  if (!broken) return undefined
  const shortest = await shorten(schedule, async (candidate) => {
    const { violations } = await runSchedule(candidate, storage)
    return violations.some(({ rule }) => rule === broken.rule)
  })
  const { violations, trace } = await runSchedule(shortest, storage, true)
  return { seed, schedule: shortest, violations, trace }
}

/** Maintenance that finds nothing to do, and timers, whose effects follow. */
const isUneventful = /(orphans|expire|forget)( → 0( results)?)?$| timer of /

/** A failure as a developer reads it. */
export function describeFailure({ seed, violations, schedule, trace }: Failure): string {
  const { actions, picks, ...options } = schedule
  return [
    `Seed ${seed} breaks an invariant:`,
    ...violations.map(({ rule, text }) => `  - ${rule}: ${text}`),
    `The shortest schedule that breaks it: ${JSON.stringify(options)}`,
    ...actions.map(({ gap, action }) => `  after ${gap} steps: ${JSON.stringify(action)}`),
    `  departures from the order: ${JSON.stringify(picks)}`,
    'Its course:',
    ...trace.filter((line) => !isUneventful.test(line)).map((line) => `  ${line}`),
  ].join('\n')
}

interface Simulation {
  readonly world: World
  readonly history: History
  readonly callers: Callers
  readonly cluster: Cluster
}

async function runActions({ actions, picks }: Schedule, simulation: Simulation): Promise<void> {
  const { world } = simulation
  const start = world.steps
  const pickAt = new Map(picks.map(({ at, pick }) => [at, pick]))
  for (const { gap, action } of actions) {
    for (let step = 0; step < gap; step++) await world.step(pickAt.get(world.steps - start))
    await act(action, simulation)
  }
  // The last action also meets the departures that follow it.
  const last = Math.max(0, ...pickAt.keys())
  while (world.steps - start <= last && (await world.step(pickAt.get(world.steps - start))));
}

async function act(action: Action, { world, history, callers, cluster }: Simulation): Promise<void> {
  const tasks = [...history.tasks.values()]
  const at = <T>(items: readonly T[], index: number): T | undefined => items[index % Math.max(1, items.length)]
  switch (action.type) {
    case 'crash':
      return cluster.crash(action.replica, action.isLosingRequests, action.downFor)
    case 'freeze':
      return cluster.freeze(action.replica, action.duration)
    case 'drain':
      return cluster.drain(action.replica, action.deadline, action.downFor)
    case 'set-clock':
      return cluster.setClock(action.of, action.by)
    case 'elapse': {
      const end = world.time + action.duration
      world.at(end, 'time has passed', () => {})
      while (world.time < end) await world.step({ type: 'time' })
      return
    }
    case 'disconnect': {
      const stream = at(callers.streams, action.stream)
      world.note('', () => `the caller of ${stream?.label ?? 'no stream'} disconnects`)
      return stream?.disconnect()
    }
    case 'send':
    case 'continue':
    case 'repeat':
    case 'cancel':
    case 'get':
    case 'subscribe':
    case 'resume':
      break
  }
  const replica = cluster.replica(action.to)
  if (!replica) return
  const task = 'task' in action ? at(tasks, action.task) : undefined
  switch (action.type) {
    case 'send':
      return callers.send(replica, action.text, action.reading)
    case 'continue':
      return task && callers.send(replica, 'more', action.reading, task)
    case 'repeat': {
      const sent = at(callers.messages, action.message)
      return sent && callers.repeat(replica, sent, action.reading)
    }
    case 'cancel':
      return task && callers.cancel(replica, task)
    case 'get':
      return task && callers.get(replica, task)
    case 'subscribe':
      return task && callers.subscribe(replica, task)
    case 'resume': {
      const stream = at(callers.streams, action.stream)
      const first = stream?.received[0]
      const taskId = first?.type === 'task' ? first.task.id : first && 'taskId' in first ? first.taskId : undefined
      const resumed = taskId === undefined ? undefined : history.tasks.get(taskId)
      return stream && resumed && callers.subscribe(replica, resumed, lastReceived(stream))
    }
  }
}

/** Runs without further departures, and answers open questions, until all tasks have ended and all calls are answered. */
async function runUntilDone({ world, history, callers, cluster }: Simulation): Promise<readonly Violation[]> {
  const deadline = world.time + patience
  for (let steps = 0; steps < maxSteps; steps++) {
    if (world.isIdle()) {
      const tasks = [...history.tasks.values()]
      if (!callers.calls.some(isAwaited) && tasks.every(({ phase }) => isEnded(phase))) return []
      const replica = cluster.accepting()
      const waiting = replica && tasks.find(isUnanswered)
      if (waiting) callers.send(replica, 'the last one', 'wait', waiting)
    }
    if (world.time > deadline || !(await world.step())) break
  }
  const open = [...history.tasks.values()].filter(({ phase }) => !isEnded(phase))
  return open.map(({ number, phase }) => ({ rule: 'every task ends', text: `task ${number} stays ${phase}` }))
}
