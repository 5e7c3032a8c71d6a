import { expect, it } from 'vitest'
import { v1_0 } from '../../dialects/v1.0/server.ts'
import type { Load } from '../../http/load.ts'
import { healthRpcs } from './health.ts'
import { errorEncoder } from './status.ts'

it('tells who watches when the server has too much to do, when that has passed, and when it goes', async () => {
  const draining = new AbortController()
  let tell: Parameters<Load['watch']>[0] | undefined
  let watchers = 0
  const load: Pick<Load, 'isOver' | 'watch'> = {
    isOver: () => false,
    watch(listener) {
      tell = listener
      watchers++
      return () => void watchers--
    },
  }
  const rpcs = healthRpcs({ encodeError: errorEncoder(v1_0), services: [], draining: draining.signal, load })
  const watch = rpcs.find(({ method }) => method.name === 'Watch')
  if (watch?.type !== 'stream') throw new Error('there is no Watch')
  const { signal } = new AbortController()
  const incoming = { signal } as Parameters<typeof watch.answer>[1]
  const told = watch.answer(async () => ({}), incoming, { headers: {} })[Symbol.asyncIterator]()
  const next = async () => (await told.next()).value?.json
  const standing = { requests: 0, bodyBytes: 0, memory: 1 }
  const after = async (change: () => void) => {
    const coming = next()
    await expect.poll(() => watchers).toBe(1)
    change()
    return await coming
  }
  expect(await next()).toEqual({ status: 'SERVING' })
  expect(await after(() => tell?.(true, standing))).toEqual({ status: 'NOT_SERVING' })
  expect(await after(() => tell?.(false, standing))).toEqual({ status: 'SERVING' })
  expect(await after(() => draining.abort())).toEqual({ status: 'NOT_SERVING' })
  expect((await told.next()).done).toBe(true)
  expect(watchers).toBe(0)
})
