import { describe, expect, it } from 'vitest'
import { v1_0 } from '../dialects/v1.0/server.ts'
import { cardOf, interfacesAt } from './card.ts'

describe('interfacesAt', () => {
  it.each([
    ['http://127.0.0.1:4000', '127.0.0.1:4000'],
    ['https://a.test', 'a.test:443'],
    ['http://[::1]/agents/echo', '[::1]:80'],
  ])('an agent at %s has the gRPC address %s', (origin, target) => {
    const [, , grpc] = interfacesAt(origin, [v1_0], { grpc: true })
    expect(grpc).toEqual({ url: target, binding: 'GRPC', protocolVersion: '1.0' })
  })
})

it('skills keep the tags of their author, also if there are none', () => {
  const skills = [
    { id: 'plain', name: 'Plain' },
    { id: 'empty', name: 'Empty', tags: [] },
    { id: 'named', name: 'Named', tags: ['a'] },
  ]
  expect(cardOf({ name: 'Test', skills }).skills.map(({ tags }) => tags)).toEqual([['plain'], [], ['a']])
})
