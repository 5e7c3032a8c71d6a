import { PassThrough, Writable } from 'node:stream'
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../../src/entries/client.ts'
import { agent, createMemoryLog } from '../../../src/entries/index.ts'
import { type LambdaContext, type LambdaRequest, lambdaHandler } from '../../../src/entries/lambda.ts'
import { createSqliteLog } from '../../../src/entries/sqlite.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

type Invoke = (event: object, stream: Writable, context: LambdaContext) => Promise<void>

/** The part of the platform that a function sees: it calls the function, and writes status and headers before the body. */
const platform = {
  streamifyResponse: (invoke: Invoke) => invoke,
  HttpResponseStream: {
    from(stream: Writable, head: object) {
      stream.emit('head', head)
      return stream
    },
  },
}

beforeEach(() => Object.assign(globalThis, { awslambda: platform }))
afterEach(() => Reflect.deleteProperty(globalThis, 'awslambda'))

/** Invokes a function for each request, as a function URL does. `ended` resolves when the last invocation has ended. */
function functionUrl(invoke: Invoke, time = 30_000) {
  let ended: Promise<void> = Promise.resolve()
  const context = () => {
    const end = Date.now() + time
    return { getRemainingTimeInMillis: () => end - Date.now() }
  }
  const fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init)
    const { pathname, search, host } = new URL(request.url)
    const body = Buffer.from(await request.arrayBuffer())
    const event: LambdaRequest = {
      rawPath: pathname,
      rawQueryString: search.slice(1),
      headers: { ...Object.fromEntries(request.headers), host },
      requestContext: { domainName: host, http: { method: request.method } },
      ...(body.length > 0 && { body: body.toString('base64'), isBase64Encoded: true }),
    }
    const stream = new PassThrough()
    const head = new Promise<{ statusCode: number; headers: Record<string, string> }>((resolve) =>
      stream.once('head', resolve),
    )
    ended = invoke(event, stream, context())
    const { statusCode, headers } = await Promise.race([head, ended.then(() => head)])
    return new Response(request.method === 'HEAD' ? null : (PassThrough.toWeb(stream).readable as never), {
      status: statusCode,
      headers,
    })
  }
  return { fetch, ended: () => ended, context }
}

async function createLog() {
  const log = createSqliteLog({ file: `${await temporaryDirectory()}/agent.db` })
  onTestFinished(() => log.close())
  return log
}

const url = 'https://abc.lambda-url.eu-west-1.on.aws'

it('messages, streams and questions work, each in an invocation of its own', async () => {
  const shop = agent({ name: 'Shop', recovery: 'resume' }, async (turn) => {
    if (turn.text === 'echo') return 'You said echo'
    const answer = await turn.ask('Which colour?')
    const report = turn.artifact('report.txt')
    for (const word of ['One ', `${turn.text} `, `in ${answer.text}`]) await report.write(word)
    return 'Ordered'
  })
  const { fetch, ended } = functionUrl(lambdaHandler(shop, { auth: 'none', log: await createLog() }) as Invoke)
  const client = await connect(url, { fetch })
  expect((await client.send('echo')).text).toBe('You said echo')
  const conversation = client.conversation()
  expect((await conversation.send('chair')).text).toBe('Which colour?')
  const texts: string[] = []
  for await (const event of conversation.stream('blue')) {
    if (event.type === 'artifact') texts.push(...event.artifact.parts.map((part) => ('text' in part ? part.text : '')))
  }
  expect(texts.join('')).toBe('One chair in blue')
  await ended()
})

it('an invocation ends after the turn that outlives its answer', async () => {
  const slow = agent({ name: 'Slow' }, async (turn) => {
    await turn.status('working')
    await new Promise((resolve) => setTimeout(resolve, 500))
    return 'done'
  })
  const { fetch, ended } = functionUrl(lambdaHandler(slow, { auth: 'none', log: await createLog() }) as Invoke)
  const client = await connect(url, { fetch })
  const { task } = await client.send('go', { returnImmediately: true })
  await ended()
  expect((await client.task(task?.id ?? '').get()).status.state).toBe('completed')
})

it('a turn that the time of the function does not suffice for is continued by an event of a schedule', async () => {
  let runs = 0
  const report = agent({ name: 'Report', recovery: 'resume' }, async (turn) => {
    const first = ++runs === 1
    await turn.step('read', () => 'figures')
    if (first) await new Promise((_, reject) => turn.signal.addEventListener('abort', () => reject(turn.signal.reason)))
    return `finished in run ${runs}`
  })
  const log = await createLog()
  const invoke = lambdaHandler(report, { auth: 'none', log }) as Invoke
  const { fetch, ended } = functionUrl(invoke, 4_000)
  const client = await connect(url, { fetch })
  const { task } = await client.send('go', { returnImmediately: true })
  await ended()
  const discard = new Writable({ write: (_chunk, _encoding, done) => done() })
  await invoke({ source: 'aws.events' }, discard, functionUrl(invoke, 9_000).context())
  const { status } = await client.task(task?.id ?? '').get()
  expect(status.state).toBe('completed')
  expect(runs).toBe(2)
})

it('outside of Lambda, and without a shared log, it is refused with a sentence', async () => {
  const echo = agent({ name: 'Echo' }, (turn) => turn.text)
  expect(() => lambdaHandler(echo, { auth: 'none' } as never)).toThrow('expected a log that all invocations share')
  Reflect.deleteProperty(globalThis, 'awslambda')
  expect(() => lambdaHandler(echo, { auth: 'none', log: createMemoryLog() })).toThrow(
    'expected the Node runtime of AWS Lambda',
  )
})
