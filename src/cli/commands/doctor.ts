import { diagnose } from '../../conformance/doctor/diagnose.ts'
import { countOf, type Report } from '../../conformance/doctor/report.ts'
import { inspectTls } from '../../core/node/tls-session.ts'
import { createFetch, credentialsOf, openGrpc, requireReference, resolveTarget } from '../agent.ts'
import { readAgentReference } from '../agent-reference.ts'
import { agentOptions, type Command, type Context } from '../command.ts'
import { printReport } from '../doctor/render.ts'
import { toFailure } from '../errors.ts'
import { signatureOf } from './card.ts'

/** Every interface is probed in its own version, so the options that choose one do not apply. */
const choices = ['transport', 'a2a-version', 'legacy', 'extension', 'svc-param']
const connectionOptions = Object.fromEntries(Object.entries(agentOptions).filter(([name]) => !choices.includes(name)))

export const doctor: Command = {
  description:
    'Compares what the card of an agent claims with what the agent does, and says what to change. Every interface of the card is probed, in its own version, with calls that change nothing: tasks and webhooks that do not exist, a list of one task, preflight requests. With --send, one real message is sent as well, which also shows proxies that hold streams back. The exit code is 0 without errors, 1 with errors, and 3 if there is no card.',
  positionals: [{ name: 'agent', summary: 'The agent, as --agent-card.', optional: true, complete: 'agent' }],
  options: {
    ...connectionOptions,
    send: { type: 'text', value: 'text', summary: 'Also send this message, which starts real work.', onlyFlag: true },
    'fail-on': {
      type: 'text',
      value: 'severity',
      summary: 'The least severity that makes the exit code 1.',
      choices: ['error', 'warning', 'info'],
      default: 'error',
    },
    jwks: {
      type: 'text',
      value: 'url|file',
      summary: 'Keys to verify the signatures of the card with.',
      complete: 'file',
    },
  },
  examples: [
    { line: 'parley doctor agent.example.com', summary: 'Find out why an agent does not work' },
    { line: 'parley doctor agent.example.com --send hello', summary: 'Send a real message as well' },
    { line: 'parley doctor agent.example.com -o json --fail-on warning', summary: 'Check an agent in CI' },
  ],
  async run(context) {
    const { output, settings } = context
    const { report, exitCode } = await examine(context)
    printReport(report, output)
    const threshold = settings.text('fail-on') ?? 'error'
    const isBad =
      countOf(report, 'error') > 0 ||
      (threshold !== 'error' && countOf(report, 'warning') > 0) ||
      (threshold === 'info' && countOf(report, 'info') > 0)
    process.exitCode = exitCode ?? (isBad ? 1 : 0)
  },
}

/** Probes the agent of a command. `exitCode` is set if there is no card. */
async function examine(context: Context): Promise<{ readonly report: Report; readonly exitCode?: number }> {
  const { output, signal, settings } = context
  const reference = requireReference(context)
  const parsed = readAgentReference(reference)
  output.note(`Fetching the card of ${reference}.`)
  const done = output.progress('Probing the agent…')
  try {
    const { report, failure } = await diagnose({
      url: reference,
      target: (fetch) => resolveTarget(parsed, fetch, signal),
      fetch: createFetch(context, parsed),
      signal,
      credentials: credentialsOf(context, reference, []),
      openGrpc: () => openGrpc(context, reference),
      inspectTls,
      verifySignature: (wire) => signatureOf(wire, context),
      send: settings.text('send'),
      remedyFor: (error) => toFailure(error).hint,
      redact: output.redact,
      onCard: ({ interfaces }) => announce(context, interfaces.length),
    })
    return failure ? { report, exitCode: toFailure(failure).exitCode } : { report }
  } finally {
    done()
  }
}

function announce({ output, settings }: Context, interfaces: number): void {
  output.note(
    `To ${interfaces === 1 ? 'its interface' : `each of its ${interfaces} interfaces`}, doctor sends: get, subscribe and webhook of a task that does not exist, a list of one task, the extended card if it claims one, OPTIONS, and a get in a version that does not exist. If an interface fails, it tries other paths of the host. All of them change nothing.`,
  )
  const text = settings.text('send')
  output.note(text === undefined ? 'No message is sent (see --send).' : `Then it sends the message "${text}".`)
}
