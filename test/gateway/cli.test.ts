import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { connect } from '../../src/entries/client.node.ts'
import { count, profile } from '../support/agents/interop-agent.ts'
import { shareCli } from '../support/processes/cli.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const cli = shareCli()

it('parley gateway checks, prints and explains a file', { timeout: 60_000 }, async () => {
  const cwd = await temporaryDirectory()
  await writeFile(
    join(cwd, 'gateway.yaml'),
    'auth:\n  apiKeys:\n    bob: { key: b, groups: [staff] }\n' +
      'agents:\n  old: https://old.example\nrules:\n  - { name: all, principal: ada }\n' +
      '  - { name: priced, group: staff, skill: price }\n',
  )
  expect((await cli.run(['gateway', 'gateway.yaml', '--check'], { cwd })).stdout).toContain('gateway.yaml is valid.')
  const explained = await cli.run(['gateway', 'gateway.yaml', '--explain', 'ada,old,sendMessage'], { cwd })
  expect(explained.stdout).toContain('allowed by all')
  const byGroup = await cli.run(['gateway', 'gateway.yaml', '--explain', 'bob,old,sendMessage,price'], { cwd })
  expect(byGroup.stdout).toContain('bob → old sendMessage: allowed by priced')
  const unknown = await cli.run(['gateway', 'gateway.yaml', '--explain', 'bob,odl,sendMessage'], { cwd })
  expect(unknown.stderr).toContain('There is no agent odl')
  await writeFile(join(cwd, 'wrong.yaml'), 'agent:\n  old: https://old.example\n')
  const wrong = await cli.run(['gateway', 'wrong.yaml', '--check'], { cwd })
  expect(wrong.stderr).toContain('wrong.yaml:1:1: agent: there is no agent. Did you mean agents?')
  expect(wrong.code).not.toBe(0)
})

it('parley gateway takes a changed file, whatever else is in it', { timeout: 60_000 }, async () => {
  const { server } = await startTestServer(count, { profile })
  const cwd = await temporaryDirectory()
  const file = join(cwd, 'gateway.yaml')
  const yaml = (path: string, more = '') =>
    `host: 127.0.0.1\ngrpc: false\nconsole: false\n${more}agents:\n  old: { url: "${server.url}", path: ${path} }\n`
  await writeFile(file, yaml('/one'))
  const gateway = cli.start(['gateway', 'gateway.yaml'], { cwd })
  const [url = ''] = await gateway.until(/http:\/\/127\.0\.0\.1:\d+/)
  expect((await (await connect(`${url}/one`)).send('hello')).text).toBe('hi')
  await writeFile(file, 'agents: {')
  await gateway.until(/The file is not used/)
  await writeFile(file, yaml('/two', 'metrics: true\n'))
  await gateway.until(/Reloaded\. A change of metrics needs a restart\./)
  expect((await (await connect(`${url}/two`)).send('hello')).text).toBe('hi')
  gateway.child.kill('SIGTERM')
  await gateway.result
})

it('parley gateway serves one agent by its URL', { timeout: 60_000 }, async () => {
  const { server } = await startTestServer(count, { profile })
  const cwd = await temporaryDirectory()
  const gateway = cli.start(['gateway', server.url], { cwd })
  const [url = ''] = await gateway.until(/http:\/\/127\.0\.0\.1:\d+/)
  const client = await connect(url)
  expect((await client.send('hello')).text).toBe('hi')
  gateway.child.kill('SIGTERM')
  await gateway.result
})
