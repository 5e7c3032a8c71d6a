import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { createMetrics } from '../../src/core/telemetry/metrics.ts'
import { connect } from '../../src/entries/client.node.ts'
import { agent, serve } from '../../src/entries/index.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const read = (name: string) => readFile(new URL(`../../deploy/${name}`, import.meta.url), 'utf8')
const has = (program: string, flag: string) => spawnSync(program, [flag]).error === undefined

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { readonly port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** An agent that writes three words with pauses. */
async function startAgent() {
  const writer = agent({ name: 'Writer' }, async (turn) => {
    const report = turn.artifact('report.txt')
    for (const word of ['one', 'two', 'three']) {
      await report.write(word)
      await new Promise((resolve) => setTimeout(resolve, 300))
    }
    return 'written'
  })
  const directory = await temporaryDirectory()
  const server = await serve(writer, {
    ...{ port: 0, directory, auth: 'none', trustProxy: true, signals: false, metrics: true, console: false },
    http: { hosts: 'any' },
  })
  onTestFinished(() => server.close())
  return new URL(server.url).port
}

function endAfterTest(child: ChildProcess): void {
  onTestFinished(async () => {
    child.kill('SIGTERM')
    if (child.exitCode === null) await once(child, 'exit')
  })
}

/** Calls the agent through a proxy: the card has the proxy's address, a stream arrives as it is written, metrics are hidden. */
async function expectProxied(url: string): Promise<void> {
  await expect
    .poll(
      () =>
        fetch(`${url}/livez`).then(
          ({ status }) => status,
          () => 0,
        ),
      { timeout: 20_000 },
    )
    .toBe(200)
  const headers = { 'x-forwarded-prefix': '/elsewhere', forwarded: 'host=evil.example.com' }
  const card = await (await fetch(`${url}/.well-known/agent-card.json`, { headers })).json()
  expect(card).toMatchObject({ url: `${url}/` })
  const times: number[] = []
  const client = await connect(url)
  for await (const event of client.stream('go')) if (event.type === 'artifact') times.push(performance.now())
  expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(400)
  expect((await fetch(`${url}/metrics`)).status).toBe(403)
}

describe('deploy/', () => {
  it.skipIf(!has('nginx', '-v'))(
    'nginx passes streams on at once, and names the address that callers use',
    async () => {
      const [upstream, port, directory] = [await startAgent(), await freePort(), await temporaryDirectory()]
      const site = (await read('nginx.conf'))
        .replace('listen 80;', `listen 127.0.0.1:${port};`)
        .replace('127.0.0.1:4000', `127.0.0.1:${upstream}`)
      await mkdir(join(directory, 'temporary'))
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (name) => `${name}_temp_path temporary/${name};`,
      )
      const main = `daemon off; pid nginx.pid; error_log stderr; events {} http { access_log off; ${paths.join(' ')}\n${site} }`
      await writeFile(join(directory, 'main.conf'), main)
      endAfterTest(spawn('nginx', ['-p', directory, '-c', join(directory, 'main.conf'), '-e', 'stderr']))
      await expectProxied(`http://127.0.0.1:${port}`)
    },
  )

  it.skipIf(!has('caddy', 'version'))(
    'Caddy passes streams on at once, and names the address that callers use',
    async () => {
      const [upstream, port, directory] = [await startAgent(), await freePort(), await temporaryDirectory()]
      const site = (await read('Caddyfile'))
        .replace('agent.example.com {', `http://127.0.0.1:${port} {`)
        .replace('127.0.0.1:4000', `127.0.0.1:${upstream}`)
      await writeFile(join(directory, 'Caddyfile'), `{\n\tadmin off\n}\n${site}`)
      const env = { ...process.env, HOME: directory, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory }
      endAfterTest(spawn('caddy', ['run', '--adapter', 'caddyfile', '--config', join(directory, 'Caddyfile')], { env }))
      await expectProxied(`http://127.0.0.1:${port}`)
    },
  )

  it.skipIf(!has('systemd-analyze', '--version'))('systemd accepts the unit without a warning', async () => {
    const file = join(await temporaryDirectory(), 'parley-agent.service')
    await writeFile(file, (await read('parley-agent.service')).replace('/usr/bin/node', process.execPath))
    const { stderr } = await promisify(execFile)('systemd-analyze', ['verify', '--man=no', file])
    expect(stderr.split('\n').filter((line) => line.includes('parley-agent'))).toEqual([])
  })

  it('the alerts and the dashboard use only metrics that exist', async () => {
    const zero = () => 0
    const metrics = createMetrics({
      gauges: { runs: zero, queued: zero, webhooks: zero },
      labels: { agent: 'A' },
    }).text()
    const names = new Set([...metrics.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name))
    const rules = (parse(await read('alerts.yml')) as AlertFile).groups.flatMap((group) => group.rules)
    expect(rules.length).toBeGreaterThan(3)
    for (const rule of rules) {
      expect(Object.keys(rule)).toEqual(expect.arrayContaining(['alert', 'expr', 'labels', 'annotations']))
    }
    const dashboard = JSON.parse(await read('grafana-dashboard.json')) as Dashboard
    const queries = [...rules, ...dashboard.panels.flatMap(({ targets }) => targets)].map(({ expr }) => expr)
    const used = queries.flatMap((query) =>
      [...query.matchAll(/parley_\w+/g)].map(([name]) => name.replace(/_bucket$/, '')),
    )
    expect(used.filter((name) => !names.has(name))).toEqual([])
  })
})

interface AlertFile {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[]
}

interface Dashboard {
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[]
}
