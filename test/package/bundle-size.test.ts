import { expect, it } from 'vitest'
import { type Bundle, bundle } from '../support/package/bundle.ts'

/**
 * kB (1000 bytes), minified and compressed: everything for 1.0, and everything for all versions with the house profile. The
 * first part has 0.4 kB for 1.1 since the choice between 1.0 and 1.1, the long poll and `GenerationMismatch` precede the code
 * of that version.
 */
const limits = { first: 35.6, allVersions: 58 }

/** kB of `useAgent` beyond the client, with what both load later: the hook needs some of it at first. React is not counted. */
const hookLimit = 4

/** Folders, files and packages that a client must not contain. */
const serverSide =
  /^src\/(core\/(agent|node|push|runtime|server|tasks)|stores|operator|serve)\/|\/(grpc|requests|server)[./]|node_modules/

it(`the client is at most ${limits.first} kB at first and ${limits.allVersions} kB with all versions, without the server`, {
  timeout: 30_000,
}, async () => {
  const client = await bundle('client')
  console.info(tableOf(client))
  // `client` is the client of 1.1; bundlers number chunks whose names are equal.
  expect(Object.keys(client.later).map((name) => name.replace(/\d+$/, ''))).toEqual(['client', 'legacy'])
  expect(client.first).toBeLessThanOrEqual(limits.first * 1000)
  expect(totalOf(client)).toBeLessThanOrEqual(limits.allVersions * 1000)
  expect(client.modules.map(([path]) => path).filter((path) => serverSide.test(path))).toEqual([])
})

it(`useAgent adds at most ${hookLimit} kB to the client`, { timeout: 60_000 }, async () => {
  const [client, hook] = [await bundle('client'), await bundle('react')]
  const added = totalOf(hook) - totalOf(client)
  console.info(`${kB(added)}  of useAgent`)
  expect(added).toBeLessThanOrEqual(hookLimit * 1000)
})

function totalOf({ first, later }: Bundle): number {
  return Object.values(later).reduce((sum, size) => sum + size, first)
}

function tableOf(client: Bundle): string {
  const lines = [
    `${kB(client.first)}  at first`,
    `${kB(totalOf(client))}  with all versions`,
    ...client.modules.slice(0, 20).map(([path, length]) => `${kB(length)}  of it, not minified: ${path}`),
  ]
  return lines.join('\n')
}

function kB(bytes: number): string {
  return `${(bytes / 1000).toFixed(2).padStart(6)} kB`
}
