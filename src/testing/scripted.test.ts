import { describe, expect, it } from 'vitest'
import { describeEvent } from '../../test/contracts/service/contract.ts'
import { collect } from '../../test/support/async.ts'
import { createPair } from './pair.ts'
import { type Step, scripted } from './scripted.ts'
import { createVirtualClock } from './virtual-clock.ts'

const open = async (...script: readonly Step[]) => await createPair(scripted(script))

describe('a scripted agent', () => {
  it('a script replies, updates its status, writes an artifact and returns data', async () => {
    await using replying = await open({ say: 'hello' })
    expect(await replying.client.send('hi')).toMatchObject({ type: 'message', text: 'hello' })
    await using working = await open(
      { status: 'working', text: 'Reading' },
      { artifact: 'report', chunks: ['a', 'b'] },
      { data: { pages: 2 }, name: 'facts' },
      { say: 'Done' },
    )
    const words = (await collect(working.client.stream('go'))).map(describeEvent)
    // A reader that has the last chunk before the artifact is closed gets an empty one.
    expect(words.filter((word) => word !== 'artifact , more, last')).toEqual([
      'task submitted',
      'status working: Reading',
      'artifact a',
      expect.stringMatching(/^artifact b, more(, last)?$/),
      expect.stringMatching(/^artifact .*"pages":2.*, last$/),
      'status completed: Done',
    ])
  })

  it('a script continues after the answer to its question, and records all messages', async () => {
    const asking = scripted([{ ask: 'Which one?' }, { artifact: 'answer', chunks: ['yes'] }])
    await using opened = await createPair(asking)
    const talk = opened.client.conversation()
    expect((await talk.send('go')).task?.status.state).toBe('input-required')
    expect((await talk.send('this one')).text).toBe('yes')
    expect(asking.received.map(({ parts }) => parts[0])).toEqual([{ text: 'go' }, { text: 'this one' }])
  })

  it.each<[string, Step, string, string]>([
    ['a failed task', { fail: 'No paper' }, 'failed', 'No paper'],
    ['a rejected task', { reject: 'Not me' }, 'rejected', 'Not me'],
  ])('a script ends with %s', async (_, step, state, text) => {
    await using opened = await open(step)
    expect(await opened.client.send('go')).toMatchObject({ text, task: { status: { state } } })
  })

  it('an error thrown by a script is not revealed to the caller', async () => {
    await using opened = await open({ throw: new Error('secret') })
    const { text, task } = await opened.client.send('go')
    expect(task?.status.state).toBe('failed')
    expect(text).not.toContain('secret')
  })

  it('a script hangs until its task is canceled', async () => {
    await using opened = await open({ status: 'working' }, { hang: true })
    const { task } = await opened.client.send('go', { returnImmediately: true })
    expect((await opened.client.task(task?.id ?? '').cancel()).status.state).toBe('canceled')
  })

  it('a script waits for a time and for a promise', async () => {
    const clock = createVirtualClock()
    const go = Promise.withResolvers<void>()
    const waiting = scripted([{ wait: 3_600_000 }, { wait: go.promise }, { say: 'Done' }], { clock })
    await using opened = await createPair(waiting, { clock, connect: { timeout: 86_400_000 } })
    const reply = opened.client.send('go')
    await clock.advance(3_600_000)
    go.resolve()
    expect((await clock.run(reply)).text).toBe('Done')
  })

  it('the script may depend on the turn', async () => {
    const clever = scripted(({ text }) => [{ say: text === 'hello' ? 'hi' : 'pardon?' }], { name: 'Clever' })
    await using opened = await createPair(clever)
    expect(opened.client.card.name).toBe('Clever')
    expect((await opened.client.send('hello')).text).toBe('hi')
    expect((await opened.client.send('olleh')).text).toBe('pardon?')
  })
})
