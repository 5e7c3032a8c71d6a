import express from 'express'
import { toListener } from '../../../src/entries/node.ts'
import { handler } from './handler.ts'

export const app = express()
app.use('/agents/echo', toListener(handler.exchange))
