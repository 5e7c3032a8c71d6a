import type { TraceRow } from 'parley-a2a/operator'

/** Where times are on the bars of a trace. */
export interface Scale {
  /** From 0 to 1. */
  at(time: number): number
  /** How many milliseconds the bars show. */
  readonly length: number
  /** How many milliseconds the task only waited for an answer. */
  readonly waited: number
}

/** Shorter waits are not left out. */
const minWait = 1_000

/** The share of the width that a wait keeps if it is left out. */
const gapShare = 0.02

/** The scale of a trace, with or without the times in which the task only waited for an answer. */
export function createScale(rows: readonly TraceRow[], now: number, skipsWaiting: boolean): Scale {
  const from = Math.min(...rows.map(({ started }) => started))
  const to = Math.max(from + 1, ...rows.map(({ ended = now }) => ended))
  const waits = waitsIn(rows, now)
  const waited = waits.reduce((sum, [start, end]) => sum + end - start, 0)
  if (!skipsWaiting || waited === 0) {
    return { at: (time) => clamp((time - from) / (to - from)), length: to - from, waited }
  }
  const length = Math.max(1, to - from - waited)
  const gap = length * gapShare
  const total = length + gap * waits.length
  return {
    at(time) {
      let shown = time - from
      for (const [start, end] of waits) {
        if (time <= start) break
        const share = Math.min(1, (time - start) / (end - start))
        shown += gap * share - Math.min(time, end) + start
      }
      return clamp(shown / total)
    },
    length,
    waited,
  }
}

/** The times in which a question was open and nothing else happened, in order. */
function waitsIn(rows: readonly TraceRow[], now: number): readonly (readonly [number, number])[] {
  const work = rows.filter(({ type, state }) => type !== 'turn' && type !== 'question' && state !== 'waiting')
  const busy = work.map(({ started, ended = now }) => [started, ended] as const).sort(([one], [other]) => one - other)
  const waits = rows
    .filter(({ type }) => type === 'question')
    .flatMap(({ started, ended = now }) => {
      const free: (readonly [number, number])[] = []
      let start = started
      for (const [begin, end] of busy) {
        if (end <= start || begin >= ended) continue
        if (begin > start) free.push([start, begin])
        start = Math.max(start, end)
      }
      if (start < ended) free.push([start, ended])
      return free
    })
  return waits.filter(([start, end]) => end - start >= minWait).sort(([one], [other]) => one - other)
}

function clamp(share: number): number {
  return Math.min(1, Math.max(0, share))
}
