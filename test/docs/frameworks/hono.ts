import { Hono } from 'hono'
import { honoHandler } from '../../../src/entries/hono.ts'
import { handler } from './handler.ts'

export const app = new Hono()
app.all('/agents/echo/*', honoHandler(handler))
