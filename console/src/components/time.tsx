import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

/** The current time. It advances once a second while a component shows it. */
const now = signal(Date.now())

let users = 0
let timer: ReturnType<typeof setInterval> | undefined

function useNow(): number {
  useEffect(() => {
    now.value = Date.now()
    if (users++ === 0) timer = setInterval(() => (now.value = Date.now()), 1_000)
    return () => {
      if (--users === 0) clearInterval(timer)
    }
  }, [])
  return now.value
}

const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/** A time as a date with a time of day. */
export function formatTime(at: number): string {
  return dateTime.format(at)
}

const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  hourCycle: 'h23',
})

/** The time of day, to the millisecond. */
export function formatClock(at: number): string {
  return clock.format(at)
}

/** Shown for the time 0: the server of another agent does not say it. */
const unknownTime = <span class="muted">unknown</span>

/** How long something lasted. */
export function Took({ from, to }: { readonly from: number; readonly to: number }) {
  return from === 0 || to === 0 ? unknownTime : <span>{formatDuration(Math.max(0, to - from))}</span>
}

/** How long ago a time is, in one unit; the full date is in the tooltip. */
export function Ago({ at }: { readonly at: number }) {
  const age = Math.max(0, useNow() - at)
  if (at === 0) return unknownTime
  return (
    <time dateTime={new Date(at).toISOString()} title={formatTime(at)}>
      {age < 1_000 ? 'now' : `${coarse(age)} ago`}
    </time>
  )
}

/** How long something lasts that has not ended. */
export function Elapsed({ since }: { readonly since: number }) {
  const age = Math.max(0, useNow() - since)
  if (since === 0) return unknownTime
  return <time dateTime={`PT${Math.floor(age / 1_000)}S`}>{coarse(age)}</time>
}

/** The time that is left until a deadline. */
export function Countdown({ until }: { readonly until: number }) {
  const left = until - useNow()
  const tone = left < 60_000 ? 'countdown-urgent' : ''
  return (
    <time class={tone} dateTime={new Date(until).toISOString()} title={formatTime(until)}>
      {left <= 0 ? 'deadline has passed' : `${formatDuration(left - (left % 1_000))} left`}
    </time>
  )
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

function coarse(milliseconds: number): string {
  const [unit, size] = units.find(([, length]) => milliseconds >= length) ?? units[3]
  return `${Math.floor(milliseconds / size)} ${unit}`
}

/** A duration in at most two units: `340 ms`, `2.4 s`, `3 min 20 s`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`
  if (milliseconds < 60_000) return `${Number((milliseconds / 1_000).toFixed(1))} s`
  const index = units.findIndex(([, length]) => milliseconds >= length)
  const [unit, size] = units[index] ?? units[2]
  const [lower, lowerSize] = units[index + 1] ?? units[3]
  const rest = Math.floor((milliseconds % size) / lowerSize)
  return `${Math.floor(milliseconds / size)} ${unit}${rest > 0 ? ` ${rest} ${lower}` : ''}`
}

/** A size in bytes for people. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  const steps = ['kB', 'MB', 'GB', 'TB']
  const step = Math.min(Math.floor(Math.log10(bytes) / 3), steps.length)
  return `${Number((bytes / 1000 ** step).toPrecision(3))} ${steps[step - 1]}`
}
