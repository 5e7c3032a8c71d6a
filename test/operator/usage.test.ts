import { expect, it, onTestFinished } from 'vitest'
import { createUsageLog, readUsage } from '../../src/core/tasks/usage-log.ts'
import { apiKey, hashApiKey } from '../../src/entries/auth.ts'
import { connect } from '../../src/entries/client.node.ts'
import { apiKeyCredentials } from '../../src/entries/client-auth.ts'
import { agent, serve } from '../../src/entries/index.ts'
import { createMemoryLog } from '../../src/entries/server.ts'
import { createVirtualClock } from '../../src/entries/testing.ts'
import { silentLogger } from '../support/logger.ts'
import { operatorOf } from '../support/servers/operator-login.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const failing = (error: unknown): never => {
  throw error
}

it('usage is summed by day, agent, caller and model, and survives a restart', async () => {
  const keys = [
    { id: 'ada', hash: await hashApiKey('key-of-ada') },
    { id: 'bob', hash: await hashApiKey('key-of-bob') },
  ]
  const directory = await temporaryDirectory()
  const writer = agent({ name: 'Writer' }, async (turn) => {
    await turn.usage({ model: turn.text, inputTokens: 10, outputTokens: 2, cost: 500 })
    return 'done'
  })
  const start = () =>
    serve(writer, {
      ...{ signals: false, directory, logger: silentLogger, drainDeadline: 0, limits: { currency: 'CHF' } },
      auth: { schemes: { key: apiKey({ keys }) } },
    })
  const first = await start()
  for (const [key, model] of [
    ['key-of-ada', 'small'],
    ['key-of-ada', 'small'],
    ['key-of-bob', 'large'],
  ] as const) {
    await (await connect(first.url, { auth: [apiKeyCredentials(key)] })).send(model)
  }
  await first.close()
  const second = await start()
  onTestFinished(() => second.close())
  await (await connect(second.url, { auth: [apiKeyCredentials('key-of-ada')] })).send('small')
  const read = async () => {
    const { rows } = await operatorOf(second).usage(7)
    return rows.map(({ agent: id, principal, model, reports, inputTokens, outputTokens, cost }) =>
      [id, principal, model, reports, inputTokens, outputTokens, cost].join(' '),
    )
  }
  await expect
    .poll(async () => (await read()).sort(), { timeout: 15_000 })
    .toEqual(['writer ada small 3 30 6 1500', 'writer bob large 1 10 2 500'])
  const today = new Date().toISOString().slice(0, 10)
  expect((await operatorOf(second).usage()).rows.every(({ day }) => day <= today)).toBe(true)
})

it('a day begins at midnight in UTC, and processes add up', async () => {
  const { records } = createMemoryLog().operator
  const clock = createVirtualClock(Date.UTC(2026, 0, 31, 23, 59))
  const [one, other] = [0, 1].map(() => createUsageLog({ records, clock, onError: failing }))
  one?.add({ inputTokens: 1 }, { id: 'ada' })
  other?.add({ inputTokens: 2, cost: 5 }, { id: 'ada' })
  await other?.flush()
  await clock.advance(120_000)
  one?.add({ outputTokens: 4 }, { id: 'ada', tenant: 'acme' })
  await one?.flush()
  await expect
    .poll(() => readUsage(records, Date.UTC(2026, 0, 1)), { timeout: 15_000 })
    .toEqual([
      { day: '2026-02-01', principal: 'ada', tenant: 'acme', reports: 1, inputTokens: 0, outputTokens: 4 },
      { day: '2026-01-31', principal: 'ada', reports: 2, inputTokens: 3, outputTokens: 0, cost: 5 },
    ])
  expect(await readUsage(records, Date.UTC(2026, 1, 1))).toHaveLength(1)
})
