import { describe, expect, it } from 'vitest'
import { demoAgent } from '../../src/cli/serve/demo-agent.ts'
import { shareCli } from '../support/processes/cli.ts'
import { startTerminal } from '../support/processes/terminal.ts'
import { legacySdkCard } from '../support/sdk/legacy-agent.ts'
import { startRecordingPeer } from '../support/servers/recording-peer.ts'
import { shareTestServer } from '../support/servers/test-server.ts'

const cli = shareCli()
const demo = shareTestServer(demoAgent.run, { profile: demoAgent.profile })

describe('on a terminal', () => {
  it('the help fits into 60 columns', async () => {
    const terminal = startTerminal(['help'], { home: cli.home(), columns: 60 })
    expect(await terminal.ended()).toBe(0)
    const lines = terminal.text().trimEnd().split('\n')
    expect(lines.length).toBeLessThanOrEqual(40)
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(60)
  })
})

describe('everywhere', () => {
  it('an agent below 1.0 is refused with the command that calls it, and config set opts in once', async () => {
    const peer = await startRecordingPeer({
      card: (origin) => legacySdkCard(origin),
      result: () => ({ kind: 'message', messageId: 'm', role: 'agent', parts: [{ kind: 'text', text: 'hi' }] }),
    })
    const send = ['send', '-a', peer.origin, 'two words']
    const refused = await cli.run(send)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain(`parley send -a ${peer.origin} 'two words' --a2a-version 0.3`)
    expect((await cli.run(['config', 'set', 'a2a-version', 'auto'])).code).toBe(0)
    expect((await cli.run(send)).field('Message')).toBe('hi')
    expect((await cli.run(['config', 'set', 'a2a-version'])).code).toBe(0)
    expect((await cli.run(send)).code).toBe(1)
    const [unknown, secret] = await Promise.all([
      cli.run(['config', 'set', 'a2a-versio', 'auto']),
      cli.run(['config', 'set', 'bearer', 'x']),
    ])
    expect([unknown.code, secret.code]).toEqual([2, 2])
    expect(unknown.stderr).toContain('Did you mean a2a-version?')
  })

  it('--exit-status makes the exit code that of the task', async () => {
    const run = (text: string) => cli.run(['send', '-a', demo().server.url, text, '--exit-status'])
    const results = await Promise.all([run('count'), run('fail'), run('hello'), run('ask')])
    expect(results.map(({ code }) => code)).toEqual([0, 1, 0, 1])
    expect((await cli.run(['send', '-a', demo().server.url, 'fail'])).code).toBe(0)
  })
})
