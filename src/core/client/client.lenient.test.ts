import { describe, expect, it } from 'vitest'
import { collect } from '../../../test/support/async.ts'
import { cardRoute, fakePeer } from '../../../test/support/servers/local-handler.ts'
import { connect } from './connect.ts'

const capabilities = { streaming: false, pushNotifications: true }
const olderCard = { name: 'Test', description: 'x', version: '1', url: 'http://localhost/', skills: [] }
const modes = { defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] }
const cards = {
  '1.0': {
    name: 'Test',
    supportedInterfaces: [{ url: 'http://localhost/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities,
  },
  '0.3': { ...olderCard, ...modes, protocolVersion: '0.3.0', capabilities },
  '0.2': { ...olderCard, ...modes, protocolVersion: '0.2.5', capabilities },
  '0.1': { ...olderCard, description: undefined, capabilities },
} as const

type Version = keyof typeof cards

const versions = Object.keys(cards) as Version[]

function stateIn(version: Version) {
  return version === '1.0' ? 'TASK_STATE_COMPLETED' : 'completed'
}

async function getTask(version: Version, more: object) {
  const task = { kind: 'task', id: 't', contextId: 'c', status: { state: stateIn(version) }, ...more }
  const result = version === '1.0' ? { ...task, kind: undefined } : task
  const answer = () => Response.json({ jsonrpc: '2.0', result })
  return await (await connect(fakePeer(cardRoute(cards[version]), answer))).task('t').get()
}

describe.each(versions)('an agent of A2A %s', (version) => {
  it('the client keeps the capabilities that the card denies', async () => {
    const client = await connect(fakePeer(cardRoute(cards[version])))
    expect(client.card.capabilities).toMatchObject(capabilities)
  })

  it('a status may have no time, which is then missing', async () => {
    expect((await getTask(version, {})).status).toEqual({ state: 'completed' })
  })

  it('a time may have no zone', async () => {
    const status = { state: stateIn(version), timestamp: '2026-01-01T10:00:00' }
    expect((await getTask(version, { status })).status).toEqual({
      state: 'completed',
      timestamp: '2026-01-01T10:00:00.000Z',
    })
  })

  it('an empty list may be null', async () => {
    expect(await getTask(version, { artifacts: null, history: null })).toMatchObject({ artifacts: [], history: [] })
  })
})

describe.each(['1.0', '0.3', '0.2'] as const)('the history of an agent of A2A %s', (version) => {
  it('a message of the history may have no id', async () => {
    const part = version === '1.0' ? { text: 'Hi' } : { kind: 'text', text: 'Hi' }
    const role = version === '1.0' ? 'ROLE_AGENT' : 'agent'
    const kind = version === '1.0' ? {} : { kind: 'message' }
    const message = { ...kind, role, parts: [part] }
    const { history } = await getTask(version, { history: [message, { ...message, messageId: 'm' }] })
    expect(history.map(({ messageId, parts }) => [messageId, parts])).toEqual([
      ['history-0', [{ text: 'Hi' }]],
      ['m', [{ text: 'Hi' }]],
    ])
  })
})

it('an event with the name and the message of an error is that error', async () => {
  const card = { ...cards['1.0'], capabilities: { streaming: true } }
  const text = `data: ${JSON.stringify({ error: 'InternalError', message: 'The model is away' })}\n\n`
  const answer = () => new Response(text, { headers: { 'content-type': 'text/event-stream' } })
  const client = await connect(fakePeer(cardRoute(card), answer))
  await expect(collect(client.stream('hello'))).rejects.toMatchObject({
    message: expect.stringContaining('The model is away'),
  })
})
