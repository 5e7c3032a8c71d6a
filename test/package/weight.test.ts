import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createConsumer } from '../support/package/consumer.ts'

const isBuilt = existsSync(new URL('../../dist/index.js', import.meta.url))

/** Prints the files that an import loads, and the modules of Node. */
const loaded = `
  import { registerHooks } from 'node:module'
  const files = []
  registerHooks({
    load(url, context, next) {
      if (url.startsWith('file:')) files.push(url)
      return next(url, context)
    },
  })
  await import('parley-a2a')
  console.log(JSON.stringify({ files, modules: process.moduleLoadList }))
`

describe.skipIf(!isBuilt)('the import of the root', () => {
  it('few files are loaded, and nothing that only requests need', async () => {
    const project = await createConsumer([], { 'main.js': loaded })
    const { stdout } = await promisify(execFile)(process.execPath, [join(project, 'main.js')], { maxBuffer: 2 ** 24 })
    const { files, modules } = JSON.parse(stdout) as Readonly<Record<'files' | 'modules', readonly string[]>>
    // Each file costs time: with 40 files, the import took longer than that of Express.
    expect(files.length).toBeLessThanOrEqual(14)
    // Node's fetch and WebSocket, which cost more than all our files.
    expect(modules.filter((name) => name.includes('undici'))).toEqual([])
  })

  it('a loop without operators needs no RxJS, and one with operators names the package', async () => {
    const project = await createConsumer([], {
      'main.js': `
        import { createAgentLoop } from 'parley-a2a/loop'
        const model = {
          specificationVersion: 'v4', provider: 'test', modelId: 'test', supportedUrls: {},
          doStream: async () => ({
            stream: new ReadableStream({
              start(controller) {
                controller.enqueue({ type: 'text-delta', id: '1', delta: 'Hello' })
                const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
                controller.enqueue({ type: 'finish', usage, finishReason: { unified: 'stop' } })
                controller.close()
              },
            }),
          }),
        }
        const ids = { taskId: 't', contextId: 'c' }
        const { status, artifacts } = await createAgentLoop({ model }).invokeSync([{ text: 'go' }], ids)
        const failing = createAgentLoop({ model, operators: [(events) => events] })
        const { message } = await failing.invokeSync([{ text: 'go' }], ids).catch((error) => error)
        console.log(JSON.stringify([status.state, artifacts[0].parts[0].text, message]))`,
    })
    const { stdout } = await promisify(execFile)(process.execPath, [join(project, 'main.js')])
    expect(JSON.parse(stdout)).toEqual([
      'completed',
      'Hello',
      'createAgentLoop(): operators need RxJS, which is not installed: npm install rxjs',
    ])
  })
})
