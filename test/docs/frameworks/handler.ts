// handler.ts
import { createHandler } from '../../../src/entries/server.ts'
import { echo } from './echo.ts'

export const handler = createHandler(echo, { auth: 'none' })
