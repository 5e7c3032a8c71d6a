import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { TaskEvent } from '../../src/core/protocol/events.ts'
import { createSqliteLog } from '../../src/entries/sqlite.ts'
import { readAll } from '../../src/testing/stores/task-log/fixtures.ts'
import { createRandom, type Random } from '../support/random.ts'
import { newFile } from './sqlite-processes.ts'
import type { WindowReport } from './window-child.ts'

const rounds = 200
const parallel = 4
const seed = Number(process.env.PARLEY_SEED ?? Date.now() % 1_000_000)

test(`kill -9 while windows are full loses no event that a reader has seen (${rounds} times, PARLEY_SEED=${seed})`, {
  timeout: 300_000,
}, async () => {
  const random = createRandom(seed)
  const results = await Promise.all(
    Array.from({ length: parallel }, () => killRepeatedly(newFile(), random, rounds / parallel)),
  )
  const reports = results.flat()
  expect(reports.some(({ type }) => type === 'answered')).toBe(true)
  expect(reports.length).toBeGreaterThan(rounds * 10)
})

/** Kills processes on one file at random moments, then compares the log with what they have seen. */
async function killRepeatedly(file: string, random: Random, times: number): Promise<readonly WindowReport[]> {
  const reports: WindowReport[] = []
  for (let round = 0; round < times; round++) reports.push(...(await runUntilKilled(file, 1 + random.below(1_000))))
  const log = createSqliteLog({ file })
  const logs = new Map<string, Awaited<ReturnType<typeof readAll>>>()
  for (const report of reports) {
    const stored = logs.get(report.taskId) ?? (await readAll(log, report.taskId))
    logs.set(report.taskId, stored)
    if (report.type === 'answered') {
      expect(stored.at(-1)?.event).toMatchObject({ type: 'status', status: { state: 'completed' } })
      expect(stored.filter(({ event }) => textOf(event) !== '')).toHaveLength(report.chunks)
    } else {
      // The event that closes an artifact is seen as an empty text, or with the chunk before it, which has its number.
      const [before, at] = stored.slice(report.generation - 2, report.generation).map(({ event }) => textOf(event))
      const seen = at === '' && report.text !== '' ? before : at
      expect(seen, `event ${report.generation} of task ${report.taskId}`).toBe(report.text)
    }
  }
  await log.close()
  return reports
}

/** The text of a chunk. Empty for other events, and for the one that closes an artifact. */
function textOf(event: TaskEvent): string {
  const parts = event.type === 'artifact' ? event.artifact.parts : []
  return parts.map((part) => ('text' in part ? part.text : '')).join('')
}

/** Kills a process after it has reported that much. */
async function runUntilKilled(file: string, count: number): Promise<readonly WindowReport[]> {
  const child = fork(fileURLToPath(new URL('./window-child.ts', import.meta.url)), [file], { execArgv: [] })
  const reports: WindowReport[] = []
  child.on('message', (report: WindowReport) => {
    reports.push(report)
    if (reports.length === count) child.kill('SIGKILL')
  })
  const [, signal] = await once(child, 'close')
  expect(signal).toBe('SIGKILL')
  return reports
}
