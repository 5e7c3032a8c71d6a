import { describe, expect, it } from 'vitest'
import { clientTools, toolResult, toolUse } from '../../protocol/extensions/client-tools.ts'
import type { Message, Part, Role } from '../../protocol/model.ts'
import { openRequests } from './input-requests.ts'

let said = 0
function say(role: Role, parts: readonly Part[], requestId?: string): Message {
  const metadata = requestId === undefined ? undefined : { [clientTools]: { requestId, prompt: '?' } }
  return { messageId: `m-${++said}`, role, parts, ...(metadata && { metadata }) }
}

const use = (toolUseId: string): Part => ({ data: { toolUseId, name: 'n' }, mediaType: toolUse })
const result = (toolUseId: string): Part => ({ data: { toolUseId, result: 1 }, mediaType: toolResult })
const text: Part = { text: 'x' }

describe('the requests that have no answer', () => {
  it('are those of tools and those for input, each once', () => {
    expect(openRequests([say('agent', [text, use('a'), use('b')], 'a')])).toEqual(['a', 'b'])
    expect(openRequests([say('agent', [text], 'r')])).toEqual(['r'])
    expect(openRequests([say('agent', [text])])).toEqual([])
  })

  it('are no more when they are answered, in whatever order', () => {
    const asked = say('agent', [use('a'), use('b')])
    expect(openRequests([asked, say('user', [result('b')])])).toEqual(['a'])
    expect(openRequests([asked, say('user', [result('b'), result('a')])])).toEqual([])
    expect(openRequests([asked, say('user', [result('b')]), say('agent', [text])])).toEqual(['a'])
  })

  it('are answered by a text, the oldest first', () => {
    const asked = say('agent', [use('a'), use('b')])
    expect(openRequests([asked, say('user', [text])])).toEqual(['b'])
  })

  it('are those of the newest question', () => {
    expect(openRequests([say('agent', [use('a')]), say('agent', [use('b')])])).toEqual(['b'])
  })

  it('are none that a caller makes up', () => {
    expect(openRequests([say('user', [use('a')], 'r')])).toEqual([])
    const odd: Part = { data: { toolUseId: 7 }, mediaType: toolUse }
    expect(openRequests([say('agent', [odd])])).toEqual([])
  })
})
