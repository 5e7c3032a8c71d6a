import { routeHandlers } from '../../../src/entries/next.ts'
import { createHandler } from '../../../src/entries/server.ts'
import { echo } from './echo.ts'

const handler = createHandler(echo, { auth: 'none', path: '' })

export const { GET, HEAD, POST, DELETE, OPTIONS } = routeHandlers(handler)
