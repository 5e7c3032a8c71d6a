import type { Trace } from '../base/trace-context.ts'
import { A2AError } from '../protocol/errors.ts'
import { isStream } from '../protocol/intercept.ts'
import type { Activity, ActivityDetails, Span, Telemetry, TelemetryIncident } from '../protocol/telemetry.ts'
import { createMetricRegistry, type MetricRegistryOptions } from './prometheus.ts'

/** Callers can make up any other method; they count as `other`. */
const httpMethods: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Values that are read when the metrics are. */
export interface MetricsGauges {
  readonly runs: () => number
  readonly queued: () => number
  readonly webhooks: () => number
}

export type CreateMetricsOptions = MetricRegistryOptions & { readonly gauges: MetricsGauges }

/** The metrics of one agent. */
export interface Metrics {
  /** Counts the activities that it observes. */
  readonly telemetry: Telemetry
  /** Counts an HTTP response. */
  answered(method: string, status: number): void
  /** Counts an answered gRPC call, by the name of its status. */
  answeredGrpc(method: string, status: string): void
  /** All metrics in the Prometheus text format. */
  text(): string
}

export function createMetrics({ gauges, ...options }: CreateMetricsOptions): Metrics {
  const registry = createMetricRegistry(options)
  const http = registry.counter('parley_http_requests_total', 'HTTP requests, by method and response status.', [
    'method',
    'status',
  ])
  const grpc = registry.counter('parley_grpc_requests_total', 'gRPC calls, by method and status.', ['method', 'status'])
  const requests = registry.counter('parley_requests_total', 'A2A operations, by outcome.', ['operation', 'outcome'])
  const requestTime = seconds('parley_request_duration_seconds', 'Duration of A2A operations.', ['operation'])
  const inFlight = registry.level('parley_requests_in_flight', 'A2A operations in flight, including open streams.', [
    'operation',
  ])
  const streams = registry.level('parley_streams_open', 'Open streams.')
  const streamEvents = registry.counter('parley_stream_events_total', 'Events sent in streams.', ['type'])
  const turns = registry.counter('parley_turns_total', 'Turns, by the task state they ended in.', ['state'])
  const turnTime = seconds('parley_turn_duration_seconds', 'Duration of turns.', [])
  const activeTurns = registry.level('parley_turns_active', 'Turns running in this process.')
  const retriedTurns = registry.counter('parley_turns_retried_total', 'Turns that an earlier process had started.')
  const leaseEvents = registry.counter('parley_lease_events_total', 'Leases lost, recovered, or not renewed.', ['what'])
  const attempts = registry.counter('parley_push_attempts_total', 'Webhook requests, by outcome.', ['outcome'])
  const attemptTime = seconds('parley_push_attempt_duration_seconds', 'Duration of webhook requests.', [])
  const deliveriesInFlight = registry.level('parley_push_requests_in_flight', 'Webhook requests in flight.')
  const pushEvents = registry.counter('parley_push_events_total', 'Deliveries given up, webhooks paused or gone.', [
    'what',
  ])
  const models = registry.counter('parley_model_calls_total', 'Model calls, by outcome.', ['model', 'outcome'])
  const modelTime = seconds('parley_model_call_duration_seconds', 'Duration of model calls.', ['model'])
  const tokens = registry.counter('parley_model_tokens_total', 'Tokens that models read and wrote.', [
    'model',
    'direction',
  ])
  const usedTokens = registry.counter('parley_usage_tokens_total', 'Tokens that turns used, by their caller.', [
    'tenant',
    'principal',
    'direction',
  ])
  const usedCost = registry.counter('parley_usage_cost_micros_total', 'Cost of turns in millionths, by their caller.', [
    'tenant',
    'principal',
  ])
  const tools = registry.counter('parley_tool_calls_total', 'Tool calls, by outcome.', ['tool', 'outcome'])
  const calls = registry.counter('parley_agent_calls_total', 'Calls to other agents, by outcome.', ['outcome'])
  registry.gauge('parley_leases_held', 'Tasks whose lease this process holds.', gauges.runs)
  registry.gauge('parley_queue_messages', 'Messages queued for running tasks in this process.', gauges.queued)
  registry.gauge('parley_push_webhooks', 'Webhooks that this process delivers to.', gauges.webhooks)

  function seconds(name: string, help: string, labels: readonly string[]) {
    return registry.histogram(name, help, labels)
  }

  function onBegin(activity: Activity): void {
    if (activity.type === 'operation') {
      inFlight.add(1, activity.operation)
      if (isStream(activity.operation)) streams.add(1)
    }
    if (activity.type === 'delivery') deliveriesInFlight.add(1)
    if (activity.type === 'turn') {
      activeTurns.add(1)
      if (activity.attempt > 1) retriedTurns.add(1)
    }
  }

  function onEnd(activity: Activity, duration: number, failure: unknown, state: string | undefined): void {
    switch (activity.type) {
      case 'operation':
        inFlight.add(-1, activity.operation)
        if (isStream(activity.operation)) streams.add(-1)
        requests.add(1, activity.operation, outcomeOf(failure))
        requestTime.observe(duration, activity.operation)
        break
      case 'turn':
        activeTurns.add(-1)
        turns.add(1, state ?? 'none')
        turnTime.observe(duration)
        break
      case 'delivery':
        deliveriesInFlight.add(-1)
        attempts.add(1, failure === undefined ? 'delivered' : 'failed')
        attemptTime.observe(duration)
        break
      case 'model':
        models.add(1, activity.model, outcomeOf(failure))
        modelTime.observe(duration, activity.model)
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

  function onLearn(activity: Activity, { event, inputTokens, outputTokens }: ActivityDetails): void {
    if (event !== undefined) streamEvents.add(1, event)
    if (activity.type !== 'model') return
    if (inputTokens !== undefined) tokens.add(inputTokens, activity.model, 'input')
    if (outputTokens !== undefined) tokens.add(outputTokens, activity.model, 'output')
  }

  function onRecord(fact: TelemetryIncident): void {
    switch (fact.type) {
      case 'lease':
        leaseEvents.add(1, fact.what)
        break
      case 'push':
        pushEvents.add(1, fact.what)
        break
      case 'usage': {
        const { usage, principal, tenant = '' } = fact
        const { inputTokens = 0, outputTokens = 0, cost = 0 } = usage
        if (inputTokens > 0) usedTokens.add(inputTokens, tenant, principal, 'input')
        if (outputTokens > 0) usedTokens.add(outputTokens, tenant, principal, 'output')
        if (cost > 0) usedCost.add(cost, tenant, principal)
      }
    }
  }

  return {
    text: registry.text,
    answered: (method, status) => http.add(1, httpMethods.includes(method) ? method : 'other', `${status}`),
    answeredGrpc: (method, status) => grpc.add(1, method, status),
    telemetry: {
      begin(activity, under) {
        onBegin(activity)
        return new MeasuredSpan(activity, under, onLearn, onEnd)
      },
      record: onRecord,
    },
  }
}

/** `ok`, an error code, or `error`: few values, because each is a series. */
function outcomeOf(failure: unknown): string {
  if (failure === undefined) return 'ok'
  return failure instanceof A2AError ? failure.code : 'error'
}

type OnLearn = (activity: Activity, more: ActivityDetails) => void

type OnEnd = (activity: Activity, duration: number, failure: unknown, state: string | undefined) => void

/** A class, because there is one for every call, turn and delivery. */
class MeasuredSpan implements Span {
  readonly trace: Trace | undefined
  readonly #activity: Activity
  readonly #start = performance.now()
  readonly #onLearn: OnLearn
  readonly #onEnd: OnEnd
  #state: string | undefined
  #isOver = false

  constructor(activity: Activity, trace: Trace | undefined, onLearn: OnLearn, onEnd: OnEnd) {
    this.trace = trace
    this.#activity = activity
    this.#onLearn = onLearn
    this.#onEnd = onEnd
  }

  run<T>(work: () => T): T {
    return work()
  }

  addDetails(more: ActivityDetails): void {
    this.#state = more.state ?? this.#state
    this.#onLearn(this.#activity, more)
  }

  end(failure?: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#onEnd(this.#activity, (performance.now() - this.#start) / 1000, failure, this.#state)
  }
}
