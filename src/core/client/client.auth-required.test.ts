import { describe, expect, it } from 'vitest'
import { createLocalHandler } from '../../../test/support/servers/local-handler.ts'
import { connect } from './connect.ts'

describe('authRequired', () => {
  const handler = () =>
    createLocalHandler(async (turn) => {
      await turn.status('auth-required', [
        { text: 'Sign in first' },
        { data: { schemes: ['Bearer'], login: { href: 'https://login.example/start' } } },
        { url: 'https://help.example/' },
      ])
    })
  const authRequired = {
    text: 'Sign in first',
    schemes: ['Bearer'],
    urls: ['https://help.example/', 'https://login.example/start'],
    details: [{ schemes: ['Bearer'], login: { href: 'https://login.example/start' } }],
  }

  it('the event of a task that needs credentials describes them', async () => {
    const client = await connect(handler())
    const descriptions = []
    for await (const event of client.stream('Hello')) {
      if (event.authRequired) {
        descriptions.push(event.authRequired)
        break
      }
    }
    expect(descriptions).toEqual([authRequired])
  })

  it('the reply and the subscription of a task that needs credentials describe them', async () => {
    const client = await connect(handler())
    const reply = await client.send('Hello')
    if (reply.type !== 'task') throw new Error('it is no task')
    expect(reply.authRequired).toEqual(authRequired)
    for await (const event of client.task(reply.task.id).subscribe()) {
      expect(event.authRequired).toEqual(authRequired)
      break
    }
  })
})
