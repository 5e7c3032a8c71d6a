import { expect, it } from 'vitest'
import { collect } from '../../support/async.ts'
import { failureOf, taskOf } from '../../support/sdk/sdk-client.ts'
import { begin, finalOf, open, type PeerContract, wordsOf } from './contract.ts'

/** How a client follows a task that takes its time, and stops it. */
export function followingContract(contract: PeerContract): void {
  const { followedTooLate } = contract
  const final = finalOf(contract)

  it('cancels a task that runs, and none that has ended', async () => {
    const peer = await open(contract)
    const id = await begin(peer)
    expect(await peer.cancel(id)).toMatchObject({ id, state: 'canceled' })
    expect(await failureOf(() => peer.cancel(id))).toBe('TaskNotCancelableError')
  })

  it('follows a task that runs until it ends', async () => {
    const peer = await open(contract)
    const id = await begin(peer)
    const events = peer.subscribe(id)
    expect((await events.next()).value).toEqual({ taskId: id, words: 'task working' })
    await peer.cancel(id)
    expect(wordsOf(await collect(events))).toEqual([`status canceled${final}`])
  })

  it('leaves a stream without harm to the task', async () => {
    const peer = await open(contract)
    const events = peer.stream('wait')
    const { value: first } = await events.next()
    await events.return(undefined)
    expect(await peer.get(`${first?.taskId}`)).toMatchObject({ state: 'working' })
  })

  it(`gets ${followedTooLate} when it follows a task that has ended`, async () => {
    const peer = await open(contract)
    const { id } = taskOf(await peer.send('count'))
    if (followedTooLate === 'the task') {
      expect(await collect(peer.subscribe(id))).toEqual([{ taskId: id, words: 'task completed' }])
    } else {
      expect(await failureOf(() => collect(peer.subscribe(id)))).toBe(followedTooLate)
    }
  })
}
