import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { apiKey, hashApiKey } from '../../src/entries/auth.ts'
import { connect } from '../../src/entries/client.node.ts'
import { agent, serve } from '../../src/entries/index.ts'
import { createOperatorClient } from '../../src/entries/operator.ts'
import type { ServeOptions } from '../../src/serve/options.ts'
import { createRecordingLogger } from '../support/logger.ts'
import { operatorOf } from '../support/servers/operator-login.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const secret = 'ghp-0123456789abcdef'

const publisher = agent({ name: 'Publisher' }, async (turn) => {
  if (turn.text === 'ask') await turn.ask('Which colour?')
  const credentials = await turn.requireAuth({ scheme: 'github', url: 'https://github.example/login' })
  turn.log.info({ used: credentials.secret() }, 'credentials are used')
  await turn.status('completed', `${credentials.secret()} by ${credentials.by} of ${credentials.principal.id}`)
})

async function start(options: ServeOptions = {}) {
  const directory = await temporaryDirectory()
  const { lines, logger } = createRecordingLogger()
  const server = await serve(publisher, { ...{ signals: false, directory, logger, drainDeadline: 0 }, ...options })
  onTestFinished(() => server.close())
  return { server, url: server.url, client: await connect(server.url), lines, directory }
}

describe('a task that waits for credentials', () => {
  it('gets them from an operator, and they are neither shown, logged nor stored', async () => {
    const { server, client, lines, directory } = await start()
    const operator = operatorOf(server)
    await client.send('push it')
    const [item] = (await operator.inbox()).items
    if (!item) throw new Error('nothing waits')
    expect(item.waiting).toMatchObject({
      kind: 'credentials',
      credentials: { schemes: ['github'], urls: ['https://github.example/login'] },
    })
    await operator.answer(item, { credentials: { scheme: 'github', secret }, comment: 'From the vault' })
    await expect.poll(async () => (await operator.task(item)).phase).toBe('completed')
    const detail = await operator.task(item)
    expect(detail.summary).toBe('[redacted] by message of anonymous')
    expect(detail.task.history.at(-1)?.parts).toEqual([
      expect.objectContaining({ data: { scheme: 'github', redacted: true } }),
      { text: 'From the vault' },
    ])
    const { lines: shown } = await operator.log(item)
    expect(shown).toContainEqual(expect.objectContaining({ message: 'credentials are used' }))
    const { events } = await operator.events(item)
    expect(JSON.stringify([detail, shown, events, lines])).not.toContain(secret)
    for (const file of await readdir(directory)) {
      expect((await readFile(join(directory, file))).includes(secret)).toBe(false)
    }
  })

  it('continues to wait when the credentials are for another scheme', async () => {
    const { server, client } = await start()
    const operator = operatorOf(server)
    await client.send('push it')
    const [item] = (await operator.inbox()).items
    if (!item) throw new Error('nothing waits')
    await operator.answer(item, { credentials: { scheme: 'gitlab', secret } })
    await expect.poll(async () => (await operator.task(item)).waiting?.text).toContain('The last message brought none')
    await operator.answer(item, { credentials: { secret } })
    await expect.poll(async () => (await operator.task(item)).phase).toBe('completed')
  })

  it('refuses wrong answers without repeating the secret, and answers of viewers', async () => {
    const keys = [
      { id: 'olga', hash: await hashApiKey('operator-key') },
      { id: 'vera', hash: await hashApiKey('viewer-key-1') },
    ]
    const { url, client, lines } = await start({
      console: {
        auth: { schemes: { key: apiKey({ keys }) } },
        roles: ({ id }) => (id === 'olga' ? 'operator' : 'viewer'),
      },
    })
    const as = (key: string) => createOperatorClient({ url: `${url}/console`, headers: { 'x-api-key': key } })
    const [operator, viewer] = [as('operator-key'), as('viewer-key-1')]
    await client.send('push it')
    await client.send('ask')
    const { tasks } = await operator.tasks()
    const waiting = tasks.find(({ phase }) => phase === 'auth-required')
    const asking = tasks.find(({ phase }) => phase === 'input-required')
    if (!waiting || !asking) throw new Error('two tasks should wait')
    const refusals = [
      await viewer.answer(waiting, { credentials: { secret } }).catch((error) => error),
      await operator.answer(asking, { credentials: { secret } }).catch((error) => error),
      await operator.answer(waiting, { credentials: { secret: '' } }).catch((error) => error),
      await operator.answer(waiting, { credentials: { secret: secret.repeat(1_000) } }).catch((error) => error),
      await operator.answer(waiting, { credentials: { secret }, value: 1 }).catch((error) => error),
      await operator.answer(waiting, { credentials: { secret: [secret] as never } }).catch((error) => error),
    ]
    expect(refusals.map(({ status }) => status)).toEqual([403, 409, 400, 400, 400, 400])
    expect(JSON.stringify([refusals.map(({ message }) => message), lines])).not.toContain(secret)
    await operator.answer(waiting, { credentials: { secret } })
    await expect.poll(async () => (await operator.task(waiting)).phase).toBe('completed')
    const answer = (await operator.task(waiting)).task.history.at(-1)
    expect(answer?.metadata).toEqual({ operator: 'olga' })
  })
})
