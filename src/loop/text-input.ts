import type { StandardSchemaV1 } from '@standard-schema/spec'

/** What a tool takes that takes plain text. */
export interface TextInput {
  readonly text: string
}

export const textJsonSchema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }

export const textInput: StandardSchemaV1<TextInput> = {
  '~standard': {
    version: 1,
    vendor: 'parley',
    validate(value) {
      const text = typeof value === 'object' && value && 'text' in value ? value.text : undefined
      return typeof text === 'string'
        ? { value: { text } }
        : { issues: [{ message: 'expected a text', path: ['text'] }] }
    },
  },
}
