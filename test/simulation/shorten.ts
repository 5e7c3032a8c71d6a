import type { Schedule, TimedAction } from './schedule.ts'

/** Runs that a search for a shorter schedule takes at most. */
const maxRuns = 4_000

/** A removed action takes its steps with it, so later departures may have to move by as many. */
const maxStepsOfAction = 14

/**
 * Finds a schedule that still fails and that no single simplification makes shorter. fast-check could shrink schedules,
 * too, but an action that it removes moves all later ones to other steps, and most failures are lost by that.
 */
export async function shorten(schedule: Schedule, fails: (schedule: Schedule) => Promise<boolean>): Promise<Schedule> {
  let shortest = schedule
  let runs = 0
  for (;;) {
    let isShorter = false
    for (const candidate of simplifications(shortest)) {
      if (++runs > maxRuns) return shortest
      if (!(await fails(candidate))) continue
      shortest = candidate
      isShorter = true
      break
    }
    if (!isShorter) return shortest
  }
}

function* simplifications(schedule: Schedule): Generator<Schedule> {
  const { actions, picks, policy, whileBusy } = schedule
  for (let length = picks.length; length >= 1; length = Math.floor(length / 2)) {
    for (let at = 0; at < picks.length; at += length) yield { ...schedule, picks: picks.toSpliced(at, length) }
  }
  for (const index of actions.keys()) {
    const shorter = { ...schedule, actions: withoutAction(actions, index) }
    const stepOfAction = actions.slice(0, index + 1).reduce((sum, { gap }) => sum + gap, 0)
    for (let steps = 0; steps <= maxStepsOfAction; steps++) {
      yield { ...shorter, picks: picks.map(({ at, pick }) => ({ at: at > stepOfAction ? at - steps : at, pick })) }
      if (picks.length === 0) break
    }
  }
  if (schedule.removesTasks) yield { ...schedule, removesTasks: false }
  if (schedule.staysDown) yield { ...schedule, staysDown: false }
  if (whileBusy !== 'queue') yield { ...schedule, whileBusy: 'queue' }
  if (policy !== 'fail') yield { ...schedule, policy: 'fail' }
  for (const [index, { gap, action }] of actions.entries()) {
    for (const shorter of new Set([0, Math.floor(gap / 2), gap - 1])) {
      if (shorter >= 0 && shorter < gap) yield { ...schedule, actions: actions.with(index, { gap: shorter, action }) }
    }
    if ('reading' in action && action.reading !== 'wait') {
      yield { ...schedule, actions: actions.with(index, { gap, action: { ...action, reading: 'wait' } }) }
    }
    if ('to' in action && action.to !== 0) {
      yield { ...schedule, actions: actions.with(index, { gap, action: { ...action, to: 0 } }) }
    }
  }
  for (const [index, { at, pick }] of picks.entries()) {
    if (pick.type === 'hold' && pick.steps > 1) {
      for (const steps of new Set([Math.ceil(pick.steps / 2), pick.steps - 1])) {
        yield { ...schedule, picks: picks.with(index, { at, pick: { ...pick, steps } }) }
      }
    }
    if (pick.type !== 'time' && pick.index > 0) {
      yield { ...schedule, picks: picks.with(index, { at, pick: { ...pick, index: pick.index - 1 } }) }
    }
  }
}

/** Later actions stay at the same steps. */
function withoutAction(actions: readonly TimedAction[], index: number): readonly TimedAction[] {
  const gap = actions[index]?.gap ?? 0
  const rest = actions.toSpliced(index, 1)
  const next = rest[index]
  return next ? rest.with(index, { ...next, gap: next.gap + gap }) : rest
}
