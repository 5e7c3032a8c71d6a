import { expect, it } from 'vitest'
import { releasedDialects } from '../../src/core/dialects/versions.ts'
import type { Fault } from '../conformance/faulty-agent.ts'
import { startSpoilingProxy } from '../conformance/spoiling-proxy.ts'
import { count, profile } from '../support/agents/interop-agent.ts'
import { type CliResult, shareCli } from '../support/processes/cli.ts'
import { shareTestServer, startTestServer } from '../support/servers/test-server.ts'

const cli = shareCli()
const dialects = { speak: [...releasedDialects, 'v1.1'] } as const
const shared = shareTestServer(count, { profile, dialects })

it('--a2a-version 1.1 speaks the draft where the card names it', async () => {
  const { url } = shared().server
  const sent = await cli.run(['send', 'count', '--agent-card', url, '--a2a-version', '1.1', '-o', 'json'])
  expect([sent.code, sent.stderr]).toEqual([0, ''])
  const { server } = await startTestServer(count, { profile })
  const refused = await cli.run(['send', 'count', '--agent-card', server.url, '--a2a-version', '1.1'])
  expect(refused).toMatchObject({ code: expect.any(Number), stderr: expect.stringContaining('its card names 1.0') })
  expect(refused.code).not.toBe(0)
})

it('doctor and conformance judge an agent by the draft', async () => {
  const { url } = shared().server
  const judged = await cli.run([
    'conformance',
    url,
    '--a2a-version',
    '1.1',
    '--rule',
    'generation/task',
    '--task-text',
    'count',
  ])
  expect([judged.code, judged.stdout]).toEqual([0, expect.stringContaining('1.1')])
  const examined = await cli.run(['doctor', url, '--send', 'count', '-o', 'json'])
  const { findings, interfaces } = examined.json()
  expect(interfaces.map(({ version }: { readonly version: string }) => version)).toContain('1.1')
  expect(findings.map(({ id }: { readonly id: string }) => id)).not.toContain('generation-wrong')
})

it('doctor finds an agent that counts the changes of its tasks wrongly', async () => {
  const { server } = await startTestServer(count, { profile, dialects: { speak: ['v1.1'] } })
  const spoilNumbers: Fault = {
    event(event, index, { operation }) {
      const [body] = Object.values<{ generation?: string }>(event.result ?? {})
      if (operation === 'stream' && index > 1 && body) body.generation = '2'
      return [event]
    },
  }
  const send = ['--send', 'count', '-o', 'json']
  const [right, wrong] = await Promise.all([
    cli.run(['doctor', await startSpoilingProxy(server.url, {}), ...send]),
    cli.run(['doctor', await startSpoilingProxy(server.url, spoilNumbers), ...send]),
  ])
  const findings = (result: CliResult) => result.json().findings.map(({ id }: { readonly id: string }) => id)
  expect(findings(right)).not.toContain('generation-wrong')
  expect([wrong.code, findings(wrong)]).toEqual([1, expect.arrayContaining(['generation-wrong'])])
})
