import { defined, isObject, type JsonObject } from '../../core/base/json.ts'
import { A2AError } from '../../core/protocol/errors.ts'
import { anonymous } from '../../core/protocol/model.ts'
import type { Outcome } from '../../core/protocol/service.ts'
import type { ClientEvent, Part, SendOptions, Task } from '../../entries/client.ts'
import { type AgentConnection, openAgent } from '../agent.ts'
import { agentOptions, type Command, type Context, waitOptions } from '../command.ts'
import { usageError } from '../errors.ts'
import { partOptions, readParts } from '../message-parts.ts'
import { eventJson, isSettled, nextSteps, printReply, replyJson, untilInterrupted } from '../render.ts'
import { createEventPrinter } from '../stream.ts'
import { resolveTaskId } from '../task-ids.ts'
import { pollInterval, pollTask } from '../wait.ts'

export const send: Command = {
  description:
    'Waits until the task has ended or needs you, and prints the ids, the state, the answer and all artifacts. Nothing is remembered between two commands: continue a task by its id.',
  positionals: [{ name: 'text', summary: 'A text part, as --text.', optional: true, multiple: true }],
  options: {
    ...agentOptions,
    ...partOptions,
    stream: { type: 'flag', summary: 'Print every event as it happens.', onlyFlag: true },
    async: {
      type: 'flag',
      summary: 'Return the ids at once, without waiting.',
      aliases: ['return-immediately', 'no-wait'],
      default: 'wait',
    },
    wait: { type: 'flag', summary: 'Wait until the task has ended or needs you. This is the default.' },
    'task-id': { type: 'text', value: 'id', summary: 'Continue this task.', complete: 'task' },
    'context-id': {
      type: 'text',
      value: 'id',
      summary: 'Start a task in this context.',
      complete: 'context',
    },
    metadata: { type: 'text', value: 'json', summary: 'Metadata of the request, as a JSON object.' },
    skill: { type: 'text', value: 'id', summary: 'The skill that the message is for.' },
    history: { type: 'text', value: 'n', summary: 'Messages of the history to return.' },
    accept: { type: 'text', value: 'type', multiple: true, summary: 'Media type that you accept.' },
    'exit-status': { type: 'flag', summary: 'Exit with 1 unless the task completed.', onlyFlag: true },
    'message-id': {
      type: 'text',
      value: 'id',
      summary: 'The id of the message. Repeat it to retry a send without a second task.',
      onlyFlag: true,
    },
    ...waitOptions,
  },
  examples: [
    { line: 'parley send -a localhost:4000 "Sales of the first quarter"', summary: 'Ask and wait for the answer' },
    {
      line: 'parley send -a localhost:4000 --text Summarise --file report.pdf --stream',
      summary: 'Send a file, follow the work',
    },
    { line: 'parley send -a localhost:4000 --task-id 7f1c --text Yes', summary: 'Answer the question of a task' },
    {
      line: 'parley send -a localhost:4000 --async "Count" -o json | jq -r .task.id',
      summary: 'Start a task, get its id',
    },
  ],
  async run(context) {
    const { settings, output } = context
    const isAsync = returnsImmediately(context)
    const given = sendOptions(context)
    const parts = await readParts(context)
    const interval = pollInterval(context)
    const agent = await openAgent(context, { polling: { minDelay: interval, maxDelay: interval * 8 } })
    const taskId = given.taskId === undefined ? undefined : await resolveTaskId(given.taskId, agent)
    const options = { ...given, ...defined({ taskId }) }
    if (settings.flag('stream')) {
      const events = agent.client.stream(parts, { ...options, ...agent.call })
      return await streamReply(untilInterrupted(events, { continues: options.taskId !== undefined }), agent, context)
    }
    const done = output.progress('Waiting for the agent…')
    const outcome = await sendMessage(agent, parts, options, isAsync)
      .catch((error) => {
        if (context.signal.aborted)
          output.note(`The agent may continue. Look for its task: parley task list --agent-card ${agent.reference}`)
        throw error
      })
      .finally(done)
    requireSameTask(outcome, options)
    const isDone = isAsync || outcome.type === 'message' || isSettled(outcome.task)
    if (isDone) return report(outcome, agent, context)
    output.note(`Task: ${outcome.task.id}`)
    output.note(`Context: ${outcome.task.contextId}`)
    const task = await pollTask(context, agent, outcome.task, options.historyLength)
    report({ type: 'task', task }, agent, context)
  },
}

/** An option beats a setting: `--wait` waits even if the environment sets `A2ACLI_ASYNC`. */
function returnsImmediately({ settings }: Context): boolean {
  const isGiven = (name: string) => settings.setting(name)?.source.type === 'flag'
  const isAsync = settings.flag('async') && (isGiven('async') || !(isGiven('wait') || isGiven('stream')))
  if (isAsync && settings.flag('stream')) throw usageError('--async and --stream exclude each other.')
  if (isAsync && isGiven('wait')) throw usageError('--async and --wait exclude each other.')
  return isAsync
}

/** `client.send` would wait for a task by itself. Here its id is printed first, and the poll interval applies. */
async function sendMessage(
  { client, call }: AgentConnection,
  parts: readonly Part[],
  { taskId, contextId, metadata, skill, historyLength, acceptedOutputModes, messageId }: SendOptions,
  returnImmediately: boolean,
): Promise<Outcome> {
  const message = defined({
    messageId: messageId ?? crypto.randomUUID(),
    role: 'user' as const,
    parts,
    taskId,
    contextId,
    metadata: skill === undefined ? undefined : { skillId: skill },
  })
  const configuration = defined({
    returnImmediately: returnImmediately || undefined,
    historyLength,
    acceptedOutputModes,
  })
  const request = defined({ message, configuration, metadata })
  return await client.service.sendMessage(request, { principal: anonymous, ...call })
}

function sendOptions({ settings }: Context): SendOptions {
  const taskId = settings.text('task-id')
  const contextId = settings.text('context-id')
  const metadata = settings.text('metadata')
  const skill = settings.text('skill')
  const historyLength = settings.integer('history')
  const messageId = settings.text('message-id')
  const accept = settings.list('accept')
  return defined({
    taskId,
    contextId,
    metadata: metadata === undefined ? undefined : readMetadata(metadata),
    skill,
    historyLength,
    messageId,
    acceptedOutputModes: accept.length > 0 ? accept : undefined,
  })
}

function readMetadata(text: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  if (!isObject(value)) throw usageError(`--metadata: expected a JSON object, got ${text.slice(0, 60)}.`)
  return value
}

/** A message to a task must not start another one, whatever the agent does. */
function requireSameTask(reply: Outcome, { taskId }: SendOptions): void {
  if (taskId === undefined || reply.type === 'message' || reply.task.id === taskId) return
  const problem = `The message was for the task ${taskId}, but the agent answered with the task ${reply.task.id}.`
  throw new A2AError('invalid-agent-response', problem, { hint: 'Run the command with --debug to see the exchange.' })
}

/** Scripts may branch on the outcome of the task. A message is an answer, so it counts as success. */
function setExitStatus(task: Task, { settings }: Context): void {
  if (settings.setting('exit-status') && task.status.state !== 'completed') process.exitCode = 1
}

function report(reply: Outcome, { reference }: AgentConnection, context: Context): void {
  const { output } = context
  if (reply.type === 'task') setExitStatus(reply.task, context)
  if (output.mode === 'json') output.document(replyJson(reply))
  else printReply(reply, output)
  if (reply.type === 'task') reportNext(reply.task, reference, output)
}

function reportNext(task: Task, reference: string, output: Context['output']): void {
  const { state } = task.status
  const [first, ...rest] = nextSteps(task, reference)
  if (first === undefined) return
  if (state === 'failed' || state === 'rejected') output.warn(first)
  else output.note(first)
  for (const line of rest) output.note(line)
}

/** Prints the events of a stream: as JSON one object per line, as text what is new. */
export async function streamReply(
  events: AsyncGenerator<ClientEvent>,
  { reference, client, call }: AgentConnection,
  context: Context,
): Promise<void> {
  const { output, signal } = context
  const printer = createEventPrinter(output)
  let taskId: string | undefined
  for await (const event of events) {
    if (event.type === 'task') taskId = event.task.id
    else if (event.type !== 'message') taskId = event.taskId
    if (output.mode === 'json') output.line(eventJson(event))
    else printer.print(event)
  }
  printer.end()
  // An aborted stream ends without an error.
  signal.throwIfAborted()
  if (taskId === undefined) return
  const task = await client.task(taskId).get(call)
  if (output.mode === 'text') printer.summary(task)
  setExitStatus(task, context)
  reportNext(task, reference, output)
}
