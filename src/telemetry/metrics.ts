import type { Trace } from '../base/trace-context.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Activity, Learned, Span, Telemetry } from '../protocol/telemetry.ts'
import { createRegistry, type RegistryOptions } from './prometheus.ts'

/** Others are made up by callers. */
const methods: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** What is asked for when the page is. */
export interface Standing {
  readonly runs: () => number
  readonly queued: () => number
  readonly webhooks: () => number
}

export type MetricsSettings = RegistryOptions & { readonly standing: Standing }

/** What an agent does, in figures. */
export interface Metrics {
  /** Counts what it is told. */
  readonly telemetry: Telemetry
  /** One more answer over HTTP. */
  answered(method: string, status: number): void
  /** One more call of gRPC, with the name of its status. */
  answeredGrpc(method: string, status: string): void
  /** The page. */
  text(): string
}

export function createMetrics({ standing, ...options }: MetricsSettings): Metrics {
  const registry = createRegistry(options)
  const http = registry.counter('parley_http_requests_total', 'Requests over HTTP, by how they were answered.', [
    'method',
    'status',
  ])
  const grpc = registry.counter('parley_grpc_requests_total', 'Calls of gRPC, by the status of their answers.', [
    'method',
    'status',
  ])
  const requests = registry.counter('parley_requests_total', 'Operations of A2A, by how they ended.', [
    'operation',
    'outcome',
  ])
  const requestTime = seconds('parley_request_duration_seconds', 'How long operations took.', ['operation'])
  const inFlight = registry.level('parley_requests_in_flight', 'Operations under way, open streams among them.', [
    'operation',
  ])
  const streams = registry.level('parley_streams_open', 'Streams that are open.')
  const streamed = registry.counter('parley_stream_events_total', 'Events told in streams.', ['type'])
  const turns = registry.counter('parley_turns_total', 'Turns, by the state in which they left their task.', ['state'])
  const turnTime = seconds('parley_turn_duration_seconds', 'How long turns took.', [])
  const active = registry.level('parley_turns_active', 'Turns at work in this process.')
  const retried = registry.counter('parley_turns_retried_total', 'Turns that an earlier process had begun.')
  const leases = registry.counter('parley_lease_events_total', 'Leases that were lost, recovered, or not renewed.', [
    'what',
  ])
  const attempts = registry.counter('parley_push_attempts_total', 'Requests to webhooks, by how they ended.', [
    'outcome',
  ])
  const attemptTime = seconds('parley_push_attempt_duration_seconds', 'How long webhooks took to answer.', [])
  const sending = registry.level('parley_push_requests_in_flight', 'Requests to webhooks on their way.')
  const pushes = registry.counter('parley_push_events_total', 'Deliveries given up, webhooks paused or gone.', ['what'])
  const models = registry.counter('parley_model_calls_total', 'Calls of models.', ['model', 'outcome'])
  const modelTime = seconds('parley_model_call_duration_seconds', 'How long models took.', ['model'])
  const tokens = registry.counter('parley_model_tokens_total', 'Tokens that models read and wrote.', [
    'model',
    'direction',
  ])
  const tools = registry.counter('parley_tool_calls_total', 'Runs of tools.', ['tool', 'outcome'])
  const calls = registry.counter('parley_agent_calls_total', 'Calls of other agents.', ['outcome'])
  registry.gauge('parley_leases_held', 'Tasks that this process holds the lease of.', standing.runs)
  registry.gauge('parley_queue_messages', 'Messages that wait for a task at work in this process.', standing.queued)
  registry.gauge('parley_push_webhooks', 'Webhooks that this process sees to.', standing.webhooks)

  function seconds(name: string, help: string, labels: readonly string[]) {
    return registry.histogram(name, help, labels)
  }

  function begun(activity: Activity): void {
    if (activity.type === 'operation') {
      inFlight.add(1, activity.operation)
      if (isStream(activity)) streams.add(1)
    }
    if (activity.type === 'delivery') sending.add(1)
    if (activity.type === 'turn') {
      active.add(1)
      if (activity.attempt > 1) retried.add(1)
    }
  }

  function over(activity: Activity, took: number, failure: unknown, state: string | undefined): void {
    switch (activity.type) {
      case 'operation':
        inFlight.add(-1, activity.operation)
        if (isStream(activity)) streams.add(-1)
        requests.add(1, activity.operation, outcomeOf(failure))
        requestTime.observe(took, activity.operation)
        break
      case 'turn':
        active.add(-1)
        turns.add(1, state ?? 'unknown')
        turnTime.observe(took)
        break
      case 'delivery':
        sending.add(-1)
        attempts.add(1, failure === undefined ? 'delivered' : 'failed')
        attemptTime.observe(took)
        break
      case 'model':
        models.add(1, activity.model, outcomeOf(failure))
        modelTime.observe(took, activity.model)
        break
      case 'tool':
        tools.add(1, activity.tool, outcomeOf(failure))
        break
      case 'call':
        calls.add(1, outcomeOf(failure))
        break
      case 'event':
      case 'mesh':
        break
    }
  }

  function learn(activity: Activity, { event, inputTokens, outputTokens }: Learned): void {
    if (event !== undefined) streamed.add(1, event)
    if (activity.type !== 'model') return
    if (inputTokens !== undefined) tokens.add(inputTokens, activity.model, 'input')
    if (outputTokens !== undefined) tokens.add(outputTokens, activity.model, 'output')
  }

  return {
    text: registry.text,
    answered: (method, status) => http.add(1, methods.includes(method) ? method : 'other', `${status}`),
    answeredGrpc: (method, status) => grpc.add(1, method, status),
    telemetry: {
      begin(activity, under) {
        begun(activity)
        return new MeasuredSpan(activity, under, learn, over)
      },
      note: ({ type, what }) => (type === 'lease' ? leases : pushes).add(1, what),
    },
  }
}

function isStream({ operation }: { readonly operation: string }): boolean {
  return operation === 'streamMessage' || operation === 'subscribeToTask'
}

/** `ok`, or a code of a closed list. */
function outcomeOf(failure: unknown): string {
  if (failure === undefined) return 'ok'
  return failure instanceof A2AError ? failure.code : 'error'
}

class MeasuredSpan implements Span {
  readonly trace: Trace | undefined
  readonly #activity: Activity
  readonly #since = performance.now()
  readonly #learn: (activity: Activity, more: Learned) => void
  readonly #over: (activity: Activity, took: number, failure: unknown, state: string | undefined) => void
  #state: string | undefined
  #isOver = false

  constructor(
    activity: Activity,
    trace: Trace | undefined,
    learn: (activity: Activity, more: Learned) => void,
    over: (activity: Activity, took: number, failure: unknown, state: string | undefined) => void,
  ) {
    this.trace = trace
    this.#activity = activity
    this.#learn = learn
    this.#over = over
  }

  run<T>(work: () => T): T {
    return work()
  }

  learn(more: Learned): void {
    this.#state = more.state ?? this.#state
    this.#learn(this.#activity, more)
  }

  end(failure?: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#over(this.#activity, (performance.now() - this.#since) / 1000, failure, this.#state)
  }
}
