import { expect, it } from 'vitest'
import { collect } from '../../support/async.ts'
import { failureOf, taskOf } from '../../support/sdk/sdk-client.ts'
import { open, type PeerContract } from './contract.ts'

/** What a client understands of our errors. */
export function understandingContract(contract: PeerContract): void {
  const { hasExtendedCard = true, wroteTooLate = 'UnsupportedOperationError' } = contract

  it('understands that a task has ended', async () => {
    const peer = await open(contract)
    const { id } = taskOf(await peer.send('count'))
    expect(await failureOf(() => peer.send('more', { taskId: id }))).toContain(wroteTooLate)
  })

  it('understands that there is no such task', async () => {
    const peer = await open(contract)
    const taskId = 'nobody-knows'
    expect(await failureOf(() => peer.get(taskId))).toBe('TaskNotFoundError')
    expect(await failureOf(() => peer.cancel(taskId))).toBe('TaskNotFoundError')
    expect(await failureOf(() => collect(peer.subscribe(taskId)))).toBe('TaskNotFoundError')
    expect(await failureOf(() => peer.send('more', { taskId }))).toBe('TaskNotFoundError')
    expect(await failureOf(() => collect(peer.stream('more', { taskId })))).toBe('TaskNotFoundError')
  })

  it('understands that there is no push', async () => {
    const peer = await open(contract)
    const { id } = taskOf(await peer.send('count'))
    const failures: Record<string, string> = {}
    for (const [name, attempt] of Object.entries(peer.push)) failures[name] = await failureOf(() => attempt(id))
    const expected = Object.keys(peer.push).map((name) => [name, 'PushNotificationNotSupportedError'])
    expect(failures).toEqual(Object.fromEntries(expected))
  })

  if (hasExtendedCard) {
    it('understands that there is no extended card', async () => {
      const peer = await open(contract)
      expect(await failureOf(async () => peer.extendedCard?.())).toBe('UnsupportedOperationError')
    })
  }
}
