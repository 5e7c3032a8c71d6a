// echo.ts
import { agent } from '../../../src/entries/server.ts'

export const echo = agent({ name: 'Echo' }, async (turn) => `You said: ${turn.text}`)
