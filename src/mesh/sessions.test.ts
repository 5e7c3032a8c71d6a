import { describe, expect, it } from 'vitest'
import { createSessions, type MeshSession, nextSession, type SessionEvent } from './sessions.ts'

const card = {
  agent_id: 'an-agent',
  name: 'An agent',
  version: '1.0.0',
  description: '',
  capabilities: ['x'],
  supported_protocols: ['A2A/1.0'],
}
const agreement = { protocol: 'A2A/1.0', schemaVersion: '1.1.0' } as const
const agreed: SessionEvent = { type: 'agreed', card, agreement }
const established: MeshSession = { state: 'established', card, agreement }

describe('a session', () => {
  it.each<[MeshSession['state'], MeshSession, SessionEvent, MeshSession['state']]>([
    ['none', { state: 'none' }, { type: 'handshake-sent' }, 'sent'],
    ['none', { state: 'none' }, agreed, 'established'],
    ['sent', { state: 'sent' }, agreed, 'established'],
    ['sent', { state: 'sent' }, { type: 'failed' }, 'none'],
    ['established', established, { type: 'handshake-sent' }, 'established'],
    ['established', established, { type: 'failed' }, 'established'],
    ['established', established, { type: 'goodbye' }, 'goodbye'],
    ['goodbye', { state: 'goodbye' }, { type: 'handshake-sent' }, 'sent'],
    ['goodbye', { state: 'goodbye' }, { type: 'failed' }, 'goodbye'],
    ['goodbye', { state: 'goodbye' }, agreed, 'established'],
  ])('in state %s follows its events', (_, from, event, to) => {
    expect(nextSession(from, event).state).toBe(to)
  })

  it('a session is forgotten beyond the capacity, inactive ones first', () => {
    const sessions = createSessions({ capacity: 2 })
    for (const agent of ['a', 'b', 'a', 'c']) sessions.apply(agent, agreed)
    expect(['a', 'b', 'c'].map((agent) => sessions.get(agent).state)).toEqual(['established', 'none', 'established'])
  })
})
