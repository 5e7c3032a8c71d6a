/** A Fastify plugin that serves an agent. Works without importing Fastify. */

export { type FastifyScope, fastifyPlugin } from '../integrations/web/fastify.ts'
