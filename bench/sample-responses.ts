/** Prepared responses of the size of Parley's, for servers that do no work. */

const ids = { taskId: crypto.randomUUID(), contextId: crypto.randomUUID() }

/** A small task, completed. */
export const sampleResponse = success({
  task: {
    id: ids.taskId,
    contextId: ids.contextId,
    status: { state: 'TASK_STATE_COMPLETED', timestamp: new Date().toISOString() },
    artifacts: [{ artifactId: crypto.randomUUID(), name: 'answer', parts: [{ text: 'Hello from the bench' }] }],
    history: [{ messageId: 'm-00000000', role: 'ROLE_USER', parts: [{ text: 'Hello' }], ...ids }],
  },
})

/** An artifact chunk as a server-sent event. */
export function sampleEvent(bytes: number): string {
  const artifact = { artifactId: crypto.randomUUID(), parts: [{ text: 'x'.repeat(bytes) }] }
  return `id: 1000\ndata: ${success({ artifactUpdate: { ...ids, artifact, append: true } })}\n\n`
}

function success(result: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, result })
}
