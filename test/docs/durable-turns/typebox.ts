import Type from 'typebox'
import { Compile } from 'typebox/compile'

const Size = Compile(Type.Union([Type.Literal('small'), Type.Literal('large')]))

export const size = {
  '~standard': {
    version: 1,
    vendor: 'typebox',
    validate: (value: unknown) => (Size.Check(value) ? { value } : { issues: Size.Errors(value) }),
  },
} as const
