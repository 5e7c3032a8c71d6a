import { describe, expect, it, onTestFinished } from 'vitest'
import { apiKey, basic, hashApiKey, hashPassword } from '../../../src/entries/auth.ts'
import { until } from '../../support/async.ts'
import { grpcClient } from '../../support/grpc/grpc-client.ts'
import { startTestServer, type TestServerOptions } from '../../support/servers/test-server.ts'

const password = 'correct horse'
const users = { ada: { password: await hashPassword(password) }, bob: { password: await hashPassword(password) } }
const keys = [{ id: 'ci', hash: await hashApiKey('ci') }]

async function start(options: TestServerOptions = {}) {
  const auth = { schemes: { staff: basic({ users }), ci: apiKey({ keys }) } }
  const { server, wire } = await startTestServer(async () => 'hi', { auth, grpc: true, ...options })
  const call = (headers: Readonly<Record<string, string>>) =>
    fetch(`${server.url}/tasks`, { headers: { 'a2a-version': '1.0', ...headers } })
  return { server, wire, call }
}

function basicHeader(name: string, secret: string) {
  return { authorization: `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}` }
}

async function millisecondsOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0
}

describe('callers that guess passwords', () => {
  it.each([
    ['one address', (_: number) => ({})],
    ['twenty addresses', (guesser: number) => ({ 'x-forwarded-for': `192.0.2.${guesser}` })],
  ])('a caller with an API key is not delayed by twenty of them at %s', async (_, addressOf) => {
    const { wire, call } = await start({ trustProxy: true })
    const sendWithKey = () => wire.send('hi', {}, { 'x-api-key': 'ci' })
    await sendWithKey()
    const oneCheck = await millisecondsOf(() => call(basicHeader('ada', password)))
    let isOver = false
    const statuses: number[] = []
    const guess = async (_: unknown, guesser: number) => {
      for (let n = 0; !isOver; n++) {
        const { status } = await call({ ...basicHeader('ada', `${guesser}-${n}`), ...addressOf(guesser) })
        statuses.push(status)
        // The pause of a guesser that is refused at once, so that it does not measure this process's own `fetch`.
        if (status !== 401) await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
    const guessers = Array.from({ length: 20 }, guess)
    onTestFinished(() => {
      isOver = true
    })
    await until(() => statuses.length >= 10)
    const durations: number[] = []
    for (let n = 0; n < 15; n++) durations.push(await millisecondsOf(sendWithKey))
    isOver = true
    await Promise.all(guessers)
    expect(median(durations)).toBeLessThan(oneCheck)
    expect(statuses).toContain(401)
    expect(statuses.filter((status) => status !== 401 && status !== 429 && status !== 503)).toEqual([])
  })

  it('wrong passwords from one address get 429, with the time to wait, also over gRPC', async () => {
    const { server, call } = await start()
    const statuses: number[] = []
    let refused: Response | undefined
    for (let n = 0; n < 10 && !refused; n++) {
      const response = await call(basicHeader('ada', `wrong ${n}`))
      statuses.push(response.status)
      if (response.status === 429) refused = response
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
    expect(refused?.headers.get('retry-after')).toBe('1')
    const metadata = basicHeader('ada', password)
    const list = grpcClient(server.port).unary('lf.a2a.v1.A2AService/ListTasks', {}, { metadata })
    await expect(list).rejects.toMatchObject({ code: 8 })
    // The right password works again after the wait.
    await until(async () => (await call(basicHeader('ada', password))).status === 200)
  })

  it('a client that repeats one wrong password is not slowed down', async () => {
    const { call } = await start()
    const statuses: number[] = []
    for (let n = 0; n < 12; n++) statuses.push((await call(basicHeader('ada', 'outdated'))).status)
    expect(new Set(statuses)).toEqual(new Set([401]))
    expect((await call(basicHeader('ada', password))).status).toBe(200)
  })

  it('a caller whose password was correct before does not wait for others at its address', async () => {
    const { call } = await start()
    expect((await call(basicHeader('ada', password))).status).toBe(200)
    for (let n = 0; n < 5; n++) await call(basicHeader('ada', `wrong ${n}`))
    expect((await call(basicHeader('bob', password))).status).toBe(429)
    expect((await call(basicHeader('ada', password))).status).toBe(200)
  })
})
