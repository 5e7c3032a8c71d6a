import { describe, expect, it } from 'vitest'
import { clientTools, toolResult, toolUse } from '../../protocol/extensions/client-tools.ts'
import type { Message, Part, Role } from '../../protocol/model.ts'
import { openRequests } from './input-requests.ts'

let messages = 0

function messageOf(role: Role, parts: readonly Part[], requestId?: string): Message {
  const metadata = requestId === undefined ? undefined : { [clientTools]: { requestId, prompt: '?' } }
  return { messageId: `m-${++messages}`, role, parts, ...(metadata && { metadata }) }
}

const use = (toolUseId: string): Part => ({ data: { toolUseId, name: 'n' }, mediaType: toolUse })

const result = (toolUseId: string): Part => ({ data: { toolUseId, result: 1 }, mediaType: toolResult })

const text: Part = { text: 'x' }

describe('openRequests', () => {
  it('tool uses and input requests are open, each once', () => {
    expect(openRequests([messageOf('agent', [text, use('a'), use('b')], 'a')])).toEqual(['a', 'b'])
    expect(openRequests([messageOf('agent', [text], 'r')])).toEqual(['r'])
    expect(openRequests([messageOf('agent', [text])])).toEqual([])
  })

  it('answered requests are closed in any order', () => {
    const question = messageOf('agent', [use('a'), use('b')])
    expect(openRequests([question, messageOf('user', [result('b')])])).toEqual(['a'])
    expect(openRequests([question, messageOf('user', [result('b'), result('a')])])).toEqual([])
    expect(openRequests([question, messageOf('user', [result('b')]), messageOf('agent', [text])])).toEqual(['a'])
  })

  it('a text answers the oldest request', () => {
    const question = messageOf('agent', [use('a'), use('b')])
    expect(openRequests([question, messageOf('user', [text])])).toEqual(['b'])
  })

  it('a new question replaces the open requests', () => {
    expect(openRequests([messageOf('agent', [use('a')]), messageOf('agent', [use('b')])])).toEqual(['b'])
  })

  it('requests of a caller and malformed requests are ignored', () => {
    expect(openRequests([messageOf('user', [use('a')], 'r')])).toEqual([])
    const odd: Part = { data: { toolUseId: 7 }, mediaType: toolUse }
    expect(openRequests([messageOf('agent', [odd])])).toEqual([])
  })
})
