import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/core/client/connect.ts'
import { type Client, GenerationMismatch } from '../../src/entries/client.ts'
import { createPostgresLog } from '../../src/entries/postgres.ts'
import { startServerFirst } from '../support/postgres/database.ts'
import { takeDatabase } from '../support/postgres/reusable-database.ts'
import { startTestServer } from '../support/servers/test-server.ts'

const rounds = 1_000

const roundsPerTask = 50

startServerFirst()

it('of two writers that race for a generation on two replicas, one wins every time, and the other gets the numbers', async () => {
  const database = await takeDatabase()
  onTestFinished(() => database.release())
  const [first, second] = [await startReplica(database.url), await startReplica(database.url)]
  const won: [number, number] = [0, 0]
  for (let tasks = 0; tasks < rounds / roundsPerTask; tasks++) {
    const { task } = await first.send('start')
    const taskId = task?.id ?? ''
    for (let round = 0; round < roundsPerTask; round++) won[await race([first, second], taskId, round)]++
    const { history } = await second.task(taskId).get()
    expect(history.filter(({ role }) => role === 'user')).toHaveLength(roundsPerTask + 1)
  }
  expect(Math.min(...won)).toBeGreaterThan(0)
  expect(won.reduce((sum, count) => sum + count)).toBe(rounds)
}, 300_000)

/** Lets two clients answer the same question of a task. Returns the index of the one whose message was accepted. */
async function race(clients: readonly [Client, Client], taskId: string, round: number): Promise<0 | 1> {
  const { revision = 0, status } = await clients[round % 2 === 0 ? 0 : 1].task(taskId).get({ historyLength: 0 })
  expect(status.state).toBe('input-required')
  const options = { taskId, ifGeneration: revision, historyLength: 0 }
  const outcomes = await Promise.allSettled(clients.map((client, n) => client.send(`${round} by ${n}`, options)))
  const lost = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  expect(lost).toEqual([expect.any(GenerationMismatch)])
  expect(lost[0]).toMatchObject({ expected: revision, metadata: { taskId } })
  expect(lost[0].current).toBeGreaterThan(revision)
  return outcomes[0]?.status === 'fulfilled' ? 0 : 1
}

async function startReplica(url: string): Promise<Client> {
  const pool = new pg.Pool({ connectionString: url })
  const log = await createPostgresLog({ pool })
  const { server } = await startTestServer((turn) => turn.requireInput('next?'), {
    log,
    dialects: { speak: ['v1.0', 'v1.1'] },
  })
  onTestFinished(async () => {
    await server.close()
    await log.close()
    await pool.end()
  })
  return await connect(server.url, { bindings: ['JSONRPC'] })
}
