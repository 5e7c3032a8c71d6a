import type { Server } from '../../../src/entries/index.ts'

export async function eraseAlice(server: Server) {
  const { tasks, pushConfigs } = await server.erase({ principal: { id: 'alice', tenant: 'acme' } })
  return `removed ${tasks.length} tasks and ${pushConfigs} webhooks`
}
