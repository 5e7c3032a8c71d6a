import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client'
import * as legacySdk from 'a2a-sdk-0-3-last/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { collect } from '../support/async.ts'
import { createConsumer } from '../support/package/consumer.ts'
import { readAsSnippet } from '../support/package/snippets.ts'
import { hasPrograms, programPath } from '../support/programs/programs.ts'
import { sdkFactoryClient } from '../support/sdk/factory-client.ts'
import { legacyFactoryClient } from '../support/sdk/legacy-factory-client.ts'

const isBuilt = existsSync(new URL('../../dist/server.js', import.meta.url))

const page = await readFile(new URL('../../docs/guides/frameworks.md', import.meta.url), 'utf8')
const echo = await readAsSnippet(new URL('./frameworks/echo.ts', import.meta.url))

const flags = {
  bun: ['run'],
  deno: ['run', '--node-modules-dir=manual', '--allow-net', '--allow-env', '--allow-read', '--quiet'],
} as const

/** The snippet of the page, at a free port that the program prints. */
function snippetFor(runtime: keyof typeof flags): string {
  const [, code = ''] = new RegExp(`<!-- ${runtime} -->\n\n\`\`\`ts\n(.*?)\`\`\``, 's').exec(page) ?? []
  return code.replace('port: 3000', "port: 0, hostname: '127.0.0.1'")
}

/** The program that the page describes for an agent at the root. */
const atTheRoot = {
  bun: "Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: handler.fetch })",
  deno: "Deno.serve({ port: 0, hostname: '127.0.0.1' }, handler.fetch)",
} as const

function rootProgram(runtime: keyof typeof flags): string {
  const imports = "import { createHandler } from 'parley-a2a/server'\nimport { echo } from './echo.ts'\n"
  return `${imports}const handler = createHandler(echo, { auth: 'none' })\n${atTheRoot[runtime]}`
}

/** Starts a program that serves on a free port, and returns its origin. */
async function start(runtime: keyof typeof flags, code: string): Promise<string> {
  const port = runtime === 'bun' ? 'server.port' : 'server.addr.port'
  const main = code.replace(/^(Bun|Deno)\.serve\(/m, 'const server = $&')
  const project = await createConsumer([], { 'echo.ts': echo, 'main.ts': `${main}\nconsole.log('port', ${port})` })
  const child = spawn(await programPath(runtime), [...flags[runtime], 'main.ts'], { cwd: project })
  onTestFinished(() => stop(child))
  let errors = ''
  child.stderr.on('data', (text) => {
    errors += text
  })
  for await (const line of createInterface(child.stdout)) {
    if (line.startsWith('port ')) return `http://127.0.0.1:${line.slice(5)}`
  }
  throw new Error(`${runtime} ended: ${errors}`)
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

/** Finds the agent by its card and calls it, with clients of two versions of the official SDK. */
async function expectAnswers(base: string): Promise<void> {
  const clients = [
    ...[new JsonRpcTransportFactory(), new RestTransportFactory()].map((transport) =>
      sdkFactoryClient(new ClientFactory({ transports: [transport] }), `${base}/`),
    ),
    ...[new legacySdk.JsonRpcTransportFactory(), new legacySdk.RestTransportFactory()].map((transport) =>
      legacyFactoryClient(new legacySdk.ClientFactory({ transports: [transport] }), `${base}/`),
    ),
  ]
  for (const client of await Promise.all(clients)) {
    expect(await client.send('hello')).toEqual({ message: 'You said: hello' })
    const [event] = await collect(client.stream('hello'))
    expect(event?.words).toBe('message: You said: hello')
  }
  const card = await (await fetch(`${base}/.well-known/agent-card.json`)).text()
  const addresses = Array.from(card.matchAll(/"url":"([^"]*)"/g), ([, url]) => url)
  expect(new Set(addresses)).toEqual(new Set([`${base}/`, base]))
}

describe.runIf(isBuilt && hasPrograms).each(['bun', 'deno'] as const)('%s', { timeout: 240_000 }, (runtime) => {
  it('the agent of the page is called by the official SDK below its path', async () => {
    const origin = await start(runtime, snippetFor(runtime))
    await expectAnswers(`${origin}/agents/echo`)
    expect(await (await fetch(`${origin}/about`)).text()).toBe('the rest of the application')
  })

  it('an agent is called by the official SDK at the root', async () => {
    expect(page).toContain(atTheRoot[runtime].replace(/ port: 0, hostname: '127.0.0.1',|\{ port: 0.*?\}, /, ''))
    await expectAnswers(await start(runtime, rootProgram(runtime)))
  })
})
