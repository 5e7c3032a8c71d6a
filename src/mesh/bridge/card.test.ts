import { expect, it } from 'vitest'
import { MeshAgentCard } from '../payloads.ts'
import { meshCardOf } from './card.ts'

const skill = (id: string, tags: readonly string[] = []) => ({ id, name: id, description: id, tags })

it('skill ids and tags become capabilities', () => {
  const card = { name: 'Tea Prices', description: 'Knows.', version: '2.0.1', skills: [skill('get_price', ['tea'])] }
  expect(meshCardOf(card, { endpoint: 'https://tea.example/mesh' })).toEqual({
    agent_id: 'tea-prices',
    name: 'Tea Prices',
    version: '2.0.1',
    description: 'Knows.',
    capabilities: ['get_price', 'tea'],
    supported_protocols: ['A2A/1.0'],
    metadata: { endpoint: 'https://tea.example/mesh' },
  })
})

it.each([
  ['ab', '1'],
  ['茶', '1.0'],
  ['🍵'.repeat(300), ''],
  ['-a- long name '.repeat(30), '1.2.3-beta'],
])('an A2A card named %s becomes a valid mesh card', (name, version) => {
  const skills = Array.from({ length: 80 }, (_, at) => skill(`s${at}`))
  const card = meshCardOf({ name, version, description: name.repeat(20), skills })
  expect(MeshAgentCard['1.1.0'].check(card)).toBeUndefined()
  expect([card.name, card.description].every((text) => text.isWellFormed())).toBe(true)
  expect(MeshAgentCard['1.1.0'].check(meshCardOf({ ...card, skills: [] }))).toBeUndefined()
})
