import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { hashApiKey } from 'parley-a2a/auth'
import { sendBody } from './calls.ts'
import { load } from './load.ts'
import { interleave, median } from './measure.ts'
import type { Benchmark, BenchmarkResult } from './report.ts'
import { type ServerProcess, startServer, unpin } from './server-process.ts'
import { withUsage } from './with-usage.ts'
import { withDirectory } from './work-directory.ts'
import { hasWrk, loadWithWrk } from './wrk.ts'

const rounds = 15
const connections = 50
const milliseconds = 1_200
const warmUp = 6
/** As in `blocking-send.ts`. */
const withWrk = { connections: 32, seconds: 2 }

/** Cost of authentication for a blocking send. */
export const auth: Benchmark = { name: 'auth', run: () => withDirectory(measure) }

async function measure(directory: string): Promise<BenchmarkResult> {
  using _allCores = hasWrk ? unpin() : undefined
  const body = sendBody('Hello', 'SendMessage')
  const sample = (server: ServerProcess, headers: readonly string[]) =>
    withUsage(server, () =>
      hasWrk
        ? loadWithWrk({ port: server.port, ...withWrk, headers, directory })
        : load({ port: server.port, body, headers, connections, milliseconds }),
    )
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const sign = (jti: string) =>
    new SignJWT({ iss: 'https://issuer.test', aud: 'bench', sub: 'alice', scope: 'read write', jti })
      .setProtectedHeader({ alg: 'ES256' })
      .setExpirationTime('1h')
      .sign(privateKey)
  const bearer = (token: string) => `authorization: Bearer ${token}`
  const sharedToken = [bearer(await sign('one'))]
  const apiKey = ['x-api-key: bench-key']
  // A new token per connection and round: all callers authenticate for the first time at once.
  let tokenCount = 0
  const newTokens = () =>
    Promise.all(Array.from({ length: connections }, async () => bearer(await sign(`${++tokenCount}`))))

  const open = await startServer(new URL('./servers/parley.ts', import.meta.url))
  const key = JSON.stringify(await exportJWK(publicKey))
  const authenticating = await startServer(
    new URL('./servers/parley-auth.ts', import.meta.url),
    key,
    await hashApiKey('bench-key'),
  )
  try {
    for (let n = 0; n < warmUp; n++) {
      await sample(open, [])
      for (const headers of [[], apiKey, sharedToken]) await sample(authenticating, headers)
    }
    const measured = await interleave(rounds, {
      none: () => sample(authenticating, []),
      open: () => sample(open, []),
      token: () => sample(authenticating, sharedToken),
      tokens: async () => await sample(authenticating, await newTokens()),
      apiKey: () => sample(authenticating, apiKey),
    })
    const rates = (name: Name) => measured.map((round) => round[name].rate / round.none.rate)
    return {
      title: `Blocking send with authentication, ${hasWrk ? `wrk with ${withWrk.connections}` : connections} connections, requests/s`,
      comparisons: [
        { label: 'ES256 token, shared by all : none', values: rates('token'), unit: 'x', target: { atLeast: 0.9 } },
        {
          label: 'the same, by server CPU time',
          values: measured.map((round) => round.none.cpu / round.token.cpu),
          unit: 'x',
          target: { atLeast: 0.9 },
        },
        { label: 'ES256 token, a new one per connection : none', values: rates('tokens'), unit: 'x' },
        { label: 'API key : none', values: rates('apiKey'), unit: 'x' },
        {
          label: 'ES256 token, shared by all : a server without schemes',
          values: measured.map((round) => round.token.rate / round.open.rate),
          unit: 'x',
        },
      ],
      details: (Object.keys(labels) as Name[]).map((name) => ({
        callers: labels[name],
        'requests/s': Math.round(median(measured.map((round) => round[name].rate))),
        'server CPU µs/request': Math.round(median(measured.map((round) => round[name].cpu))),
      })),
      notes: [
        'All callers but the last send to one process, which also accepts callers without credentials: two processes with the same code may differ by a fifth.',
      ],
    }
  } finally {
    await open.stop()
    await authenticating.stop()
  }
}

const labels = {
  none: 'without credentials',
  token: 'one ES256 token for all requests',
  tokens: 'a new ES256 token per connection',
  apiKey: 'an API key',
  open: 'a server without schemes',
}
type Name = keyof typeof labels
