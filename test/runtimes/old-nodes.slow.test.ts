import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { createConsumer, entryNames } from '../support/package/consumer.ts'
import { hasPrograms, programPath } from '../support/programs/programs.ts'
import { oldNodes, runSuiteOn } from '../support/programs/suite-on-node.ts'

const isBuilt = existsSync(new URL('../../dist/index.js', import.meta.url))

/** Tests of the code that uses Node's own modules. `npm run test:runtimes` runs all unit and wire tests. */
const nodeTests = [
  ...['src/stores/sqlite', 'src/core/node', 'src/serve'],
  ...['erase', 'limit-store', 'push-store', 'registry-entries', 'replay-cache', 'service', 'task-log'].map(
    (name) => `test/contracts/${name}.test.ts`,
  ),
  ...['dialects/grpc-client', 'dialects/json-rpc', 'auth/mutual-tls', 'push/push', 'dialects/rest-legacy'].map(
    (name) => `test/wire/${name}.test.ts`,
  ),
  'test/wire/streams',
  ...['test/mesh/serve.test.ts', 'test/cli/develop.test.ts'],
]

/** PostgreSQL does not depend on the version of Node. */
const withoutPostgres = ['--testNamePattern', '^(?!.*PostgreSQL)']

describe.skipIf(!hasPrograms)('the lowest supported versions of Node', () => {
  // Concurrent, because each waits for processes and timers for a part of its time.
  for (const node of oldNodes) {
    it.concurrent(`stores, listeners, transports and clients work: ${node}`, { timeout: 600_000 }, async ({
      signal,
      expect,
    }) => {
      const { passed, output } = await runSuiteOn(node, [...nodeTests, ...withoutPostgres], { signal })
      expect(passed, output).toBe(true)
      expect(output).toMatch(/^[1-9]\d{2,} passed, 0 failed/m)
    })
  }

  it('the first version is the one that the package declares', async () => {
    const { stdout } = await promisify(execFile)(await programPath(oldNodes[0]), ['--version'])
    expect(`>=${stdout.trim()}`).toBe(manifest.engines.node.replace('>=', '>=v').concat('.0'))
  })
})

describe.skipIf(!hasPrograms || !isBuilt)('Node 20', () => {
  it('every entry of the package is refused at import with a sentence', { timeout: 240_000 }, async () => {
    const node20 = await programPath('node-20')
    // Those of front ends are built for pages, which have no Node.
    const forPages = ['parley-a2a/ai-sdk/chat', 'parley-a2a/ag-ui', 'parley-a2a/react']
    const names = entryNames.filter((name) => !forPages.includes(name))
    const attempts = names.map((name) => `await import('${name}').catch(({ message }) => message)`)
    const project = await createConsumer(['@opentelemetry/api', 'rxjs'], {
      'main.js': `console.log(JSON.stringify([${attempts.join(', ')}]))`,
    })
    const { stdout } = await promisify(execFile)(node20, [join(project, 'main.js')], { timeout: 60_000 })
    const messages = JSON.parse(stdout) as readonly string[]
    const refused = names.filter((_, index) =>
      /^parley-a2a needs Node 22\.13 or newer, and this is Node 20/.test(messages[index] ?? ''),
    )
    expect(refused).toEqual(names)
  })

  it('the command line ends with a sentence and no stack trace', { timeout: 240_000 }, async () => {
    const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
    const running = promisify(execFile)(await programPath('node-20'), [main, 'doctor'], { timeout: 60_000 })
    await expect(running).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^parley-a2a needs Node 22\.13 or newer, and this is Node 20\.\d+\.\d+\..*\n$/),
    })
  })

  it('a program that serves an agent ends at once with a sentence', { timeout: 240_000 }, async () => {
    const project = await createConsumer([], {
      'main.js': `import { agent, serve } from 'parley-a2a'
        await serve(agent({ name: 'Echo' }, (turn) => turn.text), { port: 0 })`,
    })
    const running = promisify(execFile)(await programPath('node-20'), [join(project, 'main.js')], { timeout: 60_000 })
    await expect(running).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('parley-a2a needs Node 22.13 or newer, and this is Node 20'),
    })
  })
})
