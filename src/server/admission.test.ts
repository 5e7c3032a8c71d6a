import { describe, expect, it } from 'vitest'
import { connect } from '../client/connect.ts'
import { apiKey, hashApiKey } from '../entries/auth.ts'
import { agent, type ServeOptions, serve } from '../entries/index.ts'
import { createHandler } from './handler.ts'
import { createHost } from './host.ts'
import type { HandlerOptions } from './options.ts'

const echo = agent({ name: 'Echo' }, ({ text }) => text)
const logger = { debug() {}, info() {}, warn() {}, error() {} }

async function statusOf(options: HandlerOptions): Promise<number> {
  const { fetch, drain } = createHandler(echo, { ...options, logger })
  const { status } = await fetch(new Request('http://x.test/tasks', { headers: { 'a2a-version': '1.0' } }))
  await drain(0)
  return status
}

describe('who may call a handler', () => {
  it('must be said, and the error tells how', () => {
    const says = /\(Echo\): nothing says who may call.*`auth: \{ schemes: … \}`, or `auth: 'none'`/
    // @ts-expect-error: nothing is said.
    expect(() => createHandler(echo)).toThrow(says)
    // @ts-expect-error: nothing is said of it.
    expect(() => createHandler(echo, { logger })).toThrow(says)
    // @ts-expect-error: nothing is said.
    expect(() => createHost().add(echo)).toThrow(says)
    // @ts-expect-error: nothing is said of it.
    expect(() => createHost().add(echo, { mount: '/echo' })).toThrow(says)
  })

  it.each([['None'], [true], [false], [null], ['']])('is not everybody because of a slip: %j', (auth) => {
    const options = { auth, logger } as unknown as HandlerOptions
    expect(() => createHandler(echo, options)).toThrow(`auth is ${JSON.stringify(auth)}`)
    expect(() => createHost().add(echo, options)).toThrow(`auth is ${JSON.stringify(auth)}`)
  })

  it.each([['None'], [true], [false], [null], ['']])('is no slip for a server, either: %j', async (auth) => {
    const options = { auth, signals: false, logger } as unknown as ServeOptions
    await expect(serve(echo, options)).rejects.toThrow(
      `serve: auth: expected an object such as { schemes }, or 'none', got ${JSON.stringify(auth)}`,
    )
  })

  it('is whoever connects to it in its process, of an agent that has no handler; mounted as it is, it refuses', async () => {
    expect((await (await connect(echo)).send('hi')).text).toBe('hi')
    const headers = { 'a2a-version': '1.0', 'content-type': 'application/json', host: 'localhost' }
    for (const path of ['/', '/tasks', '/.well-known/agent-card.json']) {
      const refused = await echo.fetch(new Request(`http://localhost${path}`, { headers }))
      expect(refused.status).toBe(403)
      expect(await refused.text()).toContain('createHandler(agent, { auth })')
    }
  })

  it('is nobody in particular with an empty declaration, which is refused, too', () => {
    expect(() => createHandler(echo, { auth: {}, logger })).toThrow('expected some schemes')
  })

  it('is everybody by `none`, and who has credentials otherwise', async () => {
    const key = apiKey({ keys: [{ id: 'ada', hash: await hashApiKey('ada-key') }] })
    expect(await statusOf({ auth: 'none' })).toBe(400) // Nobody lists everything, but is let in.
    expect(await statusOf({ auth: { schemes: { key } } })).toBe(401)
  })
})
