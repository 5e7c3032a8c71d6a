import { expect, it } from 'vitest'
import { type Bundle, bundle, publish } from './support/package/bundle.ts'

/** kB (1000 bytes), minified and compressed. */
interface Limits {
  /** Of what is loaded at first: enough to connect, send, stream and get a task with 1.0, over JSON-RPC and REST. */
  readonly first: number
  /** The same, and with it all that is loaded for versions before 1.0. */
  readonly dialects?: number
  /** Of everything that can ever be loaded. */
  readonly whole: number
}

const limits: Readonly<Record<string, Limits>> = {
  'client/index': { first: 12.2, dialects: 25, whole: 53 },
  'client/v1.0/index': { first: 12, whole: 38 },
}

/** What is loaded on demand, by the occasion; `kB` bounds what an occasion loads of its own. */
const occasions: readonly { readonly on: string; readonly chunks: readonly string[]; readonly kB: number }[] = [
  { on: 'a version before 1.0', chunks: ['older'], kB: 12.8 },
  { on: 'the first stream, while the agent is asked', chunks: ['streams'], kB: 5 },
  { on: 'a failure: what it is, whether to try again, other doors, hints', chunks: ['failures', 'trouble'], kB: 10.1 },
  {
    on: 'an answer, list or webhook that is read by the whole reader, or a card that says who may call',
    chunks: ['whole'],
    kB: 6.5,
  },
  { on: 'the same before 1.0', chunks: ['older-whole'], kB: 18.2 },
  { on: 'errors of 0.1', chunks: ['decode-error'], kB: 14.8 },
  {
    on: 'a card that is elsewhere, a file, verified or not as it should be',
    chunks: ['search-card', 'card-file', 'verified'],
    kB: 5.2,
  },
  { on: 'credentials', chunks: ['carried', 'auth-required'], kB: 2 },
  { on: 'files to send', chunks: ['read-input'], kB: 1.5 },
  { on: 'lists', chunks: ['lists'], kB: 0.5 },
  { on: 'typed skills', chunks: ['call-skill'], kB: 0.7 },
]

/** Rooms and packages that a client does without. */
const foreign = /^src\/(agent|node|push|runtime|server|stores|tasks)\/|\/(grpc|server)[./]|@bufbuild/

const published = await publish()

for (const [entry, limit] of Object.entries(limits)) {
  const dialects = limit.dialects === undefined ? '' : `, ${limit.dialects} with all dialects`
  const title = `${entry} is at most ${limit.first} kB at first${dialects}, and has nothing of the server in it`
  it(title, { timeout: 30_000 }, async () => {
    const found = await bundle(published, entry)
    console.info(tableOf(entry, found))
    const known = occasions.flatMap(({ chunks }) => chunks)
    expect(Object.keys(found.onDemand).filter((name) => !known.includes(nameOf(name)))).toEqual([])
    expect(found.first).toBeLessThanOrEqual(limit.first * 1000)
    expect(found.first + loadedFor(found, ['older'])).toBeLessThanOrEqual((limit.dialects ?? limit.first) * 1000)
    for (const { on, chunks, kB } of occasions) expect([on, loadedFor(found, chunks) <= kB * 1000]).toEqual([on, true])
    expect(found.first + sumOf(found, Object.keys(found.later))).toBeLessThanOrEqual(limit.whole * 1000)
    expect(found.modules.map(([path]) => path).filter((path) => foreign.test(path))).toEqual([])
  })
}

/** Bytes that these chunks and what they import add to the first load. */
function loadedFor(found: Bundle, names: readonly string[]): number {
  const entries = Object.entries(found.onDemand).filter(([name]) => names.includes(nameOf(name)))
  return sumOf(found, [...new Set(entries.flatMap(([, chunks]) => chunks))])
}

function sumOf({ later }: Bundle, names: readonly string[]): number {
  return names.reduce((sum, name) => sum + (later[name] ?? 0), 0)
}

/** Chunks of one name are numbered. */
function nameOf(chunk: string): string {
  return chunk.replace(/\d$/, '')
}

function tableOf(entry: string, found: Bundle): string {
  const lines = [
    `${kB(found.first)}  ${entry}, at first`,
    `${kB(found.first + loadedFor(found, ['older']))}  with all dialects`,
    `${kB(found.first + sumOf(found, Object.keys(found.later)))}  with everything`,
    ...occasions.map(({ on, chunks }) => `${kB(loadedFor(found, chunks))}  more on ${on}`),
    ...Object.entries(found.later).map(([name, size]) => `${kB(size)}  of it in the chunk ${name}`),
    ...found.modules.slice(0, 12).map(([path, length]) => `${kB(length)}  of it, not minified: ${path}`),
  ]
  return lines.join('\n')
}

function kB(bytes: number): string {
  return `${(bytes / 1000).toFixed(2).padStart(6)} kB`
}
