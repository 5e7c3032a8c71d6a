import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { proxyConformance } from '../../src/conformance/proxy.ts'
import type { Mode } from '../../src/gateway/options.ts'
import { startGateway } from '../gateway/support.ts'
import { count, profile } from '../support/agents/interop-agent.ts'
import { startTestServer } from '../support/servers/test-server.ts'

const texts = { task: 'count', message: 'hello', inputRequired: 'ask', longRunning: 'wait' }

/** A plain reverse proxy, whose answers the test changes. */
async function startProxy(origin: string, change: (text: string, request: IncomingMessage) => string | undefined) {
  const server = createServer((incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { method, headers } = incoming
    const upstream = send(`${origin}${incoming.url}`, { method, headers: { ...headers, host: new URL(origin).host } })
    upstream.on('response', async (response) => {
      let text = ''
      for await (const chunk of response) text += chunk
      const { 'content-length': _, 'transfer-encoding': __, ...rest } = response.headers
      outgoing.writeHead(response.statusCode ?? 502, rest).end(change(text, incoming) ?? text)
    })
    upstream.on('error', () => outgoing.destroy())
    incoming.pipe(upstream)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('the proxy profile', () => {
  it.each<Mode>(['durable', 'pass-through'])(
    'is kept by a %s agent of our gateway',
    { timeout: 60_000 },
    async (mode) => {
      const { server } = await startTestServer(count, { profile, push: { loopback: 'allow' } })
      const gateway = await startGateway({ agents: { ada: { url: server.url, mode } }, push: {} })
      const options = { texts, versions: ['1.0', '0.3'], bindings: ['JSONRPC'] } as const
      const report = await proxyConformance(gateway.url, server.url, options)
      const failures = report
        .failed()
        .map(({ rule, version, binding, problem }) => `${version} ${binding} ${rule}: ${problem}`)
      expect(failures).toEqual([])
      const passed = report.checks.filter(({ outcome }) => outcome === 'passed').map(({ rule }) => rule)
      const proxy = [...new Set(passed.filter((rule) => rule.startsWith('proxy/')))]
      expect(proxy.toSorted()).toEqual([
        ...['proxy/card-addresses', 'proxy/card-content', 'proxy/foreign-task', 'proxy/get-after-send'],
        ...['proxy/result-kind', 'proxy/stream-events', 'proxy/stream-live', 'proxy/task-content'],
      ])
    },
  )

  it('names what a careless proxy breaks', { timeout: 60_000 }, async () => {
    const { server } = await startTestServer(count, { profile })
    // It buffers streams, joins their chunks, leaves the card as it is, and adds to texts.
    const url = await startProxy(server.url, (text, { url: path = '' }) =>
      path.includes('well-known') ? text.replace('"Ada"', '"Ada 2"') : text.replaceAll('"two"', '"zwei"'),
    )
    const options = { texts, versions: ['1.0'], bindings: ['JSONRPC'], timeout: 5_000 } as const
    const named = ['card-addresses', 'card-content', 'task-content', 'stream-events', 'stream-live', 'foreign-task']
    const rules = named.map((name) => `proxy/${name}`)
    const report = await proxyConformance(url, server.url, { ...options, rules })
    // The suite calls the interfaces that the card names: through this proxy, only the card is judged.
    expect(report.failed('MUST').map(({ rule }) => rule)).toEqual(expect.arrayContaining(rules.slice(0, 2)))
    expect(report.failed('SHOULD').map(({ rule }) => rule)).toEqual(['proxy/foreign-task'])
    const rewriting = await startProxy(server.url, (text) =>
      text.replaceAll(server.url, rewritten).replaceAll('two', 'zwei'),
    )
    const rewritten = rewriting
    const other = await proxyConformance(rewriting, server.url, { ...options, rules })
    expect(
      other
        .failed()
        .map(({ rule }) => rule)
        .toSorted(),
    ).toEqual([...['proxy/foreign-task', 'proxy/stream-events', 'proxy/stream-live', 'proxy/task-content']])
  })
})
