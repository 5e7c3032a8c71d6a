import { describe, expect, it } from 'vitest'
import { createSchemaValidator, validate } from '../../schemas/typescript/index.ts'
import { createEnvelopeSchemas } from '../../src/mesh/envelope.ts'
import { findPython, pythonVerdicts } from '../support/processes/python.ts'
import { readExamples } from './examples.ts'

const examples = readExamples()
const versions = ['1.0.0', '1.1.0'] as const
const python = await findPython()

describe('examples of the schema package', () => {
  it('several hundred examples are valid, and several hundred are invalid', () => {
    expect(examples.filter(({ valid }) => valid.length > 0).length).toBeGreaterThan(200)
    expect(examples.filter(({ valid }) => valid.length === 0).length).toBeGreaterThan(300)
  })

  it.each(versions)('AJV gives the expected verdict on every example in version %s', (version) => {
    const validator = createSchemaValidator({ version })
    const wrong = examples.filter(
      ({ text, valid }) => validator.validate(JSON.parse(text)).valid !== valid.includes(version),
    )
    expect(wrong.map(({ title }) => title)).toEqual([])
  })

  it.each(versions)('the mesh schemas give the expected verdict on every example in version %s', (version) => {
    const schemas = createEnvelopeSchemas({ version })
    const isValid = (message: unknown) => schemas.get(Object(message).message_type)?.check(message) === undefined
    // The parser limits the depth.
    const shallow = examples.filter(({ text }) => depthOf(JSON.parse(text)) <= 64)
    const isKnown = (text: string) => schemas.has(Object(JSON.parse(text)).message_type)
    const wrong = shallow.filter(
      ({ text, valid }) => (isKnown(text) && isValid(JSON.parse(text))) !== valid.includes(version),
    )
    expect(wrong.map(({ title }) => title)).toEqual([])
  })

  if (python === undefined) {
    console.log('Skipped: the Python verdicts need Python 3.10+ with pydantic 2 and jsonschema.')
  } else {
    it('jsonschema and Pydantic give the expected verdict on every example', { timeout: 120_000 }, async () => {
      const verdicts = await pythonVerdicts(
        python,
        examples.map(({ text }) => Buffer.from(text)),
      )
      const wrong = examples.flatMap(({ title, valid }, at) => {
        const expected = versions.map((version) => (valid.includes(version) ? '++' : '--')).join('')
        return verdicts[at] === expected ? [] : [`${title}: ${verdicts[at]}, not ${expected}`]
      })
      expect(wrong).toEqual([])
    })
  }
})

describe('a verdict', () => {
  it('a verdict names the violation and its path', () => {
    const [request] = examples
    const message = { ...JSON.parse(request?.text ?? ''), timestamp: 'yesterday' }
    expect(validate(message)).toEqual({
      valid: false,
      errors: [expect.stringContaining('timestamp: must match pattern')],
    })
  })

  it('a validator with authenticated requires a signature', () => {
    const unsigned = examples.find(({ title }) => title === 'request, unsigned')
    const message = JSON.parse(unsigned?.text ?? '')
    expect(createSchemaValidator({ authenticated: true }).validate(message)).toEqual({
      valid: false,
      errors: [": must have required property 'auth'"],
    })
  })
})

function depthOf(value: unknown): number {
  return typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0
}
