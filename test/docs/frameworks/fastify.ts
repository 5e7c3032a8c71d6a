import fastify from 'fastify'
import { fastifyPlugin } from '../../../src/entries/fastify.ts'
import { handler } from './handler.ts'

export const app = fastify()
await app.register(fastifyPlugin(handler), { prefix: '/agents/echo' })
