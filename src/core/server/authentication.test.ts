import { describe, expect, it } from 'vitest'
import { silentLogger } from '../../../test/support/logger.ts'
import { apiKey, hashApiKey } from '../../entries/auth.ts'
import { agent, type ServeOptions, serve } from '../../entries/index.ts'
import { connect } from '../client/connect.ts'
import type { Incoming } from '../http/exchange.ts'
import type { Limits } from '../limits/limits.ts'
import { createAuthentication } from './authentication.ts'
import { createHandler } from './handler.ts'
import { createHost } from './host.ts'
import type { HandlerOptions } from './options.ts'

const echo = agent({ name: 'Echo' }, ({ text }) => text)
const logger = silentLogger

async function statusOf(options: HandlerOptions): Promise<number> {
  const { fetch, drain } = createHandler(echo, { ...options, logger })
  const { status } = await fetch(new Request('http://x.test/tasks', { headers: { 'a2a-version': '1.0' } }))
  await drain(0)
  return status
}

describe('the auth option', () => {
  it('a handler without auth is an error that says what to declare', () => {
    const problem = /\(Echo\): nothing says who may call.*`auth: \{ schemes: … \}`, or `auth: 'none'`/
    // @ts-expect-error: no options.
    expect(() => createHandler(echo)).toThrow(problem)
    // @ts-expect-error: options without auth.
    expect(() => createHandler(echo, { logger })).toThrow(problem)
    // @ts-expect-error: no options.
    expect(() => createHost().add(echo)).toThrow(problem)
    // @ts-expect-error: options without auth.
    expect(() => createHost().add(echo, { mount: '/echo' })).toThrow(problem)
  })

  it.each([['None'], [true], [false], [null], ['']])('a handler with auth %j is an error', (auth) => {
    const options = { auth, logger } as unknown as HandlerOptions
    expect(() => createHandler(echo, options)).toThrow(`auth is ${JSON.stringify(auth)}`)
    expect(() => createHost().add(echo, options)).toThrow(`auth is ${JSON.stringify(auth)}`)
  })

  it.each([['None'], [true], [false], [null], ['']])('a server with auth %j is an error', async (auth) => {
    const options = { auth, signals: false, logger } as unknown as ServeOptions
    await expect(serve(echo, options)).rejects.toThrow(
      `serve: auth: expected an object such as { schemes }, or 'none', got ${JSON.stringify(auth)}`,
    )
  })

  it('an agent without a handler answers clients in its process and rejects HTTP requests', async () => {
    expect((await (await connect(echo)).send('hi')).text).toBe('hi')
    const headers = { 'a2a-version': '1.0', 'content-type': 'application/json', host: 'localhost' }
    for (const path of ['/', '/tasks', '/.well-known/agent-card.json']) {
      const response = await echo.fetch(new Request(`http://localhost${path}`, { headers }))
      expect(response.status).toBe(403)
      expect(await response.text()).toContain('createHandler(agent, { auth })')
    }
  })

  it('auth without schemes is an error', () => {
    expect(() => createHandler(echo, { auth: {}, logger })).toThrow('expected some schemes')
  })

  it('auth none accepts every caller, and schemes require credentials', async () => {
    const key = apiKey({ keys: [{ id: 'ada', hash: await hashApiKey('ada-key') }] })
    expect(await statusOf({ auth: 'none' })).toBe(400) // Accepted, but anonymous callers cannot list all tasks.
    expect(await statusOf({ auth: { schemes: { key } } })).toBe(401)
  })
})

describe('createAuthentication', () => {
  const incoming = (key: string) => ({ header: (name: string) => (name === 'x-api-key' ? key : undefined) }) as Incoming

  /** Records the steps of the pipeline in order. */
  async function pipeline({ isOverloaded = false, isAllowed = true } = {}) {
    const steps: string[] = []
    const state = { policy: 'principal', rate: { limit: 1, window: 60 }, remaining: 0, fullAfter: 60, retryAfter: 30 }
    const limits: Pick<Limits, 'count'> = {
      async count({ id }) {
        steps.push(`count ${id}`)
        return [{ ...state, isAllowed }]
      },
    }
    const load = {
      isOverloaded() {
        steps.push('load')
        return isOverloaded
      },
    }
    const hash = await hashApiKey('right')
    const key = apiKey({
      keys(candidate) {
        steps.push('scheme')
        return candidate === hash ? { id: 'ada', hash } : undefined
      },
    })
    const context = { profile: { name: 'Echo' }, logger, load, limits: limits as Limits }
    return { steps, authentication: createAuthentication({ schemes: { key } }, context) }
  }

  it('a call passes the overload check, the schemes and the request count, in this order', async () => {
    const { steps, authentication } = await pipeline()
    expect(await authentication.authenticate(incoming('right'))).toMatchObject({ id: 'ada' })
    expect(steps).toEqual(['load', 'scheme', 'count ada'])
  })

  it('an overloaded server checks no credentials', async () => {
    const { steps, authentication } = await pipeline({ isOverloaded: true })
    expect(() => authentication.authenticate(incoming('right'))).toThrow(
      expect.objectContaining({ code: 'unavailable', metadata: { reason: 'overload' } }),
    )
    expect(steps).toEqual(['load'])
  })

  it('a call with wrong credentials is not counted', async () => {
    const { steps, authentication } = await pipeline()
    expect(() => authentication.authenticate(incoming('wrong'))).toThrow(
      expect.objectContaining({ code: 'unauthenticated' }),
    )
    expect(steps).toEqual(['load', 'scheme'])
  })

  it('a call beyond its rate is rejected and has rate headers', async () => {
    const { authentication } = await pipeline({ isAllowed: false })
    const request = incoming('right')
    await expect(authentication.authenticate(request)).rejects.toMatchObject({ code: 'rate-limited' })
    expect(authentication.rateHeaders?.(request)).toMatchObject({ 'x-ratelimit-limit': '1' })
    expect(authentication.rateHeaders?.(incoming('right'))).toBeUndefined()
  })

  it('a page only identifies its caller, and another transport only admits its principal', async () => {
    const { steps, authentication } = await pipeline()
    await authentication.identify(incoming('right'))
    expect(steps.splice(0)).toEqual(['scheme'])
    await authentication.admit({ id: 'eve' })
    expect(steps).toEqual(['load', 'count eve'])
  })
})
