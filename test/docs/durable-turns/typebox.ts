import Type from 'typebox'
import { Compile } from 'typebox/compile'
import { typeBoxSchema } from '../../../src/entries/index.ts'

export const size = typeBoxSchema(Compile(Type.Union([Type.Literal('small'), Type.Literal('large')])))
