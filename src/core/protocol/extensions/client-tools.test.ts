import { describe, expect, it } from 'vitest'
import type { Message, Part } from '../model.ts'
import { clientTools, fromPlainQuestion, inputRequestIn, toolUse, toPlainQuestion } from './client-tools.ts'

const request = { requestId: 'r-1', prompt: 'Please locate.', sensitive: false, tool: 'locate' }
const use: Part = { data: { toolUseId: 'r-1', name: 'locate', arguments: { exact: true } }, mediaType: toolUse }
const base = { messageId: 'm', role: 'agent' } as const

const question: Message = {
  ...base,
  parts: [{ text: 'Please locate.' }, use],
  metadata: { other: 1, [clientTools]: request },
  extensions: [clientTools],
}

describe('a plain question', () => {
  it('a plain question has nothing but text in its parts, and the request with the arguments of the tool in its metadata', () => {
    expect(toPlainQuestion(question)).toEqual({
      ...base,
      parts: [{ text: 'Please locate.' }],
      metadata: { other: 1, [clientTools]: { ...request, arguments: { exact: true } } },
    })
  })

  it('a plain question has the prompt as its text if the question has none', () => {
    const { parts } = toPlainQuestion({ ...question, parts: [use] })
    expect(parts).toEqual([{ text: 'Please locate.' }])
  })

  it('a plain question keeps other parts and other extensions of the message', () => {
    const file: Part = { url: 'https://a.example/f.png', mediaType: 'image/png' }
    const other: Part = { data: { toolUseId: 'r-0', name: 'earlier' }, mediaType: toolUse }
    const plain = toPlainQuestion({ ...question, parts: [file, other, use], extensions: ['urn:a', clientTools] })
    expect(plain).toMatchObject({ parts: [{ text: 'Please locate.' }, file, other], extensions: ['urn:a'] })
  })

  it('becomes the same question again in an agent that forwards it', () => {
    expect(fromPlainQuestion(toPlainQuestion(question))).toEqual(question)
    expect(fromPlainQuestion(question)).toEqual(question)
  })
})

it('a request in a data part, as older servers send it, is read and forwarded like one in the metadata', () => {
  const old: Message = { ...base, parts: [{ text: 'Please locate.' }, use, { data: { inputRequest: request } }] }
  expect(inputRequestIn(old)).toEqual(request)
  const { metadata: _, ...expected } = { ...question, metadata: undefined }
  expect(fromPlainQuestion(old)).toEqual({ ...expected, metadata: { [clientTools]: request } })
})

it('a message that is no question stays the same', () => {
  const expired: Message = { ...base, parts: [], metadata: { [clientTools]: { expired: 'r-1' } } }
  const plain: Message = { ...base, parts: [{ text: 'hi' }] }
  for (const message of [expired, plain]) {
    expect(toPlainQuestion(message)).toBe(message)
    expect(fromPlainQuestion(message)).toBe(message)
  }
})
