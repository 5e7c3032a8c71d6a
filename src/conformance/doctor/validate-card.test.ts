import { expect, it } from 'vitest'
import { validateCard } from './validate-card.ts'

const valid = {
  name: 'Agent',
  description: 'An agent.',
  version: '1.0.0',
  supportedInterfaces: [{ url: 'https://a.example', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: {},
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'a', name: 'A', description: 'Does it.', tags: ['a'] }],
}

const validate = (wire: object) => validateCard(JSON.parse(JSON.stringify(wire)))

const placesOf = async (wire: object) =>
  (await validate(wire)).violations.map((each) => each.slice(0, each.indexOf(':')))

it('a valid card has no violations', async () => {
  expect(await validate(valid)).toEqual({ violations: [], readable: valid })
})

it('every violation of a card is listed, and the rest of it stays readable', async () => {
  const broken = {
    ...valid,
    name: 7,
    version: 1,
    supportedInterfaces: [{ url: 'https://a.example', protocolBinding: 'JSONRPC' }, { url: 3 }],
    capabilities: { streaming: 'yes', extensions: 'none' },
    defaultInputModes: 'text/plain',
    skills: [{ id: 'a', name: 'A' }, 'b'],
  }
  expect((await placesOf(broken)).toSorted()).toEqual([
    'capabilities.extensions',
    'capabilities.streaming',
    'defaultInputModes',
    'name',
    'skills[0].description',
    'skills[0].tags',
    'skills[1]',
    'supportedInterfaces[0].protocolVersion',
    'supportedInterfaces[1].protocolBinding',
    'supportedInterfaces[1].protocolVersion',
    'supportedInterfaces[1].url',
    'version',
  ])
  const { readable } = await validate(broken)
  expect(readable).toMatchObject({ name: '7', defaultInputModes: ['text/plain'], description: 'An agent.' })
})

it('a card without a version is judged as the version whose members it has', async () => {
  const first = {
    name: 'A',
    url: 'https://a.example',
    version: '1',
    capabilities: {},
    skills: [{ id: 'a', name: 'A' }],
  }
  expect(await placesOf(first)).toEqual([])
  expect(await placesOf({ ...valid, supportedInterfaces: undefined, url: 'https://a.example' })).toEqual([])
})
