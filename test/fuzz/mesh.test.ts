import { beforeAll, describe, expect, it } from 'vitest'
import { createSchemaValidator } from '../../schemas/typescript/index.ts'
import { createMeshPeer, type MeshPeer } from '../../src/entries/mesh.ts'
import { createReader } from '../../src/mesh/envelope-codec.ts'
import { readExamples } from '../schemas/examples.ts'
import { silentLogger } from '../support/logger.ts'
import { meshCard, post, startMeshServer } from '../support/mesh/mesh-peers.ts'
import { findPython, pythonVerdicts } from '../support/processes/python.ts'
import { createRandom } from '../support/random.ts'
import { seed } from './fuzz.ts'
import { mutate, mutateBytes } from './mesh-mutations.ts'

/** `FUZZ_SEED=7 FUZZ_ROUNDS=1000000 npx vitest run test/fuzz/mesh.test.ts` looks elsewhere, and for longer. */
const rounds = Number(process.env.FUZZ_ROUNDS ?? 100_000)
const statuses = new Set([200, 202, 400, 401, 404, 413])
const python = await findPython()

const originals = readExamples().filter(({ valid }) => valid.length > 0)
const mutated = (round: number): Buffer => {
  const random = createRandom(seed * 1_000_003 + round)
  return mutateBytes(Buffer.from(mutate(random.pick(originals).text, random)), random)
}

const validators = [createSchemaValidator({ version: '1.0.0' }), createSchemaValidator({ version: '1.1.0' })]
/** For each version, whether the schema here allows it: `+` or `-`. */
const judge = (message: unknown): string =>
  validators.map((validator) => (validator.validate(message).valid ? '+' : '-')).join('')
const isAllowed = (message: unknown): boolean => judge(message).includes('+')

describe('a hundred thousand mutated envelopes', () => {
  let peer: MeshPeer
  const taken: unknown[] = []
  /** What is said here of each of them. */
  const verdicts: string[] = []
  beforeAll(() => {
    peer = createMeshPeer({
      card: meshCard('price-agent'),
      requireAuth: false,
      // The time of the examples.
      now: () => Date.parse('2026-01-31T12:00:00.000Z'),
      rateLimit: { take: () => 0 },
      // Nearly all of them have the same id.
      replayCache: { claim: () => 'new', settle() {}, release() {} },
      methods: { get_price: () => ({}) },
      directory: { discover: () => ({ agents: [], total_count: 0 }) },
      onMessage: ({ envelope }) => void taken.push(envelope),
      logger: silentLogger,
    })
  })

  it('are read only if a schema allows them, and never break the server', { timeout: 600_000 }, async () => {
    const read = createReader()
    let accepted = 0
    for (let round = 0; round < rounds; round++) {
      const bytes = mutated(round)
      const text = textOf(bytes)
      const verdict = text !== undefined && isReadable(text) ? judge(JSON.parse(text)) : '--'
      verdicts.push(verdict)
      const { envelope } = read(bytes)
      if (envelope) accepted++
      if ((envelope !== undefined) !== verdict.includes('+')) {
        throw new Error(`Round ${round}: ${envelope ? 'taken' : 'refused'}, against the schema: ${bytes}`)
      }
      const { status, text: answer } = await peer.receive(bytes)
      if (!statuses.has(status)) throw new Error(`Round ${round}: ${status} ${answer} for ${bytes}`)
    }
    expect(accepted / rounds).toBeGreaterThan(0.05)
    expect(accepted / rounds).toBeLessThan(0.6)
    expect(taken.length).toBeGreaterThan(rounds / 50)
    expect(taken.length).toBeLessThanOrEqual(accepted)
    expect(taken.filter((message) => !isAllowed(message))).toEqual([])
  })

  it('are answered decently over a real connection', { timeout: 120_000 }, async () => {
    const { endpoint } = await startMeshServer(peer)
    const sample = Array.from({ length: 2_000 }, (_, at) => mutated(rounds + at))
    const work = async () => {
      for (let bytes = sample.pop(); bytes !== undefined; bytes = sample.pop()) {
        const { status } = await post(endpoint, Uint8Array.from(bytes))
        expect(statuses).toContain(status)
      }
    }
    await Promise.all(Array.from({ length: 8 }, work))
  })

  if (python === undefined) {
    console.log(
      'Left out: Python does not judge mutated envelopes. It needs Python 3.10+ with pydantic 2 and jsonschema.',
    )
  } else {
    it('are all judged alike by AJV, by jsonschema and by Pydantic', { timeout: 600_000 }, async () => {
      const all = verdicts.map((_, round) => mutated(round))
      const inPython = await pythonVerdicts(python, all)
      expect(inPython.length).toBe(rounds)
      const wrong = all.flatMap((bytes, round) => {
        // The schema and the model of each version.
        const expected = verdicts[round]?.replace(/./g, '$&$&')
        return inPython[round] === expected ? [] : [`${inPython[round]} in Python, ${expected} here: ${bytes}`]
      })
      expect(wrong).toEqual([])
    })
  }
})

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** If it is UTF-8. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

/** Whether it is JSON in which no object has a name twice. */
function isReadable(text: string): boolean {
  try {
    JSON.parse(text)
  } catch {
    return false
  }
  return !hasNameTwice(text)
}

/** Goes through the text by itself, so that it can disagree with what it is to check. */
function hasNameTwice(text: string): boolean {
  const names: (Set<string> | undefined)[] = []
  const tokens = text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]]/g)
  for (const { 0: token, index } of tokens) {
    if (token === '{') names.push(new Set())
    else if (token === '[') names.push(undefined)
    else if (token === '}' || token === ']') names.pop()
    else if (/^\s*:/.test(text.slice(index + token.length, index + token.length + 8))) {
      const name = JSON.parse(token)
      if (names.at(-1)?.has(name)) return true
      names.at(-1)?.add(name)
    }
  }
  return false
}
