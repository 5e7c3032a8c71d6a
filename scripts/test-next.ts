/**
 * Runs the route of docs/guides/frameworks.md in a real Next.js application: `npm run test:next`. It installs Next.js into a temporary
 * folder (370 MB), builds and starts the application, and calls its agent with the official SDK. A job of its own in CI, not part of
 * `npm test`.
 */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client'
import * as legacySdk from 'a2a-sdk-0-3-last/client'
import manifest from '../package.json' with { type: 'json' }
import { readAsSnippet } from '../test/support/package/snippets.ts'
import { sdkFactoryClient } from '../test/support/sdk/factory-client.ts'
import { legacyFactoryClient } from '../test/support/sdk/legacy-factory-client.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const recipes = new URL('../test/docs/frameworks/', import.meta.url)
const packages = ['next@16.4.6', 'react@19', 'react-dom@19', 'typescript@5', '@types/react@19', '@types/node@24']
const mount = '/agents/echo'
const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' }

const folder = await mkdtemp(join(tmpdir(), 'parley-next-'))
try {
  await createApplication()
  await run('node', ['node_modules/next/dist/bin/next', 'build'])
  await withServer(callAgent)
  console.log('The agent answered in Next.js.')
} finally {
  await rm(folder, { recursive: true, force: true })
}

async function createApplication(): Promise<void> {
  await promisify(execFile)('npm', ['pack', '--pack-destination', folder], { cwd: root })
  await write('package.json', '{ "private": true }')
  await run('npm', ['install', '--no-audit', '--no-fund', `./${manifest.name}-${manifest.version}.tgz`, ...packages])
  const route = `app${mount}/[[...path]]`
  // Next.js imports without extensions, unless its tsconfig.json says otherwise.
  await write(`${route}/route.ts`, (await readAsSnippet(new URL('next-route.ts', recipes))).replace('echo.ts', 'echo'))
  await write(`${route}/echo.ts`, await readAsSnippet(new URL('echo.ts', recipes)))
  await write('app/page.tsx', 'export default function Page() {\n  return <p>Home</p>\n}\n')
  await write(
    'app/layout.tsx',
    'export default function Layout({ children }: { children: React.ReactNode }) {\n  return <html lang="en"><body>{children}</body></html>\n}\n',
  )
}

async function write(path: string, text: string): Promise<void> {
  const file = join(folder, path)
  await mkdir(join(file, '..'), { recursive: true })
  await writeFile(file, text)
}

async function run(program: string, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, { cwd: folder, env, stdio: 'inherit' })
  const [code] = await once(child, 'exit')
  assert.equal(code, 0, `${program} ${args.join(' ')} failed`)
}

async function withServer(use: (origin: string) => Promise<void>): Promise<void> {
  const child = spawn('node', ['node_modules/next/dist/bin/next', 'start', '-p', '0', '-H', '127.0.0.1'], {
    cwd: folder,
    env,
  })
  try {
    await use(await originIn(child.stdout))
  } finally {
    const exited = once(child, 'exit')
    child.kill()
    await exited
  }
}

/** The address that Next.js prints when it is ready. */
async function originIn(output: AsyncIterable<unknown>): Promise<string> {
  let text = ''
  for await (const chunk of output) {
    text += chunk
    const [, origin] = /(http:\/\/127\.0\.0\.1:\d+).*Ready/s.exec(text) ?? []
    if (origin !== undefined) return origin
  }
  throw new Error(`Next.js did not start: ${text}`)
}

async function callAgent(origin: string): Promise<void> {
  const base = `${origin}${mount}`
  const card = await (await fetch(`${base}/.well-known/agent-card.json`)).text()
  const addresses = new Set(Array.from(card.matchAll(/"url":"([^"]*)"/g), ([, url]) => url))
  assert.deepEqual([...addresses], [base])
  const clients = [
    ...[new JsonRpcTransportFactory(), new RestTransportFactory()].map((transport) =>
      sdkFactoryClient(new ClientFactory({ transports: [transport] }), `${base}/`),
    ),
    ...[new legacySdk.JsonRpcTransportFactory(), new legacySdk.RestTransportFactory()].map((transport) =>
      legacyFactoryClient(new legacySdk.ClientFactory({ transports: [transport] }), `${base}/`),
    ),
  ]
  for (const client of await Promise.all(clients)) {
    assert.deepEqual(await client.send('hello'), { message: 'You said: hello' })
    for await (const { words } of client.stream('hello')) assert.equal(words, 'message: You said: hello')
  }
}
