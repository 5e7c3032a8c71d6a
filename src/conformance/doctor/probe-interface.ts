import { defined } from '../../core/base/json.ts'
import type { Notice } from '../../core/client/options.ts'
import type { AgentInterface } from '../../core/protocol/card.ts'
import { A2AError, type ErrorCode } from '../../core/protocol/errors.ts'
import { certificateFaultOf, certificateRemedy } from './certificates.ts'
import { requiresCredentials } from './check-card.ts'
import { findAddress } from './find-address.ts'
import {
  attempt,
  callOf,
  getTask,
  isNotFound,
  isRefusal,
  newId,
  openService,
  type ProbeOptions,
} from './interface-calls.ts'
import { type AddFinding, collectFindings, type Finding, type InterfaceReport } from './report.ts'

export interface InterfaceProbe {
  readonly report: InterfaceReport
  readonly findings: readonly Finding[]
}

/** Calls one interface with calls that change nothing: about a task that does not exist, and a list of one task. */
export async function probeInterface(each: AgentInterface, options: ProbeOptions): Promise<InterfaceProbe> {
  const { card, recorder, providers } = options
  const { binding, protocolVersion: version, url, tenant } = each
  let report: InterfaceReport = defined({ url, binding, version, tenant: tenant || undefined, works: false })
  let mark = recorder.mark()
  const { findings, subject, add } = collectFindings(each, () => recorder.since(mark).slice(-3))
  const done = (): InterfaceProbe => ({ report, findings })

  const first = await attempt(() => getTask(each, { ...options, providers: [] }))
  if (isRefusal(first)) {
    report = { ...report, authentication: 'required' }
    if (!requiresCredentials(card)) {
      const problem = 'The agent requires credentials, but the card does not say so.'
      add('error', 'auth-undeclared', problem, 'Declare the scheme in securitySchemes and require it.')
    }
    const answer = recorder.since(mark).at(-1)?.response
    if (answer?.status === 401 && answer.headers['www-authenticate'] === undefined) {
      const problem =
        'The agent answers 401 without WWW-Authenticate, so callers cannot see which credentials it expects.'
      add('warning', 'no-challenge', problem, 'Send WWW-Authenticate with every 401 (RFC 9110 §11.6.1).')
    }
    if (providers.length === 0) {
      const problem = 'Only the calls without credentials were made: the agent requires credentials.'
      add(
        'info',
        'not-measured',
        problem,
        'Pass credentials by A2ACLI_BEARER or A2ACLI_API_KEY, or log in: parley auth login.',
      )
      report = { ...report, works: true }
      return done()
    }
  } else if (requiresCredentials(card) && isNotFound(first)) {
    const problem = 'The card requires credentials, but the agent answers a call without any.'
    add(
      'warning',
      'auth-not-enforced',
      problem,
      'Check credentials on every operation, or do not require them on the card.',
    )
  } else {
    report = { ...report, authentication: 'not required' }
  }

  mark = recorder.mark()
  const outcome = isRefusal(first) ? await attempt(() => getTask(each, options)) : first
  if (isRefusal(outcome)) {
    const fix = outcome.hint ?? 'Check the credentials, their audience and their scopes.'
    add('error', 'credentials-refused', `The agent refuses the credentials: ${outcome.message}`, fix)
    return done()
  }
  const failure = await explainFailure(outcome, each, options)
  if (failure) findings.push({ ...failure, subject, evidence: failure.evidence })
  if (failure?.severity === 'error') return done()
  report = { ...report, works: true }
  return {
    report: { ...report, ...(await probeFeatures(each, options, add, () => (mark = recorder.mark()))) },
    findings,
  }
}

/** What the first call shows about the interface. Undefined if it works as it should. */
async function explainFailure(
  outcome: unknown,
  each: AgentInterface,
  options: ProbeOptions,
): Promise<Omit<Finding, 'subject'> | undefined> {
  const { recorder } = options
  const evidence = recorder.since(Math.max(0, recorder.mark() - 1))
  if (isNotFound(outcome)) return undefined
  if (!(outcome instanceof A2AError)) {
    const problem = 'The agent answers with a task for an id that it has never given out.'
    const fix = 'Answer TaskNotFoundError for unknown ids.'
    return { severity: 'warning', id: 'unknown-task-found', problem, fix, evidence }
  }
  const { reason, code, message, hint } = outcome
  const isAnswer = reason === undefined && ['invalid-params', 'internal', 'unsupported-operation'].includes(code)
  if (isAnswer) {
    const problem = `The agent answers a call about an unknown task with another error than TaskNotFoundError: ${message}`
    return {
      severity: 'warning',
      id: 'wrong-error',
      problem,
      fix: 'Answer TaskNotFoundError (-32001, 404, NOT_FOUND).',
      evidence,
    }
  }
  const other = await findAddress(each, outcome, options)
  const certificate = reason === 'certificate' ? certificateRemedy(certificateFaultOf(outcome)) : undefined
  const fix = other ?? certificate ?? fixes[reason ?? ''] ?? hint ?? 'See the request and the answer.'
  return { severity: 'error', id: reason ?? code, problem: `The interface does not work: ${message}`, fix, evidence }
}

/** The hints of the client are for its callers; these are for the operator of the agent. */
const fixes: Readonly<Record<string, string>> = {
  guarded: 'The card names a private address. Set the public URL of the agent; to probe it anyway, pass --allow-host.',
  'no-common-interface': 'Write the binding as JSONRPC, HTTP+JSON or GRPC, and a version that the binding has.',
  'version-skew':
    'The card names a version that the agent does not speak here: correct protocolVersion, or update the agent.',
}

/** Streams, webhooks, lists and the extended card, against what the card claims. */
async function probeFeatures(
  each: AgentInterface,
  options: ProbeOptions,
  add: AddFinding,
  begin: () => void,
): Promise<Pick<InterfaceReport, 'streaming' | 'push' | 'list'>> {
  const { capabilities } = options.card
  const notices: Notice[] = []
  const service = await openService(each, options, (notice) => notices.push(notice))
  const call = callOf(options)
  const taskId = newId()

  begin()
  const subscribed = await attempt(async () => {
    for await (const event of service.subscribeToTask({ taskId }, call)) return event
  })
  const { response } = options.recorder.since(0).at(-1) ?? {}
  const isStream = response?.headers['content-type']?.startsWith('text/event-stream') === true
  const isMissing = subscribed instanceof A2AError && subscribed.code === 'method-not-found'
  const isRefused = !(isNotFound(subscribed) || isStream) || notices.some(({ type }) => type === 'polling')
  // An agent without this method may still stream messages.
  const streaming = isMissing ? undefined : !isRefused
  if (isMissing && capabilities.streaming === true) {
    const method = /^1\./.test(each.protocolVersion) ? 'SubscribeToTask' : 'tasks/resubscribe'
    const problem = `The agent has no ${method}: callers whose connection breaks cannot follow their task, and poll it.`
    add('warning', 'resubscribe-missing', problem, `Implement ${method}. Whether messages stream is seen with --send.`)
  } else if (capabilities.streaming === true && streaming === false) {
    const answer = subscribed instanceof A2AError && !isNotFound(subscribed) ? `: ${subscribed.message}` : '.'
    const problem = `The card claims streaming, but the agent refuses a stream${answer}`
    add('error', 'streaming-refused', problem, 'Implement streams, or set capabilities.streaming to false.')
  } else if (capabilities.streaming !== true && streaming === true) {
    const problem = 'The agent accepts streams, but the card does not claim streaming: callers poll.'
    add('info', 'streaming-undeclared', problem, 'Set capabilities.streaming to true.')
  }

  begin()
  const configured = await attempt(() => service.getPushConfig({ taskId, id: newId() }, call))
  const push = !(configured instanceof A2AError && pushRefusals.includes(configured.code))
  if (capabilities.pushNotifications === true && configured instanceof A2AError && !push) {
    const problem = `The card claims push notifications, but the agent refuses them: ${configured.message}`
    add('error', 'push-refused', problem, 'Implement webhooks, or set capabilities.pushNotifications to false.')
  }

  const isCurrent = /^1\./.test(each.protocolVersion)
  begin()
  const listed = isCurrent ? await attempt(() => service.listTasks({ pageSize: 1 }, call)) : undefined
  if (listed instanceof A2AError) {
    const problem = `The agent has no list of tasks, which every 1.0 agent must have: ${listed.message}`
    add('warning', 'list-refused', problem, 'Implement ListTasks.')
  }

  begin()
  if (capabilities.extendedCard === true) {
    const extended = await attempt(() => service.getExtendedCard({}, call))
    if (extended instanceof A2AError && !isRefusal(extended)) {
      const problem = `The card claims an extended card, but the agent does not send it: ${extended.message}`
      add('error', 'extended-card-refused', problem, 'Configure the extended card, or do not claim it.')
    }
  }
  return defined({ streaming, push, list: isCurrent ? !(listed instanceof A2AError) : undefined })
}

const pushRefusals: readonly ErrorCode[] = ['push-not-supported', 'unsupported-operation', 'method-not-found']
