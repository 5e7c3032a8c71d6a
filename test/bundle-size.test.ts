import { expect, it } from 'vitest'
import { type Bundle, bundle, publish } from './support/bundle.ts'

/** kB, minified and compressed, of what is loaded at first: older versions and words about failures come on demand. */
const limits = [
  ['client/index', 25],
  ['client/v1.0/index', 24.5],
] as const

/** Rooms and packages that a client does without. */
const foreign = /^src\/(agent|node|push|runtime|server|stores|tasks)\/|\/(grpc|server)[./]|@bufbuild/

const published = await publish()

for (const [entry, limit] of limits) {
  it(`${entry} is at most ${limit} kB, and has nothing of the server in it`, { timeout: 30_000 }, async () => {
    const found = await bundle(published, entry)
    console.info(tableOf(entry, found))
    expect(found.first).toBeLessThanOrEqual(limit * 1000)
    expect(found.modules.map(([path]) => path).filter((path) => foreign.test(path))).toEqual([])
  })
}

function tableOf(entry: string, { first, onDemand, modules }: Bundle): string {
  const lazy = Object.entries(onDemand).map(([name, size]) => `${kB(size)}  on demand: ${name}`)
  const largest = modules.slice(0, 12).map(([path, length]) => `${kB(length)}  of it, not minified: ${path}`)
  return [`${kB(first)}  ${entry}`, ...lazy, ...largest].join('\n')
}

function kB(bytes: number): string {
  return `${(bytes / 1000).toFixed(1).padStart(6)} kB`
}
