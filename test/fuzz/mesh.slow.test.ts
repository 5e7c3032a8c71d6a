import { beforeAll, describe, expect, it } from 'vitest'
import { createSchemaValidator } from '../../schemas/typescript/index.ts'
import { createMeshPeer, type MeshPeer } from '../../src/entries/mesh.ts'
import { createEnvelopeReader } from '../../src/mesh/envelope-codec.ts'
import { readExamples } from '../schemas/examples.ts'
import { silentLogger } from '../support/logger.ts'
import { meshCard, post, startMeshServer } from '../support/mesh/mesh-peers.ts'
import { findPython, pythonVerdicts } from '../support/processes/python.ts'
import { createRandom } from '../support/random.ts'
import { seed } from './fuzz.ts'
import { mutate, mutateBytes } from './mesh-mutations.ts'

/** `FUZZ_SEED=7 FUZZ_ROUNDS=1000000 npx vitest run test/fuzz/mesh.slow.test.ts` uses another seed and more rounds. */
const rounds = Number(process.env.FUZZ_ROUNDS ?? 100_000)
const statuses = new Set([200, 202, 400, 401, 404, 413])
const python = await findPython()

const originals = readExamples().filter(({ valid }) => valid.length > 0)
const mutatedEnvelope = (round: number): Buffer => {
  const random = createRandom(seed * 1_000_003 + round)
  return mutateBytes(Buffer.from(mutate(random.pick(originals).text, random)), random)
}

const validators = [createSchemaValidator({ version: '1.0.0' }), createSchemaValidator({ version: '1.1.0' })]
/** For each schema version, whether it allows the message: `+` or `-`. */
const validate = (message: unknown): string =>
  validators.map((validator) => (validator.validate(message).valid ? '+' : '-')).join('')
const isAllowed = (message: unknown): boolean => validate(message).includes('+')

describe(`${rounds} mutated envelopes`, () => {
  let peer: MeshPeer
  const accepted: unknown[] = []
  /** The result of `validate` for each round. */
  const verdicts: string[] = []
  beforeAll(() => {
    peer = createMeshPeer({
      card: meshCard('price-agent'),
      requireAuth: false,
      // The timestamp of the examples.
      now: () => Date.parse('2026-01-31T12:00:00.000Z'),
      rateLimit: { take: () => 0 },
      // Nearly all envelopes have the same id.
      replayCache: { claim: () => 'new', settle() {}, release() {} },
      methods: { get_price: () => ({}) },
      directory: { discover: () => ({ agents: [], total_count: 0 }) },
      onMessage: ({ envelope }) => void accepted.push(envelope),
      logger: silentLogger,
    })
  })

  it('an envelope is accepted only if a schema allows it, and none causes an internal error', {
    timeout: 600_000,
  }, async () => {
    const read = createEnvelopeReader()
    let readable = 0
    for (let round = 0; round < rounds; round++) {
      const bytes = mutatedEnvelope(round)
      const text = textOf(bytes)
      const verdict = text !== undefined && isReadable(text) ? validate(JSON.parse(text)) : '--'
      verdicts.push(verdict)
      const { envelope } = read(bytes)
      if (envelope) readable++
      if ((envelope !== undefined) !== verdict.includes('+')) {
        throw new Error(`Round ${round}: ${envelope ? 'accepted' : 'refused'}, unlike the schema: ${bytes}`)
      }
      const { status, text: response } = await peer.receive(bytes)
      if (!statuses.has(status)) throw new Error(`Round ${round}: ${status} ${response} for ${bytes}`)
    }
    expect(readable / rounds).toBeGreaterThan(0.05)
    expect(readable / rounds).toBeLessThan(0.6)
    expect(accepted.length).toBeGreaterThan(rounds / 50)
    expect(accepted.length).toBeLessThanOrEqual(readable)
    expect(accepted.filter((message) => !isAllowed(message))).toEqual([])
  })

  it('envelopes sent over HTTP get expected status codes', { timeout: 120_000 }, async () => {
    const { endpoint } = await startMeshServer(peer)
    const sample = Array.from({ length: 2_000 }, (_, index) => mutatedEnvelope(rounds + index))
    const worker = async () => {
      for (let bytes = sample.pop(); bytes !== undefined; bytes = sample.pop()) {
        const { status } = await post(endpoint, Uint8Array.from(bytes))
        expect(statuses).toContain(status)
      }
    }
    await Promise.all(Array.from({ length: 8 }, worker))
  })

  if (python === undefined) {
    console.log(
      'Skipped: validation of mutated envelopes in Python. It needs Python 3.10+ with pydantic 2 and jsonschema.',
    )
  } else {
    it('AJV, jsonschema and Pydantic agree on all envelopes', { timeout: 600_000 }, async () => {
      const envelopes = verdicts.map((_, round) => mutatedEnvelope(round))
      const inPython = await pythonVerdicts(python, envelopes)
      expect(inPython.length).toBe(rounds)
      const differences = envelopes.flatMap((bytes, round) => {
        // Python validates with the schema and the model of each version.
        const expected = verdicts[round]?.replace(/./g, '$&$&')
        return inPython[round] === expected ? [] : [`${inPython[round]} in Python, ${expected} here: ${bytes}`]
      })
      expect(differences).toEqual([])
    })
  }
})

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Undefined if the bytes are not UTF-8. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

/** Whether the text is JSON without duplicate names. */
function isReadable(text: string): boolean {
  try {
    JSON.parse(text)
  } catch {
    return false
  }
  return !hasDuplicateName(text)
}

/** Independent of the code under test. */
function hasDuplicateName(text: string): boolean {
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
