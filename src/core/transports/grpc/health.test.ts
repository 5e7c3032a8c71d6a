import { expect, onTestFinished, test, vi } from 'vitest'
import { v1_0 } from '../../dialects/v1.0/server.ts'
import type { Load } from '../../http/load.ts'
import { healthRpcs } from './health.ts'
import { errorEncoder } from './status.ts'

test('Watch reports when the server becomes overloaded, recovers and drains', async () => {
  const draining = new AbortController()
  let notify: Parameters<Load['watch']>[0] | undefined
  let watchers = 0
  const load: Pick<Load, 'isOverloaded' | 'watch'> = {
    isOverloaded: () => false,
    watch(listener) {
      notify = listener
      watchers++
      return () => void watchers--
    },
  }
  const rpcs = healthRpcs({ encodeError: errorEncoder(v1_0), services: [], draining: draining.signal, load })
  const watch = rpcs.find(({ method }) => method.name === 'Watch')
  if (watch?.type !== 'stream') throw new Error('there is no Watch')
  const { signal } = new AbortController()
  const incoming = { signal } as Parameters<typeof watch.answer>[1]
  const statuses = watch.answer(async () => ({}), incoming, { headers: {} })[Symbol.asyncIterator]()
  const next = async () => (await statuses.next()).value?.json
  const state = { requests: 0, responseBytes: 0, bodyBytes: 0, memory: 1 }
  const after = async (change: () => void) => {
    const coming = next()
    await expect.poll(() => watchers).toBe(1)
    change()
    return await coming
  }
  expect(await next()).toEqual({ status: 'SERVING' })
  expect(await after(() => notify?.(true, state))).toEqual({ status: 'NOT_SERVING' })
  expect(await after(() => notify?.(false, state))).toEqual({ status: 'SERVING' })
  expect(await after(() => draining.abort())).toEqual({ status: 'NOT_SERVING' })
  expect((await statuses.next()).done).toBe(true)
  expect(watchers).toBe(0)
})

test('Watch reports when the store cannot be used, and when it works again', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { signal: draining } = new AbortController()
  let isReady = true
  const rpcs = healthRpcs({
    encodeError: errorEncoder(v1_0),
    services: [],
    draining,
    isReady: async () => isReady,
  })
  const watch = rpcs.find(({ method }) => method.name === 'Watch')
  if (watch?.type !== 'stream') throw new Error('there is no Watch')
  const incoming = { signal: new AbortController().signal } as Parameters<typeof watch.answer>[1]
  const statuses = watch.answer(async () => ({}), incoming, { headers: {} })[Symbol.asyncIterator]()
  const next = async () => (await statuses.next()).value?.json
  expect(await next()).toEqual({ status: 'SERVING' })
  for (const [ready, status] of [
    [false, 'NOT_SERVING'],
    [true, 'SERVING'],
  ] as const) {
    isReady = ready
    const coming = next()
    await vi.advanceTimersByTimeAsync(5_000)
    expect(await coming).toEqual({ status })
  }
})
