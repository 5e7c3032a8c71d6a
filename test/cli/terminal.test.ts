import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { demoAgent } from '../../src/cli/serve/demo-agent.ts'
import { shareCli } from '../support/processes/cli.ts'
import { startTerminal } from '../support/processes/terminal.ts'
import { legacySdkCard } from '../support/sdk/legacy-agent.ts'
import { startRecordingPeer } from '../support/servers/recording-peer.ts'
import { shareTestServer } from '../support/servers/test-server.ts'

const flight = z.object({
  from: z.string().describe('Airport'),
  seats: z.number().int(),
  class: z.enum(['economy', 'business']),
})

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

/** Writes Markdown with a table, and asks for an object. */
const writer = shareTestServer(
  async (turn) => {
    await turn.status('working', 'Reading the numbers')
    if (turn.text === 'book') return `Booked ${JSON.stringify(await turn.ask('Which flight?', { schema: flight }))}`
    const sales = turn.artifact('sales.md')
    await sales.write('# Sales\n\n| Region | Revenue |\n|---|--:|\n')
    await sales.write('| **North** | 1,200 |\n| South | 900 |\n')
    await sales.close()
    await turn.status('completed', 'Done')
    return undefined
  },
  { profile: { ...demoAgent.profile, name: 'Writer' } },
)

describe('people', () => {
  it('the answer of send is rendered as in a chat, with its tables', async () => {
    const args = ['send', '-a', writer().server.url, 'sales']
    for (const more of [[], ['--stream']]) {
      const terminal = startTerminal([...args, ...more], { home: cli.home(), columns: 60 })
      expect(await terminal.ended()).toBe(0)
      expect(terminal.text()).toMatch(/Region +Revenue\n─+ +─+\nNorth +1,200\nSouth +900\n/)
      expect(terminal.text()).toContain('Sales\n')
      if (more.length > 0) expect(terminal.raw()).toContain('\u001b[2mReading the numbers')
    }
    // Programs get the text as it is.
    expect((await cli.run(args)).stdout).toContain('| **North** | 1,200 |')
  })

  it('tasks are a table with states in color, and their short ids are accepted', async () => {
    const { url } = writer().server
    const sent = await cli.run(['send', '-a', url, 'sales', '-o', 'json'])
    const { id } = sent.json().task
    const terminal = startTerminal(['task', 'list', '-a', url], { home: cli.home(), columns: 60 })
    expect(await terminal.ended()).toBe(0)
    const short = terminal.text().match(/^(\S+) +completed .*Done$/m)?.[1]
    expect(id.endsWith(short)).toBe(true)
    expect(terminal.raw()).toContain('\u001b[32mcompleted')
    const [got, start, piped, unknown] = await Promise.all([
      cli.run(['task', 'get', short ?? '', '-a', url]),
      cli.run(['task', 'cancel', short ?? '', '-a', url]),
      cli.run(['task', 'list', '-a', url]),
      cli.run(['task', 'get', 'zzzzzz', '-a', url]),
    ])
    expect(got.field('Task')).toBe(id)
    expect(start.stderr).not.toContain('TaskNotFound')
    expect(piped.field('Task')).toBe(id)
    expect(unknown.code).toBe(1)
  })

  it('the chat offers the agents that were used last, and a question about an object becomes a form', async () => {
    const { url } = writer().server
    await cli.run(['card', 'get', url])
    const terminal = startTerminal(['chat'], { home: cli.home() })
    await terminal.until(/Which agent\?/)
    terminal.write('\r')
    await terminal.until(/lists the commands/)
    terminal.write('book\r')
    await terminal.until(/from: Airport/)
    terminal.write('ZRH\r')
    await terminal.until(/◆ {2}seats/)
    terminal.write('two\r')
    await terminal.until(/Expected a whole number/)
    terminal.write('\u007f\u007f\u007f2\r')
    await terminal.until(/economy/)
    terminal.write('\r')
    await terminal.until(/Booked \{"from":"ZRH","seats":2,"class":"economy"\}\s+> /)
    terminal.write('\u0004')
    expect(await terminal.ended()).toBe(0)
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
