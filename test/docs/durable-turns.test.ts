import { readFile } from 'node:fs/promises'
import { expect, it, onTestFinished } from 'vitest'
import { textOf } from '../../src/core/protocol/model.ts'
import { createMemoryLog } from '../../src/core/tasks/memory-log.ts'
import { createHandler } from '../../src/entries/index.ts'
import { callOf, messageOf, send, taskOf } from '../support/agents/test-runtime.ts'
import { silentLogger } from '../support/logger.ts'
import { readAsSnippet } from '../support/package/snippets.ts'
import { orders } from './durable-turns/order.ts'
import { poems } from './durable-turns/poem.ts'
import { reports } from './durable-turns/retry.ts'
import { calls } from './durable-turns/shop.ts'
import { size } from './durable-turns/typebox.ts'

it('every snippet of the guide is a file that these tests run', async () => {
  const page = await readFile(new URL('../../docs/guides/durable-turns.md', import.meta.url), 'utf8')
  const snippets = Array.from(page.matchAll(/```ts\n(.*?)```/gs), ([, code]) => code)
  const files = await Promise.all(
    ['retry', 'order', 'shop', 'poem', 'model', 'typebox'].map((name) =>
      readAsSnippet(new URL(`./durable-turns/${name}.ts`, import.meta.url)),
    ),
  )
  expect(snippets).toEqual(files)
})

it('the order agent reserves once, asks until the answer is valid, and charges once across a restart', async () => {
  const log = createMemoryLog()
  const start = () => {
    const handler = createHandler(orders, { auth: 'none', log, logger: silentLogger })
    onTestFinished(() => handler.drain(0))
    return handler
  }
  const first = start()
  const question = taskOf(await send(first.service, 'two chairs'))
  expect(question.status.state).toBe('input-required')
  await first.drain(0)

  const { service } = start()
  const repeated = taskOf(await send(service, 'with a smile', { taskId: question.id }))
  expect(repeated.status.state).toBe('input-required')
  const done = taskOf(await send(service, 'invoice', { taskId: question.id }))
  expect(done.status.message?.parts).toEqual([{ text: 'Ordered, and paid by invoice' }])
  expect(calls).toEqual(['reserve two chairs', 'charge r-1 by invoice'])
})

it('the report agent writes its report', async () => {
  const handler = createHandler(reports, { auth: 'none', logger: silentLogger })
  onTestFinished(() => handler.drain(0))
  const outcome = await handler.service.sendMessage({ message: messageOf('Sales') }, callOf())
  expect(taskOf(outcome).artifacts).toMatchObject([{ name: 'report.md', parts: [{ text: '# Sales' }] }])
})

it('the poem agent stores its poem once', async () => {
  const handler = createHandler(poems, { auth: 'none', logger: silentLogger })
  onTestFinished(() => handler.drain(0))
  const task = taskOf(await send(handler.service, 'rain'))
  expect(task.artifacts.map(({ parts }) => textOf({ parts }))).toEqual(['a poem about rain'])
  const done = taskOf(await send(handler.service, 'yes', { taskId: task.id }))
  expect(done.status.message?.parts).toEqual([{ text: 'Published 4 words' }])
  expect(done.artifacts).toEqual(task.artifacts)
})

it('the TypeBox schema accepts only its literals', () => {
  expect(size['~standard'].validate('small')).toEqual({ value: 'small' })
  expect(size['~standard'].validate('huge')).toMatchObject({
    issues: expect.arrayContaining([expect.objectContaining({ message: expect.any(String) })]),
  })
})
