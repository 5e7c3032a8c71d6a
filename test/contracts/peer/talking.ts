import { expect, it } from 'vitest'
import { profile } from '../../support/agents/interop-agent.ts'
import { collect } from '../../support/async.ts'
import { taskOf } from '../../support/sdk/sdk-client.ts'
import { finalOf, open, type PeerContract, wordsOf } from './contract.ts'

/** How a client finds an agent, writes to it and reads what it says. */
export function talkingContract(contract: PeerContract): void {
  const { hasAppend = true, hasNoHistory = true, hasList = false } = contract
  const final = finalOf(contract)
  const more = hasAppend ? ', more' : ''

  it.each([undefined, '.well-known/agent-card.json', '.well-known/agent.json'])(
    'finds its way by the card at %s',
    async (cardPath) => {
      const peer = await open(contract, cardPath)
      expect(await peer.card()).toMatchObject(profile)
      expect(await peer.send('hello')).toEqual({ message: 'hi' })
    },
  )

  it('gets a task when it has ended, and the same task again later', async () => {
    const peer = await open(contract)
    const task = taskOf(await peer.send('count'))
    expect(task).toMatchObject({ state: 'completed', artifacts: [['one', 'two', 'three']] })
    expect(await peer.get(task.id)).toEqual(task)
  })

  it('does not wait for the end if it says so', async () => {
    const peer = await open(contract)
    const { id, state } = taskOf(await peer.send('wait', { blocking: false }))
    expect(state).toMatch(/^(submitted|working)$/)
    await peer.cancel(id)
  })

  it('reads every event of a stream in its order, until it ends', async () => {
    const events = await collect((await open(contract)).stream('count'))
    expect(wordsOf(events)).toEqual([
      'task working',
      'artifact one',
      `artifact two${more}`,
      `artifact three${more}`,
      `artifact ${more}, last`,
      `status completed: Counted${final}`,
    ])
    expect(new Set(events.map(({ taskId }) => taskId)).size).toBe(1)
  })

  it('reads a stream that is one message', async () => {
    expect(wordsOf(await collect((await open(contract)).stream('hello')))).toEqual(['message: hi'])
  })

  it('is asked, and answers', async () => {
    const peer = await open(contract)
    const { id, state } = taskOf(await peer.send('ask'))
    expect(state).toBe('input-required')
    expect(taskOf(await peer.send('three', { taskId: id }))).toMatchObject({ id, state: 'completed' })
  })

  it('is asked in a stream, which ends with the question, and answers in another', async () => {
    const peer = await open(contract)
    const asked = await collect(peer.stream('ask'))
    expect(wordsOf(asked)).toEqual(['task working', `status input-required: Up to what?${final}`])
    const answered = await collect(peer.stream('three', { taskId: `${asked[0]?.taskId}` }))
    expect(answered.at(-1)).toEqual({ taskId: asked[0]?.taskId, words: `status completed: Counted${final}` })
  })

  it('gets as much of the history as it wants', async () => {
    const peer = await open(contract)
    const { id } = taskOf(await peer.send('ask'))
    await peer.send('three', { taskId: id })
    const whole = ['ask', 'Counting', 'Up to what?', 'three', 'Counting']
    expect((await peer.get(id)).history).toEqual(whole)
    expect((await peer.get(id, 2)).history).toEqual(whole.slice(-2))
    expect((await peer.get(id, 0)).history).toEqual(hasNoHistory ? [] : whole)
  })

  if (hasList) {
    it('lists tasks page by page, the latest first', async () => {
      const peer = await open(contract)
      const sent: string[] = []
      for (let n = 0; n < 3; n++) sent.unshift(taskOf(await peer.send('count')).id)
      const listed: string[] = []
      let nextPageToken: string | undefined
      do {
        const page = await peer.list?.(2, nextPageToken)
        listed.push(...(page?.ids ?? []))
        nextPageToken = page?.nextPageToken
      } while (nextPageToken)
      expect(listed).toEqual(sent)
    })
  }
}
