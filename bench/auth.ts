import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { hashApiKey } from 'parley-a2a/auth'
import { sendBody } from './calls.ts'
import { load } from './load.ts'
import { interleave, median } from './measure.ts'
import type { Answer, Question } from './report.ts'
import { type ServerProcess, startServer } from './server-process.ts'

const rounds = 9
const connections = 50
const milliseconds = 1_200
const warmUp = 6

/** What it costs a blocking send that callers are asked who they are. */
export const auth: Question = { name: 'auth', ask: measure }

async function measure(): Promise<Answer> {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const sign = (jti: string) =>
    new SignJWT({ iss: 'https://issuer.test', aud: 'bench', sub: 'alice', scope: 'read write', jti })
      .setProtectedHeader({ alg: 'ES256' })
      .setExpirationTime('1h')
      .sign(privateKey)
  const bearer = (token: string) => `authorization: Bearer ${token}`
  const one = [bearer(await sign('one'))]
  const apiKey = ['x-api-key: bench-key']
  // One for each connection and round: as many callers come at once for the first time.
  let fresh = 0
  const many = () => Promise.all(Array.from({ length: connections }, async () => bearer(await sign(`${++fresh}`))))

  const open = await startServer(new URL('./servers/parley.ts', import.meta.url))
  const key = JSON.stringify(await exportJWK(publicKey))
  const asking = await startServer(
    new URL('./servers/parley-auth.ts', import.meta.url),
    key,
    await hashApiKey('bench-key'),
  )
  try {
    for (let n = 0; n < warmUp; n++) {
      await sample(open, [])
      await sample(asking, n % 2 ? apiKey : one)
    }
    const measured = await interleave(rounds, {
      none: () => sample(open, []),
      token: () => sample(asking, one),
      tokens: async () => await sample(asking, await many()),
      apiKey: () => sample(asking, apiKey),
    })
    const rates = (name: Name) => measured.map((round) => round[name].rate / round.none.rate)
    return {
      title: `Blocking send by known callers, ${connections} connections, requests/s against callers who need not be known`,
      verdicts: [
        { what: 'ES256 token, the same for all : none', values: rates('token'), unit: 'x', target: { atLeast: 0.6 } },
        {
          what: 'the same, by the CPU time of the server',
          values: measured.map((round) => round.none.cpu / round.token.cpu),
          unit: 'x',
          target: { atLeast: 0.6 },
        },
        { what: 'ES256 token, a new one for each connection : none', values: rates('tokens'), unit: 'x' },
        { what: 'API key : none', values: rates('apiKey'), unit: 'x' },
      ],
      details: (Object.keys(labels) as Name[]).map((name) => ({
        callers: labels[name],
        'requests/s': Math.round(median(measured.map((round) => round[name].rate))),
        'server CPU µs/request': Math.round(median(measured.map((round) => round[name].cpu))),
      })),
    }
  } finally {
    await open.stop()
    await asking.stop()
  }
}

const labels = {
  none: 'nobody in particular',
  token: 'one ES256 token, sent again and again',
  tokens: 'a new ES256 token for each connection',
  apiKey: 'an API key',
}
type Name = keyof typeof labels

async function sample(server: ServerProcess, headers: readonly string[]) {
  const before = await server.ask('usage')
  const body = sendBody('Hello', 'SendMessage')
  const { requests, seconds } = await load({ port: server.port, body, headers, connections, milliseconds })
  const after = await server.ask('usage')
  return { rate: requests / seconds, cpu: (after.cpu - before.cpu) / requests }
}
