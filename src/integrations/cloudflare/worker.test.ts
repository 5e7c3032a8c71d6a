import { expect, it } from 'vitest'
import { agent } from './agent.ts'
import { createWorker } from './worker.ts'

const echo = agent({ name: 'Echo' }, (turn) => turn.text)

it('a Worker refuses options for which it would need the tasks of several objects', () => {
  expect(() => createWorker(echo, { auth: { anonymous: { listAll: true } } })).toThrow(
    /anonymous\.listAll cannot work here/,
  )
  const policy = () => 'everyone' as const
  expect(() => createWorker(echo, { auth: { anonymous: true, policy } })).toThrow(/auth\.policy cannot work here/)
})

it('a Worker without its binding says what its configuration lacks', async () => {
  const worker = createWorker(echo, { auth: 'none' })
  await expect(worker.fetch(new Request('https://echo.example/'), {})).rejects.toThrow(/no binding TASKS/)
})
