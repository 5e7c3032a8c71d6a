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
    'agents:\n  old: https://old.example\nrules:\n  - { name: all, principal: ada }\n',
  )
  expect((await cli.run(['gateway', 'gateway.yaml', '--check'], { cwd })).stdout).toContain('gateway.yaml is valid.')
  const explained = await cli.run(['gateway', 'gateway.yaml', '--explain', 'ada,old,sendMessage'], { cwd })
  expect(explained.stdout).toContain('allowed by all')
  await writeFile(join(cwd, 'wrong.yaml'), 'agent:\n  old: https://old.example\n')
  const wrong = await cli.run(['gateway', 'wrong.yaml', '--check'], { cwd })
  expect(wrong.stderr).toContain('wrong.yaml:1:1: agent: there is no agent. Did you mean agents?')
  expect(wrong.code).not.toBe(0)
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
