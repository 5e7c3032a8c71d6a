import { describe, expect, it } from 'vitest'
import { buildInto } from '../support/package/published.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const rooms = new Set(['client', 'dialects', 'http', 'protocol', 'transports'])

describe('the client that is published', () => {
  it.each(['client/index.js', 'client/v1.0/index.js'])(
    'reaches neither the runtime nor node:*, as %s',
    async (entry) => {
      const { sources, packages } = (await buildInto(await temporaryDirectory())).reachedFrom(entry)
      expect(sources).toContain('src/client/client.ts')
      const reached = new Set(sources.filter((path) => path.startsWith('src/')).map((path) => path.split('/')[1]))
      expect([...reached].filter((room) => !rooms.has(`${room}`))).toEqual([])
      expect(packages).toEqual([])
    },
  )
})
