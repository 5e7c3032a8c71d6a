import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { SchemaValidator } from '../../schemas/typescript/index.ts'
import { createMeshPeer, type MeshEnvelope } from '../../src/entries/mesh.ts'
import { silentLogger } from '../support/logger.ts'
import { meshCard, post, startMeshServer } from '../support/mesh/mesh-peers.ts'
import { findPython, runPython } from '../support/processes/python.ts'

interface Example {
  readonly title: string
  readonly message: MeshEnvelope
}

const file = new URL('../../schemas/examples/lenient/first-description.json', import.meta.url)
const examples: readonly Example[] = JSON.parse(readFileSync(file, 'utf8'))
const python = await findPython()

describe.each(examples)('$title', ({ message }) => {
  it('the message is valid for the TypeScript validator only with lenient ids', () => {
    for (const version of ['1.0.0', '1.1.0'] as const) {
      expect(new SchemaValidator({ version }).validate(message).valid).toBe(false)
      expect(new SchemaValidator({ version, lenientIds: true }).validate(message)).toEqual({ valid: true, errors: [] })
    }
  })

  it('passes the validation of a live peer only with lenient ids', async () => {
    expect(await codeFor(message, false)).toBe('VALIDATION_FAILED')
    expect(await codeFor(message, true)).toBeUndefined()
  })
})

it.skipIf(python === undefined)('all are valid for the Python validator and models only with lenient ids', async () => {
  const output = await runPython(
    python ?? '',
    `import json, sys
from pydantic import ValidationError
from a2a_schemas import SchemaValidator, parse_message
for example in json.load(open(sys.argv[1], encoding="utf-8")):
    message = example["message"]
    for version in ("1.0.0", "1.1.0"):
        assert not SchemaValidator(version).validate(message)[0]
        assert SchemaValidator(version, lenient_ids=True).validate(message) == (True, []), message
    try:
        parse_message(message)
        raise SystemExit("the models accept an id that is no UUID")
    except ValidationError:
        pass
    dumped = parse_message(message, lenient_ids=True).to_message()
    assert dumped == {"correlation_id": None, **message}, dumped
print("done")`,
    [file.pathname],
  )
  expect(output).toBe('done\n')
})

/** Posts the message to the agent that it is addressed to, at the time at which it was sent. */
async function codeFor(message: MeshEnvelope, lenientIds: boolean): Promise<unknown> {
  const peer = createMeshPeer({
    card: meshCard(message.recipient_id),
    requireAuth: false,
    lenientIds,
    methods: { get_price: () => ({ price_usd: 125_000.5 }) },
    directory: { discover: () => ({ agents: [], total_count: 0 }) },
    now: () => Date.parse(message.timestamp),
    logger: silentLogger,
  })
  const { endpoint } = await startMeshServer(peer)
  const { body } = await post(endpoint, JSON.stringify(message))
  // A message without a valid id cannot be answered by an envelope.
  return (body?.payload ?? body)?.error?.code
}
