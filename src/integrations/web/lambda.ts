import { type Agent, requireAgent } from '../../core/agent/agent.ts'
import { checkOptions, type OptionChecks } from '../../core/base/options.ts'
import { requireAuthOption } from '../../core/server/authentication.ts'
import { createHandler } from '../../core/server/handler.ts'
import { type HandlerOptions, handlerChecks } from '../../core/server/options.ts'

/** Milliseconds that the platform gets to end an invocation after its turns have ended or were handed over. */
const reserve = 3_000

/** How long an invocation without a request looks for work that others left, in milliseconds. */
const sweepTime = 10_000

/** Options of `lambdaHandler`: those of `createHandler`, with a log that other invocations share. */
export interface LambdaOptions extends Omit<HandlerOptions, 'grpc' | 'log'> {
  readonly log: NonNullable<HandlerOptions['log']>
}

/** A request of a function URL: the payload format 2.0 of AWS, as far as it is used. */
export interface LambdaRequest {
  readonly rawPath: string
  readonly rawQueryString?: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly cookies?: readonly string[]
  readonly body?: string
  readonly isBase64Encoded?: boolean
  readonly requestContext: { readonly domainName: string; readonly http: { readonly method: string } }
}

/** The part of the context of an invocation that the handler uses. */
export interface LambdaContext {
  getRemainingTimeInMillis(): number
}

/** The stream of a response, as the platform gives it. */
export interface LambdaStream {
  write(chunk: Uint8Array): boolean
  end(): unknown
  once(event: 'drain' | 'close' | 'error', listener: () => void): unknown
}

/** What the Node runtime of AWS Lambda puts into the global scope. */
export interface LambdaRuntime {
  streamifyResponse(
    handle: (event: LambdaRequest | object, stream: LambdaStream, context: LambdaContext) => Promise<void>,
  ): unknown
  readonly HttpResponseStream: {
    from(
      stream: LambdaStream,
      head: { readonly statusCode: number; readonly headers: Readonly<Record<string, string>> },
    ): LambdaStream
  }
}

const { grpc: _grpc, ...sharedChecks } = handlerChecks
const lambdaChecks: OptionChecks<LambdaOptions> = sharedChecks

/**
 * Serves an agent on AWS Lambda, behind a function URL with `InvokeMode: RESPONSE_STREAM`. An invocation ends when its response and the
 * turns that it started have ended. Turns that need more time than the function has are handed over by the agent's `recovery`;
 * another invocation continues them. An event that is no request, such as that of a schedule, continues what is due.
 *
 * @example
 * const reporter = agent({ name: 'Reporter' }, async (turn) => `A report about ${turn.text}`)
 * const log = await createPostgresLog({ pool: new Pool(), schema: 'reporter' })
 * export const handler = lambdaHandler(reporter, { auth: 'none', log })
 */
export function lambdaHandler(agent: Agent, options: LambdaOptions): unknown {
  requireAgent(agent, 'lambdaHandler(): agent')
  const caller = `lambdaHandler(${agent.profile.name})`
  requireAuthOption(caller, options)
  checkOptions(caller, options, lambdaChecks)
  if (!options.log)
    throw new TypeError(`${caller}: log: expected a log that all invocations share, such as PostgreSQL.`)
  const runtime = (globalThis as { awslambda?: LambdaRuntime }).awslambda
  if (!runtime) throw new TypeError(`${caller}: expected the Node runtime of AWS Lambda, which streams responses.`)
  return runtime.streamifyResponse(async (event, stream, context) => {
    // A function runs one invocation at a time and stops between them, so each has a runtime of its own on the shared log.
    const handler = createHandler(agent, options)
    try {
      if (isRequest(event)) await answer(runtime, await handler.fetch(toRequest(event)), stream)
      else await sweep(stream, context)
    } finally {
      await handler.drain(Math.max(0, context.getRemainingTimeInMillis() - reserve), reserve / 2)
    }
  })
}

const isRequest = (event: LambdaRequest | object): event is LambdaRequest =>
  'requestContext' in event && 'rawPath' in event

function toRequest(event: LambdaRequest): Request {
  const { rawPath, rawQueryString, cookies, body, isBase64Encoded, requestContext } = event
  const url = `https://${requestContext.domainName}${rawPath}${rawQueryString ? `?${rawQueryString}` : ''}`
  const headers = new Headers()
  for (const [name, value] of Object.entries(event.headers)) if (value !== undefined) headers.set(name, value)
  if (cookies) headers.set('cookie', cookies.join('; '))
  const bytes = isBase64Encoded && body !== undefined ? Uint8Array.from(atob(body), (char) => char.charCodeAt(0)) : body
  return new Request(url, { method: requestContext.http.method, headers, body: bytes ?? null })
}

/** Writes a response as fast as its reader takes it. */
async function answer({ HttpResponseStream }: LambdaRuntime, response: Response, stream: LambdaStream): Promise<void> {
  const headers = Object.fromEntries(response.headers)
  const body = HttpResponseStream.from(stream, { statusCode: response.status, headers })
  let isClosed = false
  const closed = new Promise<void>((resolve) => {
    const close = () => {
      isClosed = true
      resolve()
    }
    body.once('close', close)
    body.once('error', close)
  })
  // The platform sends the status with the first bytes.
  body.write(new Uint8Array())
  for await (const chunk of response.body ?? []) {
    if (!body.write(chunk)) await Promise.race([new Promise<void>((resolve) => body.once('drain', resolve)), closed])
    if (isClosed) break
  }
  body.end()
}

async function sweep(stream: LambdaStream, context: LambdaContext): Promise<void> {
  const time = Math.min(sweepTime, Math.max(0, context.getRemainingTimeInMillis() - 2 * reserve))
  await new Promise((resolve) => setTimeout(resolve, time))
  stream.end()
}
