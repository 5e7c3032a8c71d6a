import { expect, it, onTestFinished } from 'vitest'
import { callOf, createTestRuntime, messageOf } from '../../../../test/support/agents/test-runtime.ts'
import { deferred, until } from '../../../../test/support/async.ts'
import type { PushFetch } from '../options.ts'

it('webhooks that have to wait stay in the store, and are claimed when there is capacity', async () => {
  const answered = deferred()
  const received = new Map<string, string[]>()
  const fetch: PushFetch = Object.assign(
    async (url: string | URL | Request, init: RequestInit = {}) => {
      await answered.promise
      const generations = received.get(`${url}`) ?? []
      received.set(`${url}`, generations)
      generations.push(new Headers(init.headers).get('x-a2a-generation') ?? '')
      return new Response(null, { status: 204 })
    },
    { check: async () => {} },
  )
  const runtime = createTestRuntime(
    async (turn) => {
      await turn.status('working')
      return 'done'
    },
    { push: { fetch, concurrency: { total: 2 } } },
  )
  onTestFinished(() => runtime.drain(0))
  const urls = Array.from({ length: 30 }, (_, index) => `https://receiver-${index}.example/`)
  for (const url of urls) {
    const request = { message: messageOf('x'), configuration: { push: { url } }, dialect: 'v1.0' }
    await runtime.service.sendMessage(request, callOf())
  }
  // Two requests are in flight, and two webhooks wait for each slot.
  expect(runtime.gauges.webhooks()).toBe(2 + 2 * 2)
  answered.resolve()
  await until(() => received.size === urls.length && runtime.gauges.webhooks() === 0)
  const [first = []] = received.values()
  expect(first.length).toBeGreaterThan(1)
  for (const generations of received.values()) expect(generations).toEqual(first)
})
