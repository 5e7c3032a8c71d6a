import { describe, expect, it } from 'vitest'
import { shareTestServer } from '../../support/servers/test-server.ts'
import { dialectBindings } from '../../support/wire/dialect-bindings.ts'
import { requestStreamIn } from '../../support/wire/dialect-streams.ts'
import { isStream, readEvents } from '../../support/wire/wire-client.ts'

// The agent accepts no images, so that a stream fails before its first event.
const profile = { name: 'Test', inputModes: ['application/json'] }
const run = () => 'never'

const shared = shareTestServer(run, { profile })
const withHttpErrors = shareTestServer(run, { profile, dialects: { httpErrors: true } })

const jsonAccepts = ['application/json, text/event-stream', '*/*', 'text/event-stream;q=0.5, */*;q=0.1']

const rpcTargets = dialectBindings.filter(([, binding]) => binding === 'JSONRPC')
const restTargets = dialectBindings.filter(([, binding]) => binding === 'HTTP+JSON')

describe.each(rpcTargets)('a failed stream in %s over %s', (...target) => {
  const [dialect] = target
  const open = (accept: string, { server } = shared()) =>
    requestStreamIn(target, server.url, 'hello', { headers: { accept }, isImage: true })

  it.each(jsonAccepts)('the error is plain JSON with the status 200 for Accept: %s', async (accept) => {
    const response = await open(accept)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32005 } })
  })

  it('the error is an event before 1.0 if the caller accepts nothing else', async () => {
    const response = await open('text/event-stream')
    expect(isStream(response)).toBe(dialect !== 'v1.0')
    if (dialect === 'v1.0') return
    for await (const event of readEvents(response)) expect(event).toMatchObject({ id: 1, error: { code: -32005 } })
  })

  it.each([...jsonAccepts, 'text/event-stream'])('httpErrors gives the HTTP status for Accept: %s', async (accept) => {
    const response = await open(accept, withHttpErrors())
    expect(response.status).toBeGreaterThanOrEqual(400)
    expect(response.status).toBeLessThan(500)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32005 } })
  })
})

describe.each(restTargets)('a failed stream in %s over %s', (...target) => {
  it.each([...jsonAccepts, 'text/event-stream'])('the error has its HTTP status for Accept: %s', async (accept) => {
    const response = await requestStreamIn(target, shared().server.url, 'hello', { headers: { accept }, isImage: true })
    expect(response.status).toBeGreaterThanOrEqual(400)
    expect(response.status).toBeLessThan(500)
    expect(isStream(response)).toBe(false)
    expect(JSON.stringify(await response.json())).toContain('Incompatible content types')
  })
})

it('httpErrors gives unary calls the status of their error as well', async () => {
  const { wire } = withHttpErrors()
  const statusOf = async (method: string, params: unknown) => (await wire.call(method, params)).status
  expect(await statusOf('GetTask', { id: 'none' })).toBe(404)
  expect(await statusOf('GetTask', {})).toBe(400)
  expect(await statusOf('ListTasks', {})).toBe(200)
  expect((await wire.post('{')).status).toBe(400)
})
