import fc from 'fast-check'
import type { RecoveryPolicy } from '../../src/core/agent/agent.ts'
import { type Behaviour, behaviours } from './agent.ts'
import type { Pick } from './world.ts'

/** Everything that a simulation decides at random. The same schedule always has the same course. */
export interface Schedule {
  readonly policy: RecoveryPolicy
  readonly whileBusy: 'queue' | 'interrupt' | 'reject'
  /** Whether ended tasks are removed soon. */
  readonly removesTasks: boolean
  /** Whether a dead replica also stays away at the end. The last one always comes back. */
  readonly staysDown: boolean
  readonly actions: readonly TimedAction[]
  /** Departures from the default order of steps. */
  readonly picks: readonly TimedPick[]
}

/** An action, and how many steps after the one before it happens. */
export interface TimedAction {
  readonly gap: number
  readonly action: Action
}

export interface TimedPick {
  /** The number of the step. */
  readonly at: number
  readonly pick: Pick
}

/** How a caller reads the answer. */
export type Reading = 'wait' | 'stream' | 'immediate'

export type ReplicaIndex = 0 | 1

/** What a caller does, or what happens to a replica. Tasks, messages and streams are given by index, modulo their number. */
export type Action =
  | { readonly type: 'send'; readonly to: ReplicaIndex; readonly text: Behaviour; readonly reading: Reading }
  /** Answers the task's question if it waits, or adds a message to it. */
  | { readonly type: 'continue'; readonly to: ReplicaIndex; readonly task: number; readonly reading: Reading }
  /** Sends an earlier message again, as a caller does that got no answer. */
  | { readonly type: 'repeat'; readonly to: ReplicaIndex; readonly message: number; readonly reading: Reading }
  | { readonly type: 'cancel'; readonly to: ReplicaIndex; readonly task: number }
  | { readonly type: 'get'; readonly to: ReplicaIndex; readonly task: number }
  | { readonly type: 'subscribe'; readonly to: ReplicaIndex; readonly task: number }
  /** Subscribes after the last event that an earlier stream of the task has received. */
  | { readonly type: 'resume'; readonly to: ReplicaIndex; readonly stream: number }
  | { readonly type: 'disconnect'; readonly stream: number }
  | {
      readonly type: 'crash'
      readonly replica: ReplicaIndex
      readonly downFor: number
      readonly isLosingRequests: boolean
    }
  | { readonly type: 'freeze'; readonly replica: ReplicaIndex; readonly duration: number }
  /** Shuts a replica down in an orderly way. */
  | { readonly type: 'drain'; readonly replica: ReplicaIndex; readonly deadline: number; readonly downFor: number }
  /** Lets time pass, however much is to do. */
  | { readonly type: 'elapse'; readonly duration: number }
  /** Changes a wall clock: that of a replica, or that of the store. */
  | { readonly type: 'set-clock'; readonly of: ReplicaIndex | 'store'; readonly by: number }

const replica = fc.constantFrom<ReplicaIndex>(0, 1)

const reading = fc.constantFrom<Reading>('wait', 'stream', 'immediate')

const heldFor = fc.integer({ min: 2, max: 40 })

const index = fc.nat({ max: 3 })

/** Milliseconds that matter to leases, grace periods and questions. */
const duration = fc.constantFrom(50, 500, 1_500, 3_500, 7_000)

const clockChange = fc.constantFrom(-3_600_000, -5_000, 5_000, 3_600_000)

const callerActions: readonly fc.WeightedArbitrary<Action>[] = [
  { weight: 3, arbitrary: action('send', { to: replica, text: fc.constantFrom(...behaviours), reading }) },
  { weight: 5, arbitrary: action('continue', { to: replica, task: index, reading }) },
  { weight: 1, arbitrary: action('repeat', { to: replica, message: index, reading }) },
  { weight: 4, arbitrary: action('cancel', { to: replica, task: index }) },
  { weight: 1, arbitrary: action('get', { to: replica, task: index }) },
  { weight: 1, arbitrary: action('subscribe', { to: replica, task: index }) },
  { weight: 1, arbitrary: action('resume', { to: replica, stream: index }) },
  { weight: 1, arbitrary: action('disconnect', { stream: index }) },
]

const faults: readonly fc.WeightedArbitrary<Action>[] = [
  { weight: 2, arbitrary: action('crash', { replica, downFor: duration, isLosingRequests: fc.boolean() }) },
  { weight: 2, arbitrary: action('freeze', { replica, duration }) },
  { weight: 1, arbitrary: action('drain', { replica, deadline: duration, downFor: duration }) },
  { weight: 1, arbitrary: action('elapse', { duration }) },
]

const clockFaults: readonly fc.WeightedArbitrary<Action>[] = [
  {
    weight: 1,
    arbitrary: action('set-clock', { of: fc.constantFrom<ReplicaIndex | 'store'>(0, 1, 'store'), by: clockChange }),
  },
]

/** A third of the schedules has no faults: no task may fail in them. A third has faults, and a third also changes clocks. */
export const schedules: fc.Arbitrary<Schedule> = fc.noBias(
  fc.oneof(
    scheduleOf(callerActions, 0),
    scheduleOf([...callerActions, ...faults], 1),
    scheduleOf([...callerActions, ...callerActions, ...faults, ...clockFaults], 1),
  ),
)

/** Whether something happens to the replicas or their clocks, or time passes while there is something to do. */
export function hasFaults({ actions, picks }: Schedule): boolean {
  const harmful: readonly string[] = ['crash', 'freeze', 'drain', 'elapse', 'set-clock']
  return (
    actions.some(({ action: { type } }) => harmful.includes(type)) ||
    picks.some(({ pick: { type } }) => type === 'time')
  )
}

function scheduleOf(actions: readonly fc.WeightedArbitrary<Action>[], timeWeight: number): fc.Arbitrary<Schedule> {
  const pick = fc.oneof<fc.WeightedArbitrary<Pick>[]>(
    { weight: 4, arbitrary: fc.record({ type: fc.constant('run'), index: fc.integer({ min: 1, max: 6 }) }) },
    { weight: 4, arbitrary: fc.record({ type: fc.constant('hold'), index: fc.nat({ max: 5 }), steps: heldFor }) },
    { weight: timeWeight, arbitrary: fc.constant({ type: 'time' }) },
  )
  const opening = fc.record({
    gap: fc.nat({ max: 10 }),
    action: action('send', { to: replica, text: fc.constantFrom(...behaviours), reading }),
  })
  // Races need actions at nearly the same step, and states that take a while to reach.
  const gap = fc.oneof(fc.nat({ max: 2 }), fc.nat({ max: 30 }))
  const timedAction = fc.record({ gap, action: fc.oneof(...actions) })
  return fc.record({
    policy: fc.constantFrom<RecoveryPolicy>('fail', 'retry', 'resume'),
    whileBusy: fc.constantFrom<Schedule['whileBusy']>('queue', 'queue', 'interrupt', 'reject'),
    removesTasks: fc.constantFrom(false, false, false, true),
    staysDown: fc.boolean(),
    actions: fc
      .tuple(opening, fc.array(timedAction, { minLength: 1, maxLength: 9, size: 'max' }))
      .map(([first, rest]): readonly TimedAction[] => [first, ...rest]),
    picks: fc.array(fc.record({ at: fc.nat({ max: 200 }), pick }), { maxLength: 60, size: 'max' }),
  })
}

function action<T extends Action['type']>(
  type: T,
  members: { [M in keyof Omit<Extract<Action, { type: T }>, 'type'>]: fc.Arbitrary<Extract<Action, { type: T }>[M]> },
): fc.Arbitrary<Extract<Action, { type: T }>> {
  // The members are those of the action, whose type is added.
  return fc.record({ type: fc.constant(type), ...members }) as unknown as fc.Arbitrary<Extract<Action, { type: T }>>
}
