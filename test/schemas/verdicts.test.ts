import { describe, expect, it } from 'vitest'
import { createSchemaValidator, validate } from '../../schemas/typescript/index.ts'
import { createEnvelopeSchemas } from '../../src/mesh/envelope.ts'
import { findPython, pythonVerdicts } from '../support/processes/python.ts'
import { readExamples } from './examples.ts'

const examples = readExamples()
const versions = ['1.0.0', '1.1.0'] as const
const python = await findPython()

describe('the examples of the schema package', () => {
  it('are several hundred, valid and invalid ones', () => {
    expect(examples.filter(({ valid }) => valid.length > 0).length).toBeGreaterThan(200)
    expect(examples.filter(({ valid }) => valid.length === 0).length).toBeGreaterThan(300)
  })

  it.each(versions)('are judged by AJV as they should be in version %s', (version) => {
    const validator = createSchemaValidator({ version })
    const wrong = examples.filter(
      ({ text, valid }) => validator.validate(JSON.parse(text)).valid !== valid.includes(version),
    )
    expect(wrong.map(({ title }) => title)).toEqual([])
  })

  it.each(versions)('are judged by the forms of the mesh as they should be in version %s', (version) => {
    const forms = createEnvelopeSchemas({ version })
    const fits = (message: unknown) => forms.get(Object(message).message_type)?.check(message) === undefined
    // How deep a message is, is looked at before it is parsed.
    const said = examples.filter(({ text }) => depthOf(JSON.parse(text)) <= 64)
    const isKnown = (text: string) => forms.has(Object(JSON.parse(text)).message_type)
    const wrong = said.filter(
      ({ text, valid }) => (isKnown(text) && fits(JSON.parse(text))) !== valid.includes(version),
    )
    expect(wrong.map(({ title }) => title)).toEqual([])
  })

  if (python === undefined) {
    console.log('Left out: Python does not judge the examples. It needs Python 3.10+ with pydantic 2 and jsonschema.')
  } else {
    it('are judged alike by jsonschema and Pydantic', { timeout: 120_000 }, async () => {
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
  it('names what is wrong and where', () => {
    const [request] = examples
    const message = { ...JSON.parse(request?.text ?? ''), timestamp: 'yesterday' }
    expect(validate(message)).toEqual({
      valid: false,
      errors: [expect.stringContaining('timestamp: must match pattern')],
    })
  })

  it('may ask for a signature', () => {
    const unsigned = examples.find(({ title }) => title === 'request, unsigned')
    const message = JSON.parse(unsigned?.text ?? '')
    expect(createSchemaValidator({ authenticated: true }).validate(message)).toEqual({
      valid: false,
      errors: ["message: must have required property 'auth'"],
    })
  })
})

function depthOf(value: unknown): number {
  return typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0
}
