import { expect, it } from 'vitest'
import { v0_2Client } from './client.ts'

it('the extended card is searched beside the agent first, then below it and at its origin', () => {
  const path = '/agent/authenticatedExtendedCard'
  expect(v0_2Client.extendedCardUrls?.('https://example.com/agents/one')).toEqual([
    `https://example.com/agents${path}`,
    `https://example.com/agents/one${path}`,
    `https://example.com${path}`,
  ])
  expect(v0_2Client.extendedCardUrls?.('https://example.com/')).toEqual([`https://example.com${path}`])
})
