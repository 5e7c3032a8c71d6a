import { type Agent, requireAgent } from '../../core/agent/agent.ts'
import { defined } from '../../core/base/json.ts'
import { consoleLogger } from '../../core/base/logger.ts'
import { checkOptions, type OptionChecks, text } from '../../core/base/options.ts'
import { createGuard } from '../../core/http/address-guard.ts'
import { createIncoming, type Fetch } from '../../core/http/fetch.ts'
import { parseJson } from '../../core/http/json.ts'
import { readLimited } from '../../core/http/read-limited.ts'
import { isAnonymous, ownerOf } from '../../core/protocol/model.ts'
import type { PushFetch, PushOptions } from '../../core/push/options.ts'
import { type Authentication, createAuthentication, requireAuthOption } from '../../core/server/authentication.ts'
import { createHandler } from '../../core/server/handler.ts'
import { type HandlerOptions, handlerChecks } from '../../core/server/options.ts'
import { withWireDefaults } from '../../core/transports/server/options.ts'
import { openDurableObjectLog } from '../../stores/durable-object/durable-object-log.ts'
import { createObjectAlarm, type ObjectState } from './object-alarm.ts'
import { shardHeader, shardOfRequest } from './shards.ts'

/** The object that answers requests which belong to no task: the card, and requests without valid credentials. */
const commonObject = 'common'

/** Where a request goes. `shard` is set for callers without credentials. */
interface Destination {
  readonly object: string
  readonly shard?: string
}

/** Options of `createWorker`. */
export interface WorkerOptions extends Omit<HandlerOptions, 'log' | 'grpc' | 'clock' | 'push'> {
  /** Webhooks. `fetch` defaults to that of the platform, without redirects and only to https URLs of public hosts. */
  readonly push?: Omit<PushOptions, 'fetch' | 'store'> & Partial<Pick<PushOptions, 'fetch'>>
  /** Name of the binding of the Durable Objects. Defaults to `TASKS`. */
  readonly binding?: string
}

/** The part of a namespace of Durable Objects that the Worker uses. */
interface ObjectNamespace {
  idFromName(name: string): unknown
  get(id: never): { fetch(request: Request): Promise<Response> }
}

/** The class of the Durable Objects that hold the tasks and run their turns. Export it, and name it in the configuration. */
export type TaskObjectClass = new (
  state: ObjectState,
) => {
  fetch(request: Request): Promise<Response>
  alarm(): Promise<void>
}

/** A Worker that serves an agent. Its default export has `fetch`; the class is exported under the name of the configuration. */
export interface AgentWorker {
  fetch(request: Request, env: unknown): Promise<Response>
  readonly TaskObject: TaskObjectClass
}

const { log: _log, grpc: _grpc, clock: _clock, ...sharedChecks } = handlerChecks
const workerChecks: OptionChecks<WorkerOptions> = { ...sharedChecks, binding: text }

/**
 * Serves an agent on Cloudflare Workers. Tasks are stored in Durable Objects, one for each owner, and 256 for callers without
 * credentials. Their turns run there: a turn continues when its request is over, and its object resumes or fails it after a crash, by the agent's recovery policy.
 *
 * @example
 * const worker = createWorker(echo, { auth: 'none' })
 * export const TaskObject = worker.TaskObject
 * export default { fetch: worker.fetch }
 */
export function createWorker(agent: Agent, options: WorkerOptions): AgentWorker {
  requireAgent(agent, 'createWorker(): agent')
  const caller = `createWorker(${agent.profile.name})`
  requireAuthOption(caller, options)
  checkOptions(caller, options, workerChecks)
  const { binding = 'TASKS', push, ...others } = options
  const handlerOptions = defined({ ...others, push: push && { fetch: createPublicFetch(), ...push } })
  const { auth, logger = consoleLogger, trustProxy } = options
  if (auth !== 'none' && auth.policy) {
    throw new TypeError(
      `${caller}: auth.policy cannot work here: the tasks of other owners are in other Durable Objects.`,
    )
  }
  if (auth !== 'none' && typeof auth.anonymous === 'object' && auth.anonymous.listAll) {
    throw new TypeError(
      `${caller}: auth.anonymous.listAll cannot work here: the tasks of callers without credentials are in many Durable Objects. ` +
        'They can list the tasks of a context.',
    )
  }
  const { bodyLimit, jsonDepth } = withWireDefaults(options.http ?? {})
  let authentication: Authentication | undefined

  /** The object with the tasks of the caller, or with the task of a caller without credentials. */
  async function destinationOf(request: Request): Promise<Destination> {
    // Created with the first request: Workers allow neither timers nor random numbers before.
    authentication ??= createAuthentication(auth, { profile: agent.profile, logger, trustProxy })
    try {
      const incoming = createIncoming(request, { base: '', signal: request.signal })
      const principal = await authentication.identify(incoming)
      if (!isAnonymous(principal)) return { object: `owner:${ownerOf(principal)}` }
      const shard = shardOfRequest(new URL(request.url), await peekJson(request, bodyLimit, jsonDepth))
      return shard === undefined ? { object: commonObject } : { object: `anonymous:${shard}`, shard }
    } catch {
      return { object: commonObject } // which rejects the request with the right challenge or error
    }
  }

  return {
    async fetch(request, env) {
      const objects = (env as Record<string, ObjectNamespace | undefined> | undefined)?.[binding]
      if (!objects?.idFromName) {
        throw new TypeError(
          `${caller}: the Worker has no binding ${binding}. Add it to durable_objects.bindings of its configuration, ` +
            'with the class TaskObject.',
        )
      }
      const { object, shard = '' } = await destinationOf(request)
      const forwarded = new Request(request)
      forwarded.headers.set(shardHeader, shard)
      return await objects.get(objects.idFromName(object) as never).fetch(forwarded)
    },
    TaskObject: class {
      readonly #fetch: (request: Request) => Promise<Response>
      readonly #alarm: ReturnType<typeof createObjectAlarm>
      #shard = ''

      constructor(state: ObjectState) {
        const log = openDurableObjectLog(state.storage, {
          onWrite: () => this.#alarm.update(),
          idSuffix: () => this.#shard,
        })
        this.#alarm = createObjectAlarm(state, log)
        this.#fetch = createHandler(agent, { ...handlerOptions, log }).fetch
      }

      fetch(request: Request): Promise<Response> {
        this.#shard = request.headers.get(shardHeader) ?? ''
        return this.#fetch(request)
      }

      alarm(): Promise<void> {
        return this.#alarm.ring()
      }
    },
  }
}

/** Reads the JSON of a request, whose body can be read again. */
async function peekJson(request: Request, limit: number, depth: number): Promise<unknown> {
  const bytes = await readLimited(request.clone().body, limit)
  return bytes.length === 0 ? undefined : parseJson(bytes, { depth })
}

/** The network of the platform reaches public addresses alone, so there is no address to check after a name was resolved. */
function createPublicFetch(): PushFetch {
  const guard = createGuard({ schemes: ['https'] })
  const check = async (url: string) => guard.checkUrl(new URL(url))
  const send: Fetch = async (url, init) => {
    await check(url)
    return await fetch(url, { ...init, redirect: 'manual' })
  }
  return Object.assign(send, { check })
}
