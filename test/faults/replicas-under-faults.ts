import { expect } from 'vitest'
import type { StreamEvent } from '../../src/core/protocol/events.ts'
import { type FaultName, injectFaults, type ReplicaSet, startReplicas } from '../support/processes/replicas.ts'
import { eventually, type ProcessOptions, startServerProcess } from '../support/processes/server-process.ts'
import { createRandom, type Random } from '../support/random.ts'
import { createTcpProxy } from '../support/servers/tcp-proxy.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { endOf, expectComplete, expectSeenAsLogged, type LoggedRow, readTask } from './counted-streams.ts'

const seconds = Number(process.env.PARLEY_CHAOS_SECONDS ?? 15)
export const leaseTtl = 1_500
const clients = 12

/** A database on a server that replicas share. */
export interface FaultyDatabase {
  readonly url: string
  /** Options of a process that reaches the database by another URL. */
  readonly optionsFor: (url: string) => ProcessOptions
  /** How many tasks have not ended. */
  readonly countOpen: () => Promise<number>
  readonly loggedRows: () => Promise<readonly LoggedRow[]>
}

/** Kills, suspends and disconnects three replicas, and expects that no client has missed an event, or seen one twice. */
export async function expectNothingLost({ url, optionsFor, countOpen, loggedRows }: FaultyDatabase): Promise<void> {
  const random = newRandom()
  const directory = await temporaryDirectory()
  const starts = await Promise.all(
    [1, 2, 3].map(async () => {
      const reached = new URL(url)
      const port = Number(reached.port)
      const proxy = await createTcpProxy(() => port)
      reached.port = `${proxy.port}`
      const options = { ...optionsFor(reached.href), turns: { leaseTtl } }
      return { database: proxy, start: () => startServerProcess(directory, options) }
    }),
  )
  const replicas = await startReplicas(starts, random)
  const streams = await underFaults(replicas, random, ['killed', 'stopped', 'cutFromDatabase', 'frozenOutOfDatabase'])

  await eventually(async () => (await countOpen()) === 0)
  const logs = Map.groupBy(await loggedRows(), ({ task_id }) => task_id)
  for (const log of logs.values()) {
    expectComplete(log)
    // No event of an older lease follows an event of a newer one.
    const fences = log.flatMap(({ fence }) => (fence === null ? [] : [fence]))
    expect(fences).toEqual(fences.toSorted((a, b) => a - b))
  }
  for (const stream of streams) expectSeenAsLogged(stream, logs)
}

export function newRandom(): Random {
  const seed = Number(process.env.PARLEY_SEED ?? Math.floor(Math.random() * 2 ** 32))
  console.log(`seed: PARLEY_SEED=${seed}`)
  return createRandom(seed)
}

/** Injects faults and returns the streams that the clients saw meanwhile. */
export async function underFaults(replicas: ReplicaSet, random: Random, names: readonly FaultName[]) {
  const streams: StreamEvent[][] = []
  let isDone = false
  const working = Array.from({ length: clients }, async () => {
    while (!isDone) streams.push(await readTask(replicas.url))
  })
  const faults = await injectFaults(replicas, random, { names, milliseconds: seconds * 1_000 })
  isDone = true
  await Promise.all(working)
  const ends = Map.groupBy(streams, (stream) => endOf(stream))
  const counts = Object.fromEntries([...ends].map(([end, all]) => [end, all.length]))
  console.log(`${streams.length} streams`, counts, 'replicas were', faults)
  return streams
}
