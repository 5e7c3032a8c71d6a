import { expect, it } from 'vitest'
import { type Bundle, bundle, publish } from './support/bundle.ts'

/** kB, minified and compressed. */
interface Limits {
  /** Of what is loaded at first: all of 1.0 over JSON-RPC and REST. */
  readonly first: number
  /** Of all that a call can load in which nothing fails: also the dialects before 1.0, and typed skills. */
  readonly healthy: number
  /** Of everything else together. */
  readonly rare: number
}

const limits: Readonly<Record<string, Limits>> = {
  'client/index': { first: 18.4, healthy: 31, rare: 18.5 },
  'client/v1.0/index': { first: 18, healthy: 18.6, rare: 17.5 },
}

/** What a call loads in which nothing fails, by the card and the agent that it meets. */
const onHealthyWays = ['older', 'call-skill']

/** What is loaded when something fails, or has what few have; chunks that several of these share have names of their own. */
const onRareWays = [
  // Something fails: what it is, whether to try again, other doors, how a stream goes on, reasons and hints.
  ...['failures', 'decode-error', 'decode-error2', 'network-failure'],
  ...['ask-again', 'retry', 'detours', 'heal', 'mistakes'],
  // A card that is not as it should be.
  ...['lenient', 'lenient-card'],
  // Credentials, or a task that needs some.
  ...['carried', 'auth-required'],
  // Files that are sent, and a card that is one.
  ...['read-input', 'read-file', 'card-file'],
]

/** Rooms and packages that a client does without. */
const foreign = /^src\/(agent|node|push|runtime|server|stores|tasks)\/|\/(grpc|server)[./]|@bufbuild/

const published = await publish()

for (const [entry, { first, healthy, rare }] of Object.entries(limits)) {
  const title = `${entry} is at most ${first} kB at first and ${healthy} in all, and has nothing of the server in it`
  it(title, { timeout: 30_000 }, async () => {
    const found = await bundle(published, entry)
    console.info(tableOf(entry, found))
    expect(Object.keys(found.onDemand).filter((name) => ![...onHealthyWays, ...onRareWays].includes(name))).toEqual([])
    expect(found.first).toBeLessThanOrEqual(first * 1000)
    expect(found.first + sumOf(found, onHealthyWays)).toBeLessThanOrEqual(healthy * 1000)
    expect(sumOf(found, onRareWays)).toBeLessThanOrEqual(rare * 1000)
    expect(found.modules.map(([path]) => path).filter((path) => foreign.test(path))).toEqual([])
  })
}

function sumOf({ onDemand }: Bundle, names: readonly string[]): number {
  return names.reduce((sum, name) => sum + (onDemand[name] ?? 0), 0)
}

function tableOf(entry: string, found: Bundle): string {
  const { first, onDemand, modules } = found
  const lazy = Object.entries(onDemand).map(([name, size]) => `${kB(size)}  on demand: ${name}`)
  const largest = modules.slice(0, 12).map(([path, length]) => `${kB(length)}  of it, not minified: ${path}`)
  const sums = [
    `${kB(first + sumOf(found, onHealthyWays))}  with all dialects`,
    `${kB(sumOf(found, onRareWays))}  rare`,
  ]
  return [`${kB(first)}  ${entry}`, ...sums, ...lazy, ...largest].join('\n')
}

function kB(bytes: number): string {
  return `${(bytes / 1000).toFixed(1).padStart(6)} kB`
}
